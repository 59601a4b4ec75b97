//! Everything that is derived from a snapshot, in persistent maps with indexes from each object to what it influences.

use std::sync::Arc;

use annotations::Config;
use imbl::OrdMap;
use ngx_value::Snippet;

use super::built::{Built, Origin};
use super::index::{Counted, Index};
use super::owners::Claim;
use crate::key::{BackendId, ObjectKey};
use crate::object::Ingress;
use crate::passes::accept::Classes;
use crate::passes::canary::Candidate;
use crate::passes::certificate::Certificate;
use crate::passes::ingress::{Entry, Order};
use crate::passes::resolve::Users;
use crate::problem::Problem;
use crate::profile::ProfileId;
use crate::references::{self, Reference};
use crate::shares::Shares;
use crate::snapshot::Snapshot;

/// Everything derived from `snapshot`.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) snapshot: Snapshot,
    pub(super) config: Arc<Config>,
    pub(super) classes: Option<Classes>,
    pub(super) built: Built,
    pub(super) shares: Shares,
    /// Accepted Ingresses that have no room: in no index.
    pub(super) held: OrdMap<ObjectKey, Arc<Entry>>,
    pub(super) hosts: Index<Arc<str>, Order>,
    /// Hosts with the Ingresses that claim them, and the other way round; only where a host belongs to one namespace.
    pub(super) claims: Index<Arc<str>, Order>,
    pub(super) ingress_claims: OrdMap<ObjectKey, Claim>,
    pub(super) backends: Index<BackendId, Order>,
    /// The same for Ingresses with cookie affinity.
    pub(super) sticky: Index<BackendId, Order>,
    /// Backends with what canaries offer as alternatives, and the hosts that they came from.
    pub(super) alternatives: Index<BackendId, Candidate>,
    pub(super) host_alternatives: OrdMap<Arc<str>, Arc<[(BackendId, Candidate)]>>,
    pub(super) secrets: Index<ObjectKey, ObjectKey>,
    /// What annotations name, to the Ingresses that do, refused ones included.
    pub(super) referrers: Index<Reference, ObjectKey>,
    pub(super) slices: Index<ObjectKey, ObjectKey>,
    /// Alias to the hosts that claim it; the first in byte order gets it.
    pub(super) aliases: Index<Arc<str>, Arc<str>>,
    pub(super) host_aliases: OrdMap<Arc<str>, Arc<[Arc<str>]>>,
    /// The other name with or without `www.` to the hosts that everything there is to be redirected to; the first in byte order gets it.
    pub(super) twins: Index<Arc<str>, Arc<str>>,
    pub(super) host_twins: OrdMap<Arc<str>, Arc<str>>,
    /// Hosts whose TLS connections are not decrypted, with the backends that these go to, and the other way round.
    pub(super) passthrough: OrdMap<Arc<str>, BackendId>,
    pub(super) passed: Index<BackendId, Arc<str>>,
    pub(super) host_profiles: OrdMap<Arc<str>, Arc<[ProfileId]>>,
    /// `stream-snippet`s, older Ingresses first.
    pub(super) streams: OrdMap<Order, Arc<Snippet>>,
    pub(super) profiles: Counted<ProfileId>,
    pub(super) certificates: Counted<Arc<str>>,
    pub(super) host_users: OrdMap<Arc<str>, Arc<[Arc<str>]>>,
    pub(super) users: Counted<Arc<str>>,
    pub(super) default_certificate: Option<Certificate>,
    pub(super) backend_names: OrdMap<BackendId, Arc<str>>,
}

impl State {
    /// Adds an Ingress to the indexes or takes it out.
    pub(super) fn index(&mut self, entry: &Entry, present: bool) {
        for host in entry.hosts() {
            self.hosts.set(&host, &entry.order, present);
        }
        // A canary's backend serves through its primary's locations; alone it has none.
        for backend in entry.backends() {
            self.backends.set(&backend, &entry.order, present);
            if entry.spec.affinity.cookie.is_some() && !entry.is_canary() {
                self.sticky.set(&backend, &entry.order, present);
            }
        }
        if let Some(text) = &entry.spec.snippets.stream {
            set(&mut self.streams, &entry.order, present.then(|| Arc::new(text.clone())));
        }
        for secret in entry.secrets() {
            self.secrets.set(&secret, entry.key(), present);
        }
    }

