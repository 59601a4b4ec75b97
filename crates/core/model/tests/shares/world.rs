//! Snapshots, and what a build of them comes to.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use model::{BuildOptions, Builder, Built, ObjectKey, ProblemKind, Snapshot};
use serde_json::{Value, json};

pub(crate) const PREFIX: &str = "nginx.ingress.kubernetes.io";

pub(crate) fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A cluster whose dictionaries have one megabyte each: routes may have 0.8 of theirs, certificates and users 0.8, endpoints what routes leave.
pub(crate) fn world() -> (Builder, Snapshot) {
    let options = ObjectKey::new("ns", "settings");
    let mut snapshot = Snapshot::default();
    let class = object::<IngressClass>(json!({"metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}));
    snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(class));
    let data = json!({"lua-shared-dicts": "configuration_data: 1, certificate_data: 1"});
    snapshot.config_maps.insert(options.clone(), Arc::new(object::<ConfigMap>(json!({ "data": data }))));
    (Builder::new(BuildOptions { configmap: Some(options), ..BuildOptions::default() }), snapshot)
}

/// An Ingress with a host of its own, of so many paths, each with a list of so many addresses, created in this second.
pub(crate) fn put(snapshot: &mut Snapshot, namespace: &str, name: &str, second: u32, paths: usize, addresses: usize) {
    put_on(snapshot, &format!("{name}.{namespace}.example"), namespace, name, second, paths, addresses);
}

pub(crate) fn put_on(snapshot: &mut Snapshot, host: &str, namespace: &str, name: &str, second: u32, paths: usize, addresses: usize) {
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

pub(crate) fn hosts(built: &Built) -> Vec<&str> {
    built.model.live.hosts.keys().map(|host| &**host).filter(|host| *host != "_").collect()
}

pub(crate) fn without_room(built: &Built) -> Vec<(String, String)> {
    let problems = built.problems().into_iter().filter(|problem| problem.kind == ProblemKind::NoRoom);
    problems.map(|problem| (problem.object.to_string(), problem.detail)).collect()
}

pub(crate) fn builder_from_nothing(snapshot: &Snapshot) -> Built {
    world().0.build(snapshot)
}
