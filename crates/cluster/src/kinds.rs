//! The kinds that are watched, and what is kept of their objects.
//!
//! What nobody reads is not even decoded: `managedFields`, owner references, finalizers, status, the labels of most kinds. What is kept:
//!
//! | Kind | Kept besides name, namespace, uid, resourceVersion, generation, creationTimestamp |
//! |---|---|
//! | Ingress | annotations, spec; the addresses of its status apart from the object |
//! | IngressClass | annotations, spec |
//! | Service | annotations; of the spec: type, ports, cluster addresses, external name, traffic distribution, publishNotReadyAddresses |
//! | EndpointSlice | the label `kubernetes.io/service-name`, address type, ports; of an endpoint: addresses, conditions, hints, zone |
//! | Secret | type, data |
//! | ConfigMap | data, binary data |
//! | Namespace | labels |
//!
//! The annotation `kubectl.kubernetes.io/last-applied-configuration` is dropped everywhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, Service, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointHints, EndpointPort, EndpointSlice};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, IngressClassSpec, IngressSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{Api, Client, Resource};
use model::ObjectKey;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::address::Address;
use crate::decode::Fetched;
use crate::feed::Scope;
use crate::message::{Input, Message};

/// The label that names the Service of an EndpointSlice.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A kind that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `networking.k8s.io/v1` Ingress.
    Ingress,
    /// `networking.k8s.io/v1` IngressClass.
    IngressClass,
    /// `v1` Service.
    Service,
    /// `discovery.k8s.io/v1` EndpointSlice.
    EndpointSlice,
    /// `v1` Secret.
    Secret,
    /// `v1` ConfigMap.
    ConfigMap,
    /// `v1` Namespace.
    Namespace,
}

impl Kind {
    /// The Kubernetes name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "Ingress",
            Self::IngressClass => "IngressClass",
            Self::Service => "Service",
            Self::EndpointSlice => "EndpointSlice",
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
            Self::Namespace => "Namespace",
        }
    }

    /// The name of the task that watches it.
    pub(crate) const fn task(self) -> &'static str {
        match self {
            Self::Ingress => "watch of Ingresses",
            Self::IngressClass => "watch of IngressClasses",
            Self::Service => "watch of Services",
            Self::EndpointSlice => "watch of EndpointSlices",
            Self::Secret => "watch of Secrets",
            Self::ConfigMap => "watch of ConfigMaps",
            Self::Namespace => "watch of Namespaces",
        }
    }

    /// Whether only objects that something refers to are kept.
    pub(crate) const fn by_reference(self) -> bool {
        matches!(self, Self::Secret | Self::ConfigMap)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a store names an object.
pub(crate) trait Key: Ord + Clone + fmt::Debug + Send {
    /// The key of an object, `None` when the name can't be read.
    fn of(meta: &ObjectMeta) -> Option<Self>;
    /// Whether a feed over `scope` is the one that brings this object.
    fn is_in(&self, scope: &Scope) -> bool;
    /// Namespace and name.
    fn parts(&self) -> (Option<&Arc<str>>, &Arc<str>);
}

impl Key for ObjectKey {
    fn of(meta: &ObjectMeta) -> Option<Self> {
        Some(Self::new(meta.namespace.as_deref()?, meta.name.as_deref()?))
    }

    fn is_in(&self, scope: &Scope) -> bool {
        scope.covers(self)
    }

    fn parts(&self) -> (Option<&Arc<str>>, &Arc<str>) {
        (Some(&self.namespace), &self.name)
    }
}

impl Key for Arc<str> {
    fn of(meta: &ObjectMeta) -> Option<Self> {
        Some(meta.name.as_deref()?.into())
    }

    fn is_in(&self, _: &Scope) -> bool {
        true
    }

    fn parts(&self) -> (Option<&Arc<str>>, &Arc<str>) {
        (None, self)
    }
}

/// A Kubernetes type that is watched.
pub(crate) trait Watched: Resource<DynamicType = ()> + Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Which one.
    const KIND: Kind;
    /// Whether its values must not appear in messages.
    const SECRET: bool = false;
    /// How the store names it.
    type Key: Key;
    /// What is decoded of it.
    type Wire: DeserializeOwned;

    /// Cuts it down to what is kept; the addresses are those of an Ingress's status.
    fn slim(wire: Self::Wire) -> (Self, Vec<Address>);
    /// The endpoint to list and watch, `None` for the whole cluster.
    fn api(client: Client, namespace: Option<&str>) -> Api<Fetched<Self>>;
    /// Addresses an input to this kind's store.
    fn message(feed: usize, input: Input<Self>) -> Message;
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}

impl Meta {
    /// Without labels and annotations.
    fn bare(self) -> ObjectMeta {
        ObjectMeta {
            name: self.name,
            namespace: self.namespace,
            uid: self.uid,
            resource_version: self.resource_version,
            generation: self.generation,
            creation_timestamp: self.creation_timestamp,
            ..ObjectMeta::default()
        }
    }

    fn with_annotations(mut self) -> ObjectMeta {
        let annotations = self.annotations.take().map(|mut annotations| {
            annotations.remove(LAST_APPLIED);
            annotations
        });
        ObjectMeta { annotations: annotations.filter(|annotations| !annotations.is_empty()), ..self.bare() }
    }

