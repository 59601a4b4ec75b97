//! What the tasks that watch tell the one that owns the stores.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::IngressClass;
use model::{EndpointSlice, Ingress, Service};

use crate::decode::Fetched;

/// One step of a feed.
#[derive(Debug)]
pub(crate) enum Input<K> {
    /// A list begins. What is held stays until its end.
    Begin,
    /// A page of the list.
    Page(Vec<Fetched<K>>),
    /// The list is complete: what it did not hold is gone.
    End,
    /// An object was created or changed.
    Apply(Fetched<K>),
    /// An object was deleted.
    Delete(Fetched<K>),
    /// The server can't be asked, or refuses; asked again later.
    Failed {
        /// What went wrong.
        error: Arc<str>,
        /// It is a matter of permission.
        forbidden: bool,
    },
    /// The watch runs (again).
    Running,
}

/// An input and the number of the feed that it comes from, by kind.
#[derive(Debug)]
pub(crate) enum Message {
    Ingress(usize, Input<Ingress>),
    IngressClass(usize, Input<IngressClass>),
    Service(usize, Input<Service>),
    EndpointSlice(usize, Input<EndpointSlice>),
    Secret(usize, Input<Secret>),
    ConfigMap(usize, Input<ConfigMap>),
    Namespace(usize, Input<Namespace>),
}
