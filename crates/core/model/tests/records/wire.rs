//! Records are what their declarations say.

use model::live::wire::{Declaration, Presence, Record, Shape};
use model::{HostRecord, Live};
use serde_json::Value;

use crate::world::World;

/// What is unlike the declaration, if anything.
fn fault(shape: &Shape, value: &Value) -> Option<String> {
    match (shape, value) {
        (Shape::Boolean, Value::Bool(_)) | (Shape::Number, Value::Number(_)) | (Shape::Text, Value::String(_)) => None,
        (Shape::List(of), Value::Array(list)) => list.iter().find_map(|one| fault(of, one)),
        (Shape::Map(of), Value::Object(map)) => map.values().find_map(|one| fault(of, one)),
        (Shape::Tuple(shapes, least), Value::Array(list)) if (*least..=shapes.len()).contains(&list.len()) => {
            shapes.iter().zip(list).find_map(|(shape, one)| fault(shape, one))
        }
        (Shape::Record(declaration), value) => of_record(declaration, value),
        (shape, value) => Some(format!("{value} is no {shape:?}")),
    }
}

fn of_record(declaration: &'static Declaration, value: &Value) -> Option<String> {
    let given = value.as_object()?;
    let fields = declaration.sent();
    let missing = fields.iter().find(|field| field.presence == Presence::Required && !given.contains_key(field.name));
    missing.map(|field| format!("{} is missing", field.name)).or_else(|| {
        given.iter().find_map(|(name, value)| match fields.iter().find(|field| field.name == name) {
            Some(field) => fault(&field.shape, value).map(|fault| format!("{name}: {fault}")),
            None => Some(format!("{name} is not declared")),
        })
    })
}

/// Each annotation at the example of its page, on an Ingress of its own.
fn world() -> World {
    let data = [("auth", "foo:{SHA}Ys23Ag/5IOWqZCw9QGaVDdHwH00="), ("tls.crt", "-"), ("ca.crt", "-")];
    let settings = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    let world = World::new(&settings).secret("users", &data).ingress("other", "a.example", &["/other"], &[]);
    settings::descriptions()
        .iter()
        .enumerate()
        .fold(world, |world, (at, entry)| world.ingress(&format!("i{at}"), &format!("h{at}.example"), &["/", "=/exact"], &entry.example))
}

#[test]
fn every_record_is_as_declared() {
    let ops = Live::default().delta(&world().build().model.live);
    for op in ops {
        if let Some(declaration) = op.table.row().declaration {
            let value: Value = serde_json::from_str(op.value.as_deref().unwrap()).unwrap();
            assert_eq!(of_record(declaration, &value), None, "{value}");
        }
    }
}

#[test]
fn a_record_with_another_field_or_type_is_not() {
    let declaration = &HostRecord::DECLARATION;
    for (value, expected) in [
        (r#"{"locations":[]}"#, None),
        (r#"{"locations":[{"path":"/"}],"policies":[{"limit_rate":1}]}"#, None),
        (r#"{}"#, Some("locations is missing")),
        (r#"{"locations":[],"odd":1}"#, Some("odd is not declared")),
        (r#"{"locations":[],"policies":[{"limit_rate":"1"}]}"#, Some("policies: limit_rate: \"1\" is no Number")),
        (r#"{"locations":[],"regex":[["/"]]}"#, Some("regex: [\"/\"] is no Tuple([Text, Number], 2)")),
    ] {
        assert_eq!(of_record(declaration, &serde_json::from_str(value).unwrap()).as_deref(), expected, "{value}");
    }
}

#[test]
fn the_key_of_a_backend_is_namespace_service_and_port() {
    for route in world().build().model.live.hosts.values().flat_map(|host| &host.routes) {
        let key = if route.service.is_empty() { String::new() } else { format!("{}/{}:{}", route.namespace, route.service, route.port) };
        assert_eq!(*route.backend, *key);
    }
}

#[test]
fn what_says_nothing_is_left_out_and_a_policy_is_there_once() {
    let world = World::new(&[]).ingress("a", "a.test", &["/", "/b"], &[("limit-rate", "7"), ("enable-access-log", "false")]);
    let record = serde_json::to_string(&world.build().model.live.hosts["a.test"]).unwrap();
    let policy = r#"{"namespace":"n","ingress":"a","limit_rate":7,"enable_access_log":false}"#;
    let locations = r#"[{"path":"/","service":"s","port":"80"},{"path":"/b","service":"s","port":"80"}]"#;
    let matches = r#""exact":{"/b":1},"prefix":{"/":0,"/b/":1}"#;
    assert_eq!(record, format!(r#"{{{matches},"policies":[{policy}],"locations":{locations}}}"#));
}