    /// Replaces what the annotations of an Ingress name.
    pub(super) fn refer(&mut self, ingress: &ObjectKey, old: Option<&Ingress>, new: Option<&Ingress>) {
        let named = |object| references::of_annotations(ingress, object);
        for reference in old.into_iter().flat_map(named) {
            self.referrers.remove(&reference, ingress);
        }
        for reference in new.into_iter().flat_map(named) {
            self.referrers.add(&reference, ingress);
        }
    }

    /// Replaces the alternatives that a host leads to. Returns the backends that had or have one.
    pub(super) fn set_alternatives(&mut self, host: &Arc<str>, new: Vec<(BackendId, Candidate)>) -> Vec<BackendId> {
        let old: Vec<(BackendId, Candidate)> = self.host_alternatives.get(host).iter().flat_map(|pairs| pairs.iter().cloned()).collect();
        for (primary, candidate) in &old {
            self.alternatives.remove(primary, candidate);
        }
        for (primary, candidate) in &new {
            self.alternatives.add(primary, candidate);
        }
        let touched = old.into_iter().chain(new.iter().cloned()).map(|(primary, _)| primary).collect();
        set(&mut self.host_alternatives, host, (!new.is_empty()).then(|| new.into()));
        touched
    }

    pub(super) fn set_problems(&mut self, origin: Origin, problems: Vec<Problem>) {
        if problems.is_empty() {
            self.built.problems.remove(&origin);
        } else {
            self.built.problems.insert(origin, problems.into());
        }
    }

    pub(super) fn set_certificate(&mut self, name: &Arc<str>, certificate: Option<Certificate>) {
        let live = &mut self.built.model.live;
        let old = live.servers.get(name).cloned();
        if old.as_ref() == certificate.as_ref().map(|certificate| &certificate.id) {
            return;
        }
        match certificate {
            Some(certificate) => {
                if self.certificates.add(&certificate.id) {
                    live.certificates.insert(certificate.id.clone(), certificate.record);
                }
                live.servers.insert(name.clone(), certificate.id);
            }
            None => {
                live.servers.remove(name);
            }
        }
        if let Some(old) = old
            && self.certificates.remove(&old)
        {
            live.certificates.remove(&old);
        }
    }

    /// Replaces the lists of users that a host asks for.
    pub(super) fn set_users(&mut self, host: &Arc<str>, lists: &[Users]) {
        for users in lists {
            if self.users.add(&users.id) {
                self.built.model.live.users.insert(users.id.clone(), users.record.clone());
            }
        }
        for id in self.host_users.get(host).cloned().iter().flat_map(|ids| ids.iter()) {
            if self.users.remove(id) {
                self.built.model.live.users.remove(id);
            }
        }
        let ids: Arc<[Arc<str>]> = lists.iter().map(|users| users.id.clone()).collect();
        set(&mut self.host_users, host, (!ids.is_empty()).then_some(ids));
    }

    pub(super) fn set_external_name(&mut self, id: &BackendId, name: Option<Arc<str>>) {
        let old = self.backend_names.get(id).cloned();
        if old == name {
            return;
        }
        if let Some(old) = old {
            self.built.external_names.remove(&old);
        }
        if let Some(name) = &name {
            self.built.external_names.add(name);
        }
        set(&mut self.backend_names, id, name);
    }
}

pub(super) fn set<K: Ord + Clone, V: Clone>(map: &mut OrdMap<K, V>, key: &K, value: Option<V>) {
    match value {
        Some(value) => {
            map.insert(key.clone(), value);
        }
        None => {
            map.remove(key);
        }
    }
}

pub(super) fn set_if_changed<V: PartialEq>(map: &mut OrdMap<Arc<str>, Arc<V>>, key: &Arc<str>, value: V) {
    if map.get(key).is_none_or(|old| **old != value) {
        map.insert(key.clone(), Arc::new(value));
    }
}
