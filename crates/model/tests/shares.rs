//! Fair shares of NGINX's memory and text, from snapshots to records.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use model::{Builder, Built, ObjectKey, ProblemKind, Resource, Settings, Snapshot};
use serde_json::{Value, json};

const PREFIX: &str = "nginx.ingress.kubernetes.io";

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A cluster whose dictionary of routes has one megabyte: routes may have 0.8 of it.
fn world() -> (Builder, Snapshot) {
    let settings = ObjectKey::new("ns", "settings");
    let mut snapshot = Snapshot::default();
    let class = object::<IngressClass>(json!({"metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}));
    snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(class));
    let data = json!({"lua-shared-dicts": "configuration_data: 1"});
    snapshot.config_maps.insert(settings.clone(), Arc::new(object::<ConfigMap>(json!({ "data": data }))));
    (Builder::new(Settings { configmap: Some(settings), ..Settings::default() }), snapshot)
}

/// An Ingress with a host of its own, of so many paths, each with a list of so many addresses, created in this second.
fn put(snapshot: &mut Snapshot, namespace: &str, name: &str, second: u32, paths: usize, addresses: usize) {
    put_on(snapshot, &format!("{name}.{namespace}.example"), namespace, name, second, paths, addresses);
}

fn put_on(snapshot: &mut Snapshot, host: &str, namespace: &str, name: &str, second: u32, paths: usize, addresses: usize) {
    let backend = json!({"service": {"name": "shop", "port": {"number": 80}}});
    let paths: Vec<Value> =
        (0..paths).map(|at| json!({"path": format!("/{name}/{at}"), "pathType": "Prefix", "backend": backend})).collect();
    let list: Vec<String> = (0..addresses).map(|at| format!("10.{}.{}.{}", at / 65_536, at / 256 % 256, at % 256)).collect();
    let annotations = if list.is_empty() { json!({}) } else { json!({format!("{PREFIX}/allowlist-source-range"): list.join(",")}) };
    let created = format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60);
    let metadata = json!({"namespace": namespace, "name": name, "annotations": annotations, "creationTimestamp": created});
    let rules = json!([{"host": host, "http": {"paths": paths}}]);
    let ingress = json!({"metadata": metadata, "spec": {"ingressClassName": "nginx", "rules": rules}});
    snapshot.ingresses.insert(ObjectKey::new(namespace, name), Arc::new(object::<Ingress>(ingress).into()));
}

fn hosts(built: &Built) -> Vec<&str> {
    built.model.live.hosts.keys().map(|host| &**host).filter(|host| *host != "_").collect()
}

fn without_room(built: &Built) -> Vec<(String, String)> {
    let problems = built.problems().into_iter().filter(|problem| problem.kind == ProblemKind::NoRoom);
    problems.map(|problem| (problem.object.to_string(), problem.detail)).collect()
}

#[test]
fn an_ingress_that_copies_a_long_list_into_many_paths_is_refused_alone() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "evil", "a", 1, 400, 12_000);
    put(&mut snapshot, "shop", "a", 2, 3, 0);
    let built = builder.build(&snapshot);
    assert!(hosts(&built).contains(&"a.shop.example"));
    let closed = &built.model.live.hosts["a.evil.example"].routes;
    assert!(closed.iter().all(|route| route.denied && route.addresses.is_none()), "as it protects its paths, they answer 503");
    let found = without_room(&built);
    assert!(found.len() == 1 && found[0].0.contains("evil/a"), "{found:?}");
    assert!(found[0].1.contains("and one Ingress may have 2.0 MiB; it is refused"), "{found:?}");
}

#[test]
fn an_ingress_that_becomes_too_large_keeps_its_last_accepted_version_unless_it_protects_other_paths_now() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "shop", "a", 1, 3, 0);
    builder.build(&snapshot);
    put(&mut snapshot, "shop", "a", 1, 20_000, 0);
    let built = builder.build(&snapshot);
    assert_eq!(built.model.live.hosts["a.shop.example"].routes.len(), 4, "three paths and the root");
    assert_eq!(without_room(&built).len(), 1);

    put(&mut snapshot, "shop", "b", 2, 3, 0);
    builder.build(&snapshot);
    put(&mut snapshot, "shop", "b", 2, 400, 12_000);
    let built = builder.build(&snapshot);
    let open = built
        .model
        .live
        .hosts
        .get("b.shop.example")
        .is_some_and(|host| host.routes.iter().any(|route| !route.denied && !route.service.is_empty()));
    assert!(!open, "never without the list that it has now");
}

#[test]
fn a_namespace_that_fills_the_memory_loses_its_newest_ingresses_and_gets_them_back() {
    let (mut builder, mut snapshot) = world();
    for at in 0..5 {
        put(&mut snapshot, "evil", &format!("a{at}"), at, 10, 1_500);
    }
    let (alone, all) = (builder.build(&snapshot), ["a0.evil.example", "a1.evil.example", "a2.evil.example", "a3.evil.example"]);
    assert_eq!(hosts(&alone), all, "one namespace may use everything");
    for at in 0..5 {
        put(&mut snapshot, "shop", &format!("b{at}"), 30 + at, 2, 2_000);
    }
    let full = builder.build(&snapshot);
    let (evil, shop): (Vec<&str>, Vec<&str>) = hosts(&full).into_iter().partition(|host| host.ends_with("evil.example"));
    assert!(shop.len() == 5 && evil == all[..evil.len()] && (1..4).contains(&evil.len()), "{evil:?} {shop:?}");
    assert_eq!(without_room(&full).len(), 5 - evil.len());
    assert!(full.usage.asked.of(Resource::State) > full.usage.capacity.of(Resource::State));
    assert_eq!(builder_from_nothing(&snapshot).model, full.model, "the way there does not matter");

    for at in 0..5 {
        snapshot.ingresses.remove(&ObjectKey::new("shop", format!("b{at}").as_str()));
    }
    let again = builder.build(&snapshot);
    assert_eq!((hosts(&again), again.model == alone.model), (all.to_vec(), true));
}

fn builder_from_nothing(snapshot: &Snapshot) -> Built {
    world().0.build(snapshot)
}

#[test]
fn a_host_that_another_namespace_fills_keeps_the_routes_of_its_own() {
    let (mut builder, mut snapshot) = world();
    let data = json!({"lua-shared-dicts": "configuration_data: 64"});
    snapshot.config_maps.insert(ObjectKey::new("ns", "settings"), Arc::new(object::<ConfigMap>(json!({ "data": data }))));
    for at in 0..4 {
        put_on(&mut snapshot, "shop.example", "evil", &format!("a{at}"), at, 50, 2_000);
    }
    put_on(&mut snapshot, "shop.example", "shop", "b", 50, 3, 100);
    let built = builder.build(&snapshot);
    let record = &built.model.live.hosts["shop.example"];
    let of_shop = record.routes.iter().filter(|route| &*route.namespace == "shop").count();
    assert_eq!(of_shop, 3);
    assert!(!without_room(&built).is_empty());
}
