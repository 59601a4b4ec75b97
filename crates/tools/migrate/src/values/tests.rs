use serde_json::json;

use super::*;

fn chart() -> Chart {
    Chart {
        schema: json!({
            "type": "object", "additionalProperties": false,
            "definitions": {
                "count": {"type": "integer", "minimum": 0},
                "port": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"type": "string", "pattern": "^[0-9]*$"}]},
            },
            "properties": {
                "replicaCount": {"$ref": "#/definitions/count"},
                "kind": {"type": "string", "enum": ["Deployment", "DaemonSet"]},
                "ports": {"type": "object", "propertyNames": {"pattern": "^[0-9]+$"}, "additionalProperties": {"$ref": "#/definitions/port"}},
                "modules": {"type": "array", "items": {"type": "object", "required": ["name"]}},
                "controller": {"type": "object"}, "idle": {"type": "object"}, "open": {"type": "object"}, "hook": {"type": "boolean"},
            },
        }),
        values: json!({
            "replicaCount": 1, "kind": "Deployment", "ports": {}, "modules": [], "hook": false, "open": {"a": {"b": 1}, "list": [1]},
            "idle": {"a": 1, "b": {}}, "controller": {"image": {"image": "narthex", "tag": ""}},
        }),
        idle: json!({"idle": [{"path": "idle", "default": {"a": 1, "b": {}}, "reason": "nothing reads it"}]}),
        defaults: json!({"defaults": [{"path": "hook", "there": true, "reason": "it has to be asked for"}]}),
    }
}

