//! Worlds: many Ingresses, each with a host, a Service and an EndpointSlice of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Patch, PatchParams};
use model::{ObjectKey, Snapshot};
use serde_json::json;
use testkit::kube::{Namespace, PathType, mk_ingress, mk_ingress_class, mk_service, mk_slice};
use tokio::task::JoinSet;

/// Patches at a time.
const PATCHING: usize = 50;

/// Host of the Ingress with this number.
pub fn host(number: usize) -> String {
    format!("h{number}.example.com")
}

/// The Ingress with this number.
pub fn ingress(number: usize) -> Ingress {
    let service = format!("s{number}");
    mk_ingress(&format!("i{number}")).class("nginx").host(&host(number)).path("/", PathType::Prefix, &service, 80).build()
}

/// The Ingress with this number and ten annotations, of the sorts that Ingresses often have. No value that an Ingress can have for itself is another's;
/// the one that is text of NGINX has few, as in real clusters, so that there are four profiles.
pub fn annotated(number: usize) -> Ingress {
    let service = format!("s{number}");
    let begun = mk_ingress(&format!("i{number}")).class("nginx").host(&host(number)).path("/", PathType::Prefix, &service, 80);
    annotations(number).into_iter().fold(begun, |ingress, (name, value)| ingress.annotation(name, &value)).build()
}

/// The annotations of [`annotated`]. Requests from the machine itself are let in.
pub fn annotations(number: usize) -> [(&'static str, String); 10] {
    let (high, low) = (number / 256 % 256, number % 256);
    [
        ("rewrite-target", format!("/v{number}")),
        ("proxy-read-timeout", format!("{}", 30 + number)),
        ("proxy-buffer-size", format!("{}k", 8 << (number % 4))),
        ("allowlist-source-range", format!("127.0.0.0/8,10.{high}.{low}.0/24")),
        ("limit-rps", format!("{}", 1_000 + number)),
        ("enable-cors", "true".to_owned()),
        ("cors-allow-origin", format!("https://app{number}.example.com")),
        ("upstream-hash-by", format!("$arg_user{number}")),
        ("upstream-vhost", format!("app{number}.internal")),
        ("ssl-redirect", format!("{}", number.is_multiple_of(2))),
    ]
}

/// Puts [`annotations`] on the first `count` Ingresses of a namespace.
///
/// # Errors
/// The first refusal.
pub async fn annotate_all(namespace: &Namespace, count: usize) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for first in 0..PATCHING {
        let api = namespace.api::<Ingress>();
        tasks.spawn(async move {
            for number in (first..count).step_by(PATCHING) {
                let annotations = annotated(number).metadata.annotations;
                let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
                api.patch(&format!("i{number}"), &PatchParams::default(), &patch).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Its Service.
pub fn service(number: usize) -> Service {
    mk_service(&format!("s{number}"), 80, 8080, None)
}

/// Its one EndpointSlice.
pub fn slice(number: usize, endpoint: SocketAddr) -> EndpointSlice {
    mk_slice(&format!("s{number}-1"), &format!("s{number}"), &[endpoint])
}

/// A snapshot of so many, without an API server; `ingress` makes the Ingress with a number.
pub fn snapshot(count: usize, ingress: fn(usize) -> Ingress) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(mk_ingress_class("nginx", "k8s.io/ingress-nginx")));
    let endpoint = SocketAddr::from(([10, 0, 0, 1], 8080));
    for number in 0..count {
        snapshot.ingresses.insert(key(format!("i{number}")), Arc::new(ingress(number).into()));
        snapshot.services.insert(key(format!("s{number}")), Arc::new(service(number).into()));
        snapshot.endpoint_slices.insert(key(format!("s{number}-1")), Arc::new(slice(number, endpoint).into()));
    }
    snapshot
}

/// The key of an object of a snapshot.
pub fn key(name: String) -> ObjectKey {
    ObjectKey::new("bench", name)
}
