//! Endpoints: the Services of the namespaces above their share have the first of theirs.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use model::{Built, ObjectKey, Resource, Snapshot};
use serde_json::{Value, json};

use crate::world::*;

/// A Service with so many endpoints, and an Ingress that leads to it.
fn put_service(snapshot: &mut Snapshot, namespace: &str, name: &str, endpoints: usize) {
    let key = ObjectKey::new(namespace, name);
    let metadata = json!({"namespace": namespace, "name": name, "labels": {"kubernetes.io/service-name": name}});
    let service: Service = object(json!({"metadata": metadata, "spec": {"ports": [{"port": 80}]}}));
    snapshot.services.insert(key.clone(), Arc::new(service.into()));
    let endpoints: Vec<Value> =
        (0..endpoints).map(|at| json!({"addresses": [format!("10.{}.{}.{}", at / 65_536, at / 256 % 256, at % 256)]})).collect();
    let slice = json!({"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints, "ports": [{"port": 8080}]});
    snapshot.endpoint_slices.insert(key.clone(), Arc::new(object::<EndpointSlice>(slice).into()));
    let backend = json!({"service": {"name": name, "port": {"number": 80}}});
    let rules = json!([{"host": format!("{name}.{namespace}.example"), "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]);
    let ingress = json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"ingressClassName": "nginx", "rules": rules}});
    snapshot.ingresses.insert(key, Arc::new(object::<k8s_openapi::api::networking::v1::Ingress>(ingress).into()));
}

fn endpoints(built: &Built, namespace: &str, name: &str) -> usize {
    let key = format!("{namespace}/{name}:80");
    built.model.live.backends.get(key.as_str()).map_or(0, |backend| backend.endpoints.len())
}

#[test]
fn a_namespace_with_very_many_endpoints_takes_no_room_from_the_endpoints_of_others() {
    let (mut builder, mut snapshot) = world();
    for at in 0..8 {
        put_service(&mut snapshot, "evil", &format!("s{at}"), 8_000);
    }
    put_service(&mut snapshot, "evil", "small", 10);
    let alone = builder.build(&snapshot);
    assert_eq!(endpoints(&alone, "evil", "small"), 10);
    put_service(&mut snapshot, "good", "shop", 50);
    let built = builder.build(&snapshot);
    assert_eq!(endpoints(&built, "good", "shop"), 50);
    let cut = endpoints(&built, "evil", "s1");
    assert!((1_000..8_000).contains(&cut) && endpoints(&built, "evil", "small") == 10, "{cut}");
    let held = without_room(&built);
    assert!(held.len() == 8 && held.iter().all(|(object, _)| object.starts_with("Service evil/s")), "{held:?}");
    assert!(held[0].1.contains(&format!("of the 8000 endpoints of port 80 the first {cut} get requests")), "{held:?}");
    assert_eq!(built.usage.held, 8);
    assert!(built.usage.asked.of(Resource::Endpoints) > built.usage.capacity.of(Resource::Endpoints));
    let fresh = builder_from_nothing(&snapshot);
    assert_eq!((&fresh.model, fresh.problems()), (&built.model, built.problems()), "the way there does not matter");

    put_service(&mut snapshot, "good", "shop", 60);
    assert_eq!(endpoints(&builder.build(&snapshot), "good", "shop"), 60, "a change of the others is served as well");
    for at in 1..8 {
        put_service(&mut snapshot, "evil", &format!("s{at}"), 100);
    }
    let built = builder.build(&snapshot);
    assert_eq!((endpoints(&built, "evil", "s0"), without_room(&built), built.usage.held), (8_000, Vec::new(), 0), "there is room again");
}

#[test]
fn routes_leave_their_rest_to_endpoints_and_keep_their_own_part() {
    let (mut builder, mut snapshot) = world();
    put_service(&mut snapshot, "shop", "all", 30_000);
    let built = builder.build(&snapshot);
    assert_eq!(endpoints(&built, "shop", "all"), 30_000, "more than the part that is for endpoints only");
    put(&mut snapshot, "shop", "routes", 1, 5_000, 0);
    let built = builder.build(&snapshot);
    assert!(hosts(&built).contains(&"routes.shop.example"));
    assert!((1..30_000).contains(&endpoints(&built, "shop", "all")), "{:?}", without_room(&built));
}

#[test]
fn a_service_has_a_bound_of_its_own() {
    let (mut builder, mut snapshot) = world();
    let data = json!({"lua-shared-dicts": "configuration_data: 64"});
    snapshot.config_maps.insert(ObjectKey::new("ns", "settings"), Arc::new(object(json!({ "data": data }))));
    put_service(&mut snapshot, "evil", "huge", 70_000);
    let built = builder.build(&snapshot);
    assert!((30_000..70_000).contains(&endpoints(&built, "evil", "huge")));
    let held = without_room(&built);
    assert!(held.len() == 1 && held[0].1.contains("and one port of a Service may have 1.0 MiB; of the 70000"), "{held:?}");
}