#[track_caller]
fn refused(values: Value, expected: &[&str]) {
    let found = review(&chart(), &values).refused;
    let found: Vec<String> = found.iter().map(|one| format!("{} {} {}", one.path.join("."), shown(&one.value), one.expected)).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_the_schema_refuses_is_said_with_value_and_expectation() {
    refused(json!({"replicaCount": "two"}), &["replicaCount \"two\" (a text) expected a whole number, at least 0"]);
    refused(json!({"replicaCount": -1}), &["replicaCount -1 (a number) expected a whole number, at least 0"]);
    refused(json!({"replicaCuont": 2}), &["replicaCuont 2 (a number) there is no such value, did you mean replicaCount?"]);
    refused(json!({"kind": "Pod"}), &["kind \"Pod\" (a text) expected one of \"Deployment\", \"DaemonSet\""]);
    let port = "expected a whole number from 1 to 65535, or a text that matches ^[0-9]*$";
    refused(json!({"ports": {"80": 0}}), &[&format!("ports.80 0 (a number) {port}")]);
    refused(json!({"ports": {"http": 80}}), &["ports.http 80 (a number) expected a name that is a text that matches ^[0-9]+$"]);
    refused(
        json!({"modules": [{"name": "a"}, {}, 7]}),
        &["modules.[1] {} (a map) expected name in it", "modules.[2] 7 (a number) expected a map"],
    );
    refused(json!([1]), &[" [1] (a list) a map of values"]);
    refused(json!(null), &[]);
    refused(json!({"replicaCount": 2.0, "ports": {"80": "81", "81": 82}}), &[]);
}

#[test]
fn keywords_that_are_not_understood_are_known() {
    assert!(schema::unknown_keywords(&chart().schema).is_empty());
    let other = json!({"properties": {"a": {"items": {"oneOf": []}}}, "definitions": {"if": {"if": {}}}});
    assert_eq!(schema::unknown_keywords(&other).into_iter().collect::<Vec<_>>(), ["if", "oneOf"]);
}

#[track_caller]
fn left(values: Value, expected: Value) {
    assert_eq!(review(&chart(), &values).values, expected);
}

#[test]
fn what_is_left_is_what_differs_when_helm_merges_it() {
    left(json!(null), json!({}));
    left(json!({"replicaCount": 1, "kind": "DaemonSet"}), json!({"kind": "DaemonSet"}));
    left(json!({"open": {"a": {"b": 1, "c": 2}, "list": [1, 2]}}), json!({"open": {"a": {"c": 2}, "list": [1, 2]}}));
    // Merging an empty map changes nothing; null takes the default away; an empty list replaces one.
    left(json!({"open": {"a": {}, "list": []}, "modules": null}), json!({"open": {"list": []}, "modules": null}));
    left(json!({"open": {"new": {}, "other": null}}), json!({}));
    left(json!({"open": {"list": {}}}), json!({"open": {"list": {}}}));
    let image = json!({"image": "ingress-nginx/controller", "tag": "v1.15.1", "digest": "sha256:1", "registry": "registry.k8s.io"});
    left(json!({"controller": {"image": image}}), json!({"controller": {"image": {"registry": ""}}}));
    left(json!({"idle": {"a": 7}}), json!({}));
}

#[test]
fn values_without_a_meaning_and_other_defaults_are_named_with_the_reason() {
    let found = review(
        &chart(),
        &json!({"idle": {"a": 1, "b": {"c": 2}, "d": ""}, "controller": {"image": {"image": "ingress-nginx/controller", "tag": "v1"}}}),
    );
    let paths: Vec<String> = found.idle.iter().map(|idle| idle.path.join(".")).collect();
    assert_eq!(paths, ["controller.image.image", "controller.image.tag", "idle.b.c"]);
    assert_eq!(found.idle[2].reason, "nothing reads it");
    assert_eq!((found.differing[0].path.join("."), &found.differing[0].here), ("hook".to_owned(), &json!(false)));
    assert!(review(&chart(), &json!({"hook": false})).differing.is_empty());
    assert_eq!((found.count, found.usual), (5, 2));
}

#[test]
fn a_stale_list_of_defaults_is_noticed() {
    let theirs =
        json!({"hook": true, "replicaCount": 1, "idle": {"a": 3}, "controller": {"image": {"tag": "v1"}}, "kind": "Deployment", "new": {}});
    assert!(drift(&chart(), &theirs).is_empty());
    let mut other = chart();
    other.values["hook"] = json!(true);
    other.values["replicaCount"] = json!(2);
    let complaints = drift(&other, &theirs);
    assert!(
        complaints.len() == 2 && complaints[0].contains("the row is stale") && complaints[1].contains("which no row says"),
        "{complaints:?}"
    );
}

#[test]
fn the_report_is_for_people_and_for_programs() {
    let mut found = review(&chart(), &json!({"kind": "DaemonSet", "open": {"x.y": "no"}, "idle": {"a": 2}}));
    let text = found.text("v.yaml", |_| Some(3));
    let expected = "\
v.yaml: 3 values, of which 0 are the default here

Without a meaning here:
  idle.a (line 3): 2 (a number); nothing reads it

Defaults that are others than in ingress-nginx's chart, and not set in this file:
  hook is false, there it was true: it has to be asked for

The file with the same meaning for this chart:
---
kind: DaemonSet
open:
  x.y: \"no\"
";
    assert_eq!(text, expected);
    let path = vec!["open".to_owned(), "x.y".to_owned()];
    found.add(vec![Refused { path, value: json!("no"), expected: "no key".into(), consequence: Consequence::Ineffective }]);
    assert!(!found.is_good() && !found.text("v.yaml", |_| None).contains("---"));
    let json = found.json(|_| None);
    assert_eq!(
        (&json["errors"][0]["path"], &json["errors"][0]["kind"], &json["defaults"][0]["there"]),
        (&json!("open.\"x.y\""), &json!("ineffective"), &json!(true))
    );
}

#[test]
fn texts_are_quoted_where_a_version_of_yaml_takes_them_for_something_else() {
    let text = yaml(
        &json!({"a": {"yes": "No", "b": "1.5", "c": "a: b", "d": "/x/y-z", "e": "line\nbreak", "f": ["x", {"g": 1}], "h": {}, "i": ""}}),
    );
    let expected = "a:\n  b: \"1.5\"\n  c: \"a: b\"\n  d: /x/y-z\n  e: \"line\\nbreak\"\n  f: [\"x\",{\"g\":1}]\n  h: {}\n  i: \"\"\n  \"yes\": \"No\"\n";
    assert_eq!(text, expected);
    assert_eq!(yaml(&json!({})), "{}\n");
}
