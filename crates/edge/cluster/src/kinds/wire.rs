//! The fields that are decoded of each kind, and their reduction.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{self, ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::{IngressClass, IngressClassSpec, IngressSpec};
use k8s_openapi::api::{discovery, networking};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{Api, Client, Resource};
use model::{EndpointSlice, Ingress, ObjectKey, Service};
use serde::Deserialize;

use super::{Kind, Slim, Watched};
use crate::address::Address;
use crate::decode::Fetched;
use crate::message::{Input, Message};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}

impl Meta {
    /// The identity of the object and its version.
    fn identity(&self) -> Box<ObjectMeta> {
        let (name, namespace, resource_version) = (self.name.clone(), self.namespace.clone(), self.resource_version.clone());
        Box::new(ObjectMeta { name, namespace, resource_version, ..ObjectMeta::default() })
    }

    /// Without labels and annotations.
    fn bare(self) -> ObjectMeta {
        ObjectMeta { name: self.name, namespace: self.namespace, uid: self.uid, ..ObjectMeta::default() }
    }

    fn with_annotations(mut self) -> ObjectMeta {
        let annotations = self.annotations.take().map(|mut annotations| {
            annotations.remove(LAST_APPLIED);
            annotations
        });
        let creation_timestamp = self.creation_timestamp.clone();
        ObjectMeta { annotations: annotations.filter(|annotations| !annotations.is_empty()), creation_timestamp, ..self.bare() }
    }

    fn with_labels(mut self) -> ObjectMeta {
        let labels = self.labels.take().filter(|labels| !labels.is_empty());
        ObjectMeta { labels, ..self.bare() }
    }
}

macro_rules! watched {
    ($type:ident, $resource:ty, $key:ty, $wire:ty, $api:expr $(, $secret:ident = $value:literal)?; |$bound:ident| $slim:expr) => {
        impl Watched for $type {
            const KIND: Kind = Kind::$type;
            $(const $secret: bool = $value;)?
            type Key = $key;
            type Api = $resource;
            type Wire = $wire;

            fn slim($bound: $wire) -> Slim<Self> {
                let meta = $bound.metadata.identity();
                let (object, addresses) = $slim;
                Slim { meta, object: Arc::new(object), addresses }
            }

            fn api(client: Client, namespace: Option<&str>) -> Api<Fetched<Self>> {
                let make: fn(Client, Option<&str>) -> Api<Fetched<Self>> = $api;
                make(client, namespace)
            }

            fn message(feed: usize, input: Input<Self>) -> Message {
                Message::$type(feed, input)
            }
        }
    };
}

fn namespaced<K>(client: Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    }
}

fn cluster_wide<K: Resource<DynamicType = ()>>(client: Client, _: Option<&str>) -> Api<K> {
    Api::all(client)
}

#[derive(Deserialize)]
pub(crate) struct WireIngress {
    #[serde(default)]
    metadata: Meta,
    spec: Option<IngressSpec>,
    status: Option<WireIngressStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireIngressStatus {
    load_balancer: Option<WireLoadBalancer>,
}

#[derive(Deserialize)]
struct WireLoadBalancer {
    ingress: Option<Vec<WireAddress>>,
}

#[derive(Deserialize)]
struct WireAddress {
    #[serde(default)]
    hostname: String,
    #[serde(default)]
    ip: String,
}

watched!(Ingress, networking::v1::Ingress, ObjectKey, WireIngress, namespaced; |wire| {
    let addresses = wire.status.and_then(|status| status.load_balancer).and_then(|balancer| balancer.ingress).unwrap_or_default();
    let addresses = addresses.into_iter().map(|WireAddress { hostname, ip }| Address { hostname, ip }).collect();
    let ingress = networking::v1::Ingress { metadata: wire.metadata.with_annotations(), spec: wire.spec, status: None };
    (ingress.into(), addresses)
});

#[derive(Deserialize)]
pub(crate) struct WireIngressClass {
    #[serde(default)]
    metadata: Meta,
    spec: Option<IngressClassSpec>,
}

watched!(IngressClass, IngressClass, Arc<str>, WireIngressClass, cluster_wide; |wire| {
    (IngressClass { metadata: wire.metadata.with_annotations(), spec: wire.spec }, Vec::new())
});

#[derive(Deserialize)]
pub(crate) struct WireService {
    #[serde(default)]
    metadata: Meta,
    spec: Option<v1::ServiceSpec>,
}

watched!(Service, v1::Service, ObjectKey, WireService, namespaced; |wire| {
    (v1::Service { metadata: wire.metadata.with_annotations(), spec: wire.spec, status: None }.into(), Vec::new())
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireEndpointSlice {
    #[serde(default)]
    metadata: Meta,
    #[serde(default)]
    address_type: String,
    endpoints: Option<Vec<WireEndpoint>>,
    ports: Option<Vec<discovery::v1::EndpointPort>>,
}

#[derive(Deserialize)]
struct WireEndpoint {
    addresses: Vec<String>,
    conditions: Option<discovery::v1::EndpointConditions>,
    hints: Option<discovery::v1::EndpointHints>,
}

watched!(EndpointSlice, discovery::v1::EndpointSlice, ObjectKey, WireEndpointSlice, namespaced; |wire| {
    let endpoints = wire.endpoints.into_iter().flatten().map(|endpoint| discovery::v1::Endpoint {
        addresses: endpoint.addresses,
        conditions: endpoint.conditions,
        hints: endpoint.hints,
        ..discovery::v1::Endpoint::default()
    });
    let slice = discovery::v1::EndpointSlice {
        metadata: wire.metadata.with_labels(),
        address_type: wire.address_type,
        endpoints: endpoints.collect(),
        ports: wire.ports,
    };
    (slice.into(), Vec::new())
});

#[derive(Deserialize)]
pub(crate) struct WireSecret {
    #[serde(default)]
    metadata: Meta,
    #[serde(rename = "type")]
    kind: Option<String>,
    data: Option<BTreeMap<String, ByteString>>,
}

watched!(Secret, Secret, ObjectKey, WireSecret, namespaced, SECRET = true; |wire| {
    (Secret { metadata: wire.metadata.bare(), type_: wire.kind, data: wire.data, ..Secret::default() }, Vec::new())
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireConfigMap {
    #[serde(default)]
    metadata: Meta,
    data: Option<BTreeMap<String, String>>,
    binary_data: Option<BTreeMap<String, ByteString>>,
}

watched!(ConfigMap, ConfigMap, ObjectKey, WireConfigMap, namespaced; |wire| {
    let map = ConfigMap { metadata: wire.metadata.bare(), data: wire.data, binary_data: wire.binary_data, ..ConfigMap::default() };
    (map, Vec::new())
});

#[derive(Deserialize)]
pub(crate) struct WireNamespace {
    #[serde(default)]
    metadata: Meta,
}

watched!(Namespace, Namespace, Arc<str>, WireNamespace, cluster_wide; |wire| {
    (Namespace { metadata: wire.metadata.with_labels(), ..Namespace::default() }, Vec::new())
});
