//! Messages of the tasks that watch to the one that owns the stores.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::IngressClass;
use model::{EndpointSlice, Ingress, Service};

use crate::decode::Fetched;
use crate::list_watch::Step;

/// One step of a feed.
pub(crate) type Input<K> = Step<Fetched<K>>;

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
