//! Everything that is derived from a snapshot, in persistent maps with indexes from each object to what it influences.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;
use ngx_value::Snippet;
use settings::Config;

use super::built::{Built, Subject};
use super::claims::{Claims, PairClaims};
use super::index::{Counted, Index};
use super::room::Waiting;
use crate::fixed::{StreamPort, StreamService};
use crate::ingress::accept::Classes;
use crate::key::{BackendId, ObjectKey};
use crate::live::NO_CERTIFICATE;
use crate::object::Ingress;
use crate::passes::certificate::{Certificate, Found};
use crate::passes::choice::Candidate;
use crate::problem::Problem;
use crate::profile::ProfileId;
use crate::references::{self, Reference};
use crate::rule::{Origin, RuleSet};
use crate::shares::{Level, Shares, Weight};
use crate::snapshot::Snapshot;

/// Which certificate clients of a name are shown.
pub(super) enum Shown {
    /// This one.
    Own(Certificate),
    /// That of the wildcard above, or the default one.
    Above,
    /// The default one, although the wildcard above has another.
    NotAbove,
}

/// Everything derived from `snapshot`.
#[derive(Debug, Clone, Default)]
pub(super) struct BuilderState {
    pub(super) snapshot: Snapshot,
    pub(super) config: Arc<Config>,
    pub(super) classes: Option<Classes>,
    pub(super) built: Built,
    /// What there is of each resource.
    pub(super) capacity: Weight,
    pub(super) shares: Shares<ObjectKey, Origin>,
    /// Accepted objects that have no room: in no index. What is served of one is its version of before.
    pub(super) held: OrdMap<ObjectKey, Waiting>,
    /// What of Secrets goes to NGINX's memory, smaller ones first.
    pub(super) secret_shares: Shares<ObjectKey, u64>,
    pub(super) large_secrets: OrdMap<ObjectKey, Arc<str>>,
    /// Secrets that have no room.
    pub(super) held_secrets: BTreeSet<ObjectKey>,
    pub(super) backend_shares: Shares<BackendId, u64>,
    /// What each backend may have, in the namespaces above their share.
    pub(super) levels: BTreeMap<Arc<str>, Level>,
    /// Backends that have not all of their endpoints, or are left out.
    pub(super) cut_backends: BTreeSet<BackendId>,
    pub(super) hosts: Index<Arc<str>, Origin>,
    /// Hosts that objects claim; only where a host belongs to one namespace.
    pub(super) host_claims: PairClaims<ObjectKey, Arc<str>, Origin>,
    pub(super) backends: Index<BackendId, Origin>,
    /// The same for objects with cookie affinity, as far as they make locations.
    pub(super) sticky: Index<BackendId, Origin>,
    /// The choices that are offered beside backends, by the host where they met.
    pub(super) choices: PairClaims<Arc<str>, BackendId, Candidate>,
    /// Secrets with certificates to the objects that name them, and what these Secrets hold.
    pub(super) secrets: Index<ObjectKey, ObjectKey>,
    pub(super) certificates_read: OrdMap<ObjectKey, Found>,
    /// Secrets whose certificates are used as they are, since there is no room for what their chains lack.
    pub(super) without_issuers: BTreeSet<ObjectKey>,
    /// Secrets with the content address and the bytes of a list of users that is made of it, by the objects that ask for it.
    pub(super) lists: Counted<(ObjectKey, Arc<str>, u64)>,
    /// What annotations name, to the Ingresses that do, refused ones included.
    pub(super) referrers: Index<Reference, ObjectKey>,
    pub(super) slices: Index<ObjectKey, ObjectKey>,
    /// Aliases of hosts; of several hosts with one the first in byte order gets it.
    pub(super) aliases: Claims<Arc<str>, Arc<str>>,
    /// Of hosts that everything is to be redirected to, the other name with or without `www.`; the first in byte order gets it.
    pub(super) www_aliases: Claims<Arc<str>, Arc<str>>,
    /// The backend of hosts whose TLS connections are not decrypted.
    pub(super) passthrough: Claims<Arc<str>, BackendId>,
    /// Profiles that the routes of hosts use. Each host that has a server uses one.
    pub(super) profiles: Claims<Arc<str>, ProfileId, Counted<ProfileId>>,
    /// `stream-snippet`s, older objects first.
    pub(super) streams: OrdMap<Origin, Arc<Snippet>>,
    pub(super) certificates: Counted<Arc<str>>,
    /// Lists of users that hosts ask for.
    pub(super) users: Claims<Arc<str>, Arc<str>, Counted<Arc<str>>>,
    pub(super) default_certificate: Option<Certificate>,
    /// TCP and UDP services as the ConfigMaps have them, without certificates.
    pub(super) stream_entries: OrdMap<StreamPort, Arc<StreamService>>,
}

impl BuilderState {
    /// Adds the rules of an object to the indexes or takes them out.
    pub(super) fn index(&mut self, rules: &RuleSet, present: bool) {
        let (origin, policy) = (&rules.origin, &rules.policy);
        for host in rules.hosts() {
            self.hosts.set(&host, origin, present);
        }
        for backend in rules.backends() {
            self.backends.set(&backend, origin, present);
        }
        // The backend of a choice serves through its primary's locations; alone it has none.
        if policy.spec.affinity.cookie.is_some() && !rules.adds {
            rules.primaries().iter().for_each(|backend| self.sticky.set(backend, origin, present));
        }
        if let Some(text) = &policy.spec.snippets.stream_snippet {
            set(&mut self.streams, origin, present.then(|| Arc::new(text.clone())));
        }
        for secret in rules.secrets() {
            self.secrets.set(&secret, rules.key(), present);
        }
        for users in rules.users() {
            let list = (users.secret.clone(), users.id.clone(), users.bytes);
            self.lists.set(&list, present);
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

    /// Replaces the choices that a host leads to. Returns the backends that had or have one.
    pub(super) fn set_choices(&mut self, host: &Arc<str>, new: Vec<(BackendId, Candidate)>) -> Vec<BackendId> {
        let (_, lost) = self.choices.replace(host, new);
        lost.iter().chain(self.choices.items(host)).map(|(primary, _)| primary.clone()).collect()
    }

    pub(super) fn set_problems(&mut self, origin: Subject, problems: Vec<Problem>) {
        if problems.is_empty() {
            self.built.problems.remove(&origin);
        } else {
            self.built.problems.insert(origin, problems.into());
        }
    }

    pub(super) fn set_certificate(&mut self, name: &Arc<str>, shown: Shown) {
        let live = &mut self.built.model.live;
        let old = live.servers.get(name).cloned();
        let new = match &shown {
            Shown::Own(certificate) => Some(certificate.id.clone()),
            Shown::NotAbove => Some(NO_CERTIFICATE.into()),
            Shown::Above => None,
        };
        if old == new {
            return;
        }
        if let Shown::Own(certificate) = shown
            && self.certificates.add(&certificate.id)
        {
            live.certificates.insert(certificate.id.clone(), certificate.record);
            self.built.certificates.insert(certificate.id.clone(), certificate.facts);
            self.set_staple(&certificate.id);
        }
        let live = &mut self.built.model.live;
        set(&mut live.servers, name, new);
        if let Some(old) = old.filter(|old| **old != *NO_CERTIFICATE)
            && self.certificates.remove(&old)
        {
            live.certificates.remove(&old);
            self.built.certificates.remove(&old);
            self.set_staple(&old);
        }
    }

    pub(super) fn set_external_name(&mut self, id: &BackendId, name: Option<Arc<str>>) {
        self.built.external_names.replace(id, name.into_iter().collect());
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
