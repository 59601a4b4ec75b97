//! TCP and UDP services: entries are text, their endpoints are data.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use model::live::stream::decode;
use model::{BuildOptions, Builder, Built, ObjectKey, Plan, Snapshot, Table, plan};
use serde_json::json;

use crate::world::World;

fn builder() -> Builder {
    let tcp_services = Some(ObjectKey::new("n", "tcp"));
    Builder::new(BuildOptions { tcp_services, reserved_ports: [(80, "--http-port")].into(), ..BuildOptions::default() })
}

fn with_service(mut snapshot: Snapshot) -> Snapshot {
    let service: Service = serde_json::from_value(json!({"metadata": {}, "spec": {"ports": [{"name": "db", "port": 1}]}})).unwrap();
    snapshot.services.insert(ObjectKey::new("n", "s"), Arc::new(service.into()));
    snapshot
}

fn with_endpoints(mut snapshot: Snapshot, addresses: &[&str]) -> Snapshot {
    let endpoints: Vec<_> = addresses.iter().map(|address| json!({"addresses": [address]})).collect();
    let labels = json!({"kubernetes.io/service-name": "s"});
    let ports = json!([{"name": "db", "port": 5432}, {"name": "db", "port": 53, "protocol": "UDP"}]);
    let slice = json!({"metadata": {"labels": labels}, "addressType": "IPv4", "ports": ports, "endpoints": endpoints});
    let slice: EndpointSlice = serde_json::from_value(slice).unwrap();
    snapshot.endpoint_slices.insert(ObjectKey::new("n", "s"), Arc::new(slice.into()));
    snapshot
}

fn endpoints(built: &Built, key: &str) -> Option<Vec<String>> {
    Some(decode(built.model.live.stream_services.get(key)?).map(|endpoint| endpoint.to_string()).collect())
}

#[test]
fn services_and_endpoints_come_and_go_without_a_reload_and_entries_reload() {
    let mut builder = builder();
    let world = World::new(&[]).map("tcp", &[("9000", "n/s:db")]).0;
    let alone = builder.build(&world);
    assert_eq!(endpoints(&alone, "tcp-9000"), Some(Vec::new()));
    assert!(alone.problems().iter().any(|problem| problem.to_string().contains("data[\"9000\"]: Service n/s: the Service does not exist")));

    let world = with_endpoints(with_service(world), &["10.0.0.2", "10.0.0.1"]);
    let served = builder.build(&world);
    assert_eq!(endpoints(&served, "tcp-9000").unwrap(), ["10.0.0.1:5432", "10.0.0.2:5432"]);
    let Plan::Live(delta) = plan(&alone.model, &served.model) else { panic!("a reload, or nothing") };
    assert_eq!(delta.iter().map(|op| (op.table, &*op.key)).collect::<Vec<_>>(), [(Table::StreamService, "tcp-9000")]);

    let world = World(world).map("tcp", &[("9000", "n/s:db:PROXY"), ("9001", "n/s:1"), ("80", "n/s:1"), ("9002", "s:1")]).0;
    let changed = builder.build(&world);
    let Plan::Reload { reasons, .. } = plan(&served.model, &changed.model) else { panic!("no reload") };
    assert_eq!(reasons.iter().map(|reason| reason.label()).collect::<Vec<_>>(), ["stream_service"; 2]);
    let problems: Vec<String> = changed.problems().iter().map(ToString::to_string).collect();
    assert!(problems.len() == 2 && problems.iter().all(|problem| problem.ends_with("the entry is left out")), "{problems:?}");

    // As a build from nothing.
    let fresh = self::builder().build(&world);
    assert_eq!((&fresh.model, fresh.problems()), (&changed.model, changed.problems()));
    let gone = builder.build(&World::new(&[]).map("tcp", &[]).0);
    assert!(gone.model.live.stream_services.is_empty() && gone.model.fixed.stream_services.is_empty() && gone.problems().is_empty());
}
