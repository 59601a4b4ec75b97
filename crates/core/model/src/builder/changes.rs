//! What differs between two snapshots. Costs what differs, as the maps share what does not.

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::key::ObjectKey;
use crate::object::EndpointSlice;
use crate::references::Reference;
use crate::snapshot::Snapshot;

/// Keys of changed objects, by kind. Class and Namespace changes are judged by their effect instead.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) ingresses: BTreeSet<ObjectKey>,
    pub(crate) services: BTreeSet<ObjectKey>,
    pub(crate) secrets: BTreeSet<ObjectKey>,
    pub(crate) config_maps: BTreeSet<ObjectKey>,
    pub(crate) addresses: BTreeSet<Arc<str>>,
    pub(crate) staples: BTreeSet<Arc<str>>,
    /// Secrets with certificates about whose issuers something else is known.
    pub(crate) issuers: BTreeSet<ObjectKey>,
    /// Certificates are to be judged at another time.
    pub(crate) is_later: bool,
    /// The slice, and the Service it belonged and belongs to.
    pub(crate) endpoint_slices: Vec<(ObjectKey, Option<ObjectKey>, Option<ObjectKey>)>,
}

impl Changes {
    pub(crate) fn between(old: &Snapshot, new: &Snapshot) -> Self {
        let slices = old.endpoint_slices.diff(&new.endpoint_slices).map(|item| match item {
            DiffItem::Add(key, slice) => (key.clone(), None, service_of(key, slice)),
            DiffItem::Update { old: (key, old), new: (_, new) } => (key.clone(), service_of(key, old), service_of(key, new)),
            DiffItem::Remove(key, slice) => (key.clone(), service_of(key, slice), None),
        });
        Self {
            ingresses: keys(&old.ingresses, &new.ingresses),
            services: keys(&old.services, &new.services),
            secrets: keys(&old.secrets, &new.secrets),
            config_maps: keys(&old.config_maps, &new.config_maps),
            addresses: keys(&old.addresses, &new.addresses),
            is_later: old.time != new.time,
            staples: keys(&old.staples, &new.staples),
            issuers: keys(&old.issuers, &new.issuers),
            endpoint_slices: slices.collect(),
        }
    }
}

impl Changes {
    /// What changed that annotations can refer to.
    pub(crate) fn references(&self) -> impl Iterator<Item = Reference> {
        let secrets = self.secrets.iter().cloned().map(Reference::Secret);
        let config_maps = self.config_maps.iter().cloned().map(Reference::ConfigMap);
        let services = self.services.iter().cloned().map(Reference::Service);
        secrets.chain(config_maps).chain(services)
    }
}

fn keys<K: Ord + Clone, V: PartialEq>(old: &OrdMap<K, V>, new: &OrdMap<K, V>) -> BTreeSet<K> {
    let changed = old.diff(new).map(|item| match item {
        DiffItem::Add(key, _) | DiffItem::Remove(key, _) | DiffItem::Update { old: (key, _), .. } => key.clone(),
    });
    changed.collect()
}

/// The Service a slice belongs to.
fn service_of(key: &ObjectKey, slice: &EndpointSlice) -> Option<ObjectKey> {
    Some(ObjectKey::new(key.namespace.clone(), slice.service.clone()?))
}
