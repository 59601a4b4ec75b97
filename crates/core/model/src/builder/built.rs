//! One build's result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;

use super::Quarantine;
use super::claims::Claims;
use super::configmap::Basis;
use super::values::KeyValue;
use crate::Model;
use crate::fixed::StreamPort;
use crate::key::{BackendId, ObjectKey};
use crate::object::Protocol;
use crate::part::Part;
use crate::passes::certificate::{CertificateFacts, IncompleteChain};
use crate::passes::host;
use crate::plan::Reason;
use crate::problem::Problem;
use crate::profile::ProfileId;
use crate::rule::RuleSet;
use crate::shares::{Tenants, Usage};

/// One build's result. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The desired state.
    pub model: Model,
    /// What its globals are made of.
    pub basis: Arc<Basis>,
    /// Ingresses of which NGINX refused what they ask for.
    pub quarantined: Quarantine,
    /// Keys of the ConfigMap that are not used as they are written, since NGINX refuses them or some of them, with these values.
    pub refused_keys: Arc<BTreeMap<String, KeyValue>>,
    /// Certificates of TCP services that NGINX refused, by their content address.
    pub refused_certificates: Arc<BTreeSet<Arc<str>>>,
    /// What all objects ask for of what is finite.
    pub usage: Usage,
    /// The same by namespace.
    pub tenants: Tenants,
    /// What is known of the certificates that hosts have, by the content address of the key pair.
    pub certificates: OrdMap<Arc<str>, Arc<CertificateFacts>>,
    /// Certificates in use that their issuer's does not follow in their Secret.
    pub incomplete: OrdMap<ObjectKey, Arc<IncompleteChain>>,
    pub(super) rules: OrdMap<ObjectKey, Arc<RuleSet>>,
    pub(super) problems: OrdMap<Subject, Arc<[Problem]>>,
    pub(super) external_names: Claims<BackendId, Arc<str>>,
    /// Those of TCP and UDP services.
    pub(super) stream_names: OrdMap<StreamPort, Arc<str>>,
}

/// What a finding is about: findings are replaced as a whole when that is built again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Config,
    StreamServices(Protocol),
    StreamService(StreamPort),
    StreamCertificate(StreamPort),
    /// Its port could not be opened.
    ClosedPort(StreamPort),
    Object(ObjectKey),
    Share(ObjectKey),
    Secret(ObjectKey),
    /// The certificate in a Secret.
    Validity(ObjectKey),
    /// The OCSP response of a key pair.
    Staple(Arc<str>),
    Host(Arc<str>),
    Name(Arc<str>),
    Backend(BackendId),
    DefaultCertificate,
}

impl Subject {
    /// The object whose settings and rules, or whose share of what is finite, a finding is about.
    pub(super) fn object(&self) -> Option<&ObjectKey> {
        match self {
            Self::Object(key) | Self::Share(key) => Some(key),
            _ => None,
        }
    }
}

impl Built {
    /// Every finding, ordered by where it comes from. Cost: their number.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.values().flat_map(|problems| problems.iter().cloned()).collect()
    }

    /// The Ingresses that are ours, refused ones excluded.
    pub fn ingresses(&self) -> impl Iterator<Item = &ObjectKey> {
        self.rules.keys()
    }

    /// Whether an Ingress is ours and not refused.
    pub fn has_ingress(&self, ingress: &ObjectKey) -> bool {
        self.rules.contains_key(ingress)
    }

    /// Whether both have the very same Ingresses, in the same versions. Constant time; false says nothing.
    pub fn has_same_ingresses(&self, other: &Self) -> bool {
        self.rules.ptr_eq(&other.rules)
    }

    /// The Ingresses whose routes use a profile. Empty for one that is not in use. Cost: the number of routes.
    pub fn users_of_profile(&self, id: &ProfileId) -> Vec<ObjectKey> {
        let mut users: Vec<ObjectKey> =
            self.model.live.hosts.values().flat_map(|record| host::owners(record, |route| route.profile == *id)).collect();
        users.sort();
        users.dedup();
        users
    }

    /// The Ingresses whose routes on one host use a profile.
    pub fn users_of_profile_on(&self, host: &str, id: &ProfileId) -> Vec<ObjectKey> {
        self.model.live.hosts.get(host).map(|record| host::owners(record, |route| route.profile == *id)).unwrap_or_default()
    }

    /// The Ingresses that gave a host its server-level text.
    pub fn users_of_host_server(&self, name: &str) -> Vec<ObjectKey> {
        let named = || self.rules.values().filter(|rules| !rules.adds && rules.hosts().iter().any(|host| **host == *name));
        let owner =
            named().min_by_key(|rules| &rules.origin).filter(|_| self.basis.hosts_are_owned()).map(|rules| rules.key().namespace.clone());
        let has_say = |rules: &RuleSet| owner.as_ref().is_none_or(|owner| rules.key().namespace == *owner);
        let asking = named().filter(|rules| host::has_server_block(&rules.policy) && has_say(rules));
        asking.map(|rules| rules.key().clone()).collect()
    }

    /// The Ingresses that ask for a part of the text, as far as this build has them. Cost: as [`Self::users_of_profile`].
    pub fn users_of(&self, part: &Part) -> Vec<ObjectKey> {
        match part {
            Part::Profile(id) => self.users_of_profile(id),
            Part::Server(host) => self.users_of_host_server(host),
            Part::Name(host) => self.model.live.hosts.get(host).map(|record| host::owners(record, |_| true)).unwrap_or_default(),
            Part::Stream(ingress) => vec![ingress.clone()],
            Part::Globals | Part::StreamService(_) | Part::StreamOrder => Vec::new(),
        }
    }

    /// The Ingresses behind a reason for a reload.
    pub fn behind(&self, reason: &Reason) -> Vec<ObjectKey> {
        reason.part().map(|part| self.users_of(part)).unwrap_or_default()
    }

    /// Names that ExternalName Services point to and that must be resolved (IP literals excluded).
    pub fn external_names(&self) -> Vec<Arc<str>> {
        let names: BTreeSet<&Arc<str>> = self.external_names.claimants.keys().chain(self.stream_names.values()).collect();
        names.into_iter().cloned().collect()
    }
}
