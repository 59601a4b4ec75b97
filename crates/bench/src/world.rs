//! Worlds: many Ingresses, each with a host, a Service and an EndpointSlice of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use model::{ObjectKey, Snapshot};
use testkit::kube::{PathType, mk_ingress, mk_ingress_class, mk_service, mk_slice};

/// Host of the Ingress with this number.
pub fn host(number: usize) -> String {
    format!("h{number}.example.com")
}

/// The Ingress with this number.
pub fn ingress(number: usize) -> Ingress {
    let service = format!("s{number}");
    mk_ingress(&format!("i{number}")).class("nginx").host(&host(number)).path("/", PathType::Prefix, &service, 80).build()
}

/// Its Service.
pub fn service(number: usize) -> Service {
    mk_service(&format!("s{number}"), 80, 8080, None)
}

/// Its one EndpointSlice.
pub fn slice(number: usize, endpoint: SocketAddr) -> EndpointSlice {
    mk_slice(&format!("s{number}-1"), &format!("s{number}"), &[endpoint])
}

/// A snapshot of so many, without an API server.
pub fn snapshot(count: usize) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(mk_ingress_class("nginx", "k8s.io/ingress-nginx")));
    let endpoint = SocketAddr::from(([10, 0, 0, 1], 8080));
    for number in 0..count {
        snapshot.ingresses.insert(key(format!("i{number}")), Arc::new(namespaced(ingress(number))));
        snapshot.services.insert(key(format!("s{number}")), Arc::new(namespaced(service(number))));
        snapshot.endpoint_slices.insert(key(format!("s{number}-1")), Arc::new(namespaced(slice(number, endpoint))));
    }
    snapshot
}

/// The key of an object of a snapshot.
pub fn key(name: String) -> ObjectKey {
    ObjectKey::new("bench", name)
}

/// Puts an object into the namespace of [`snapshot`].
pub fn namespaced<K: kube::ResourceExt>(mut object: K) -> K {
    object.meta_mut().namespace = Some("bench".into());
    object
}
