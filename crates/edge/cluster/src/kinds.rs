//! The kinds that are watched, and what is kept of their objects.
//!
//! Fields without a reader are not even decoded: `managedFields`, owner references, finalizers, status, the labels of most kinds. What is kept:
//!
//! | Kind | Kept besides the key and the uid |
//! |---|---|
//! | Ingress, Service, EndpointSlice | what [`model::object`] has; the addresses of an Ingress's status apart from the object |
//! | IngressClass | annotations, spec |
//! | Secret | type, data |
//! | ConfigMap | data, binary data |
//! | Namespace | labels |
//!
//! The annotation `kubectl.kubernetes.io/last-applied-configuration` is dropped everywhere.

mod wire;

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, Resource};
use model::ObjectKey;
use serde::de::DeserializeOwned;

use crate::address::Address;
use crate::decode::Fetched;
use crate::feed::Scope;
use crate::message::{Input, Message};

/// The label that names the Service of an EndpointSlice.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

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

    /// `true` if only objects that something refers to are kept.
    pub(crate) const fn by_reference(self) -> bool {
        matches!(self, Self::Secret | Self::ConfigMap)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of an object in a store.
pub(crate) trait Key: Ord + Clone + fmt::Debug + Send {
    /// The key of an object, `None` when the name can't be read.
    fn of(meta: &ObjectMeta) -> Option<Self>;
    /// `true` if a feed over `scope` is the one that delivers this object.
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

/// A kind that is watched, as it is kept.
pub(crate) trait Watched: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The kind.
    const KIND: Kind;
    /// `true` if its values must not appear in messages.
    const SECRET: bool = false;
    /// Its name in the store.
    type Key: Key;
    /// The kind as the API has it.
    type Api: Resource<DynamicType = ()>;
    /// The fields that are decoded of it.
    type Wire: DeserializeOwned;

    /// Cuts it down to what is kept.
    fn slim(wire: Self::Wire) -> Slim<Self>;
    /// The endpoint to list and watch, `None` for the whole cluster.
    fn api(client: Client, namespace: Option<&str>) -> Api<Fetched<Self>>;
    /// Addresses an input to this kind's store.
    fn message(feed: usize, input: Input<Self>) -> Message;
}

/// An object that is decoded and cut down.
#[derive(Debug, Clone)]
pub(crate) struct Slim<K> {
    /// Name, namespace and version only.
    pub(crate) meta: Box<ObjectMeta>,
    /// Shared from the start: it goes into the store as it is.
    pub(crate) object: Arc<K>,
    /// The addresses in the status of an Ingress; empty for every other kind.
    pub(crate) addresses: Vec<Address>,
}

#[cfg(test)]
mod tests;