    fn with_labels(mut self, keep: impl Fn(&str) -> bool) -> ObjectMeta {
        let labels = self.labels.take().map(|mut labels| {
            labels.retain(|name, _| keep(name));
            labels
        });
        ObjectMeta { labels: labels.filter(|labels| !labels.is_empty()), ..self.bare() }
    }
}

macro_rules! watched {
    ($type:ident, $key:ty, $wire:ty, $api:expr $(, $secret:ident = $value:literal)?; |$bound:ident| $slim:expr) => {
        impl Watched for $type {
            const KIND: Kind = Kind::$type;
            $(const $secret: bool = $value;)?
            type Key = $key;
            type Wire = $wire;

            fn slim($bound: $wire) -> (Self, Vec<Address>) {
                $slim
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

watched!(Ingress, ObjectKey, WireIngress, namespaced; |wire| {
    let addresses = wire.status.and_then(|status| status.load_balancer).and_then(|balancer| balancer.ingress).unwrap_or_default();
    let addresses = addresses.into_iter().map(|WireAddress { hostname, ip }| Address { hostname, ip }).collect();
    let spec = wire.spec.map(|mut spec| {
        shrink(&mut spec.rules);
        for http in spec.rules.iter_mut().flatten().filter_map(|rule| rule.http.as_mut()) {
            http.paths.shrink_to_fit();
        }
        shrink(&mut spec.tls);
        for tls in spec.tls.iter_mut().flatten() {
            shrink(&mut tls.hosts);
        }
        spec
    });
    (Ingress { metadata: wire.metadata.with_annotations(), spec, status: None }, addresses)
});

#[derive(Deserialize)]
pub(crate) struct WireIngressClass {
    #[serde(default)]
    metadata: Meta,
    spec: Option<IngressClassSpec>,
}

watched!(IngressClass, Arc<str>, WireIngressClass, cluster_wide; |wire| {
    (IngressClass { metadata: wire.metadata.with_annotations(), spec: wire.spec }, Vec::new())
});

#[derive(Deserialize)]
pub(crate) struct WireService {
    #[serde(default)]
    metadata: Meta,
    spec: Option<ServiceSpec>,
}

watched!(Service, ObjectKey, WireService, namespaced; |wire| {
    let spec = wire.spec.map(|spec| ServiceSpec {
        type_: spec.type_,
        ports: spec.ports.map(|mut ports| {
            ports.shrink_to_fit();
            ports
        }),
        cluster_ip: spec.cluster_ip,
        cluster_ips: spec.cluster_ips.map(|mut addresses| {
            addresses.shrink_to_fit();
            addresses
        }),
        external_name: spec.external_name,
        traffic_distribution: spec.traffic_distribution,
        publish_not_ready_addresses: spec.publish_not_ready_addresses,
        ..ServiceSpec::default()
    });
    (Service { metadata: wire.metadata.with_annotations(), spec, status: None }, Vec::new())
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireEndpointSlice {
    #[serde(default)]
    metadata: Meta,
    #[serde(default)]
    address_type: String,
    endpoints: Option<Vec<WireEndpoint>>,
    ports: Option<Vec<EndpointPort>>,
}

#[derive(Deserialize)]
struct WireEndpoint {
    addresses: Vec<String>,
    conditions: Option<EndpointConditions>,
    hints: Option<EndpointHints>,
    zone: Option<String>,
}

watched!(EndpointSlice, ObjectKey, WireEndpointSlice, namespaced; |wire| {
    let endpoints = wire.endpoints.into_iter().flatten().map(|mut endpoint| {
        endpoint.addresses.shrink_to_fit();
        Endpoint {
            addresses: endpoint.addresses,
            conditions: endpoint.conditions,
            hints: endpoint.hints,
            zone: endpoint.zone,
            ..Endpoint::default()
        }
    });
    let slice = EndpointSlice {
        metadata: wire.metadata.with_labels(|name| name == SERVICE_NAME),
        address_type: wire.address_type,
        endpoints: endpoints.collect::<Box<[_]>>().into_vec(),
        ports: wire.ports.map(|mut ports| {
            ports.shrink_to_fit();
            ports
        }),
    };
    (slice, Vec::new())
});

#[derive(Deserialize)]
pub(crate) struct WireSecret {
    #[serde(default)]
    metadata: Meta,
    #[serde(rename = "type")]
    kind: Option<String>,
    data: Option<BTreeMap<String, ByteString>>,
}

watched!(Secret, ObjectKey, WireSecret, namespaced, SECRET = true; |wire| {
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

watched!(ConfigMap, ObjectKey, WireConfigMap, namespaced; |wire| {
    let map = ConfigMap { metadata: wire.metadata.bare(), data: wire.data, binary_data: wire.binary_data, ..ConfigMap::default() };
    (map, Vec::new())
});

#[derive(Deserialize)]
pub(crate) struct WireNamespace {
    #[serde(default)]
    metadata: Meta,
}

watched!(Namespace, Arc<str>, WireNamespace, cluster_wide; |wire| {
    (Namespace { metadata: wire.metadata.with_labels(|_| true), ..Namespace::default() }, Vec::new())
});

/// Decoding leaves room for four elements in a list of one.
fn shrink<T>(list: &mut Option<Vec<T>>) {
    if let Some(list) = list {
        list.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
