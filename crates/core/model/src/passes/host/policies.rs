//! The policies and profiles of a host's routes: made once for all rules of an object with the same policy, not for each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use settings::Config;

use super::clients::Clients;
use super::{Draft, Owner};
use crate::key::ObjectKey;
use crate::live::Policy;
use crate::passes::route::{self, Location};
use crate::profile::{Profile, ProfileId};
use crate::rule;

/// What all routes of a host are made with.
pub(crate) struct Policies<'a> {
    pub(super) config: &'a Config,
    /// The policy of the oldest object of the host with CAs for its backends: it decides for locations that have none of their own.
    pub(super) host_tls: Option<&'a rule::Policy>,
    pub(super) clients: Option<&'a Clients>,
    /// Secrets that NGINX has no room for.
    pub(super) held: &'a BTreeSet<ObjectKey>,
    /// Objects whose paths are closed on this host.
    pub(super) closed: BTreeSet<&'a ObjectKey>,
    made: BTreeMap<Kind<'a>, (Arc<Policy>, Profile)>,
    /// By the Service where its name matters.
    profiles: BTreeMap<(Kind<'a>, Option<&'a ObjectKey>), Named>,
}

/// A profile with its content address.
type Named = (ProfileId, Arc<Profile>);

/// What a policy depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'a> {
    /// The object and the address of the policy; none for the built-in catch-all location.
    owner: Option<(&'a ObjectKey, *const rule::Policy)>,
    has_backend: bool,
    redirects: bool,
    exempt: bool,
}

static NOTHING: LazyLock<Arc<Policy>> = LazyLock::new(Arc::default);
static NO_SECRETS: BTreeSet<ObjectKey> = BTreeSet::new();

impl<'a> Policies<'a> {
    /// For an object on a host of its own.
    pub(super) const fn new(config: &'a Config) -> Self {
        Self {
            config,
            host_tls: None,
            clients: None,
            held: &NO_SECRETS,
            closed: BTreeSet::new(),
            made: BTreeMap::new(),
            profiles: BTreeMap::new(),
        }
    }

    /// Policy and profile of a location.
    pub(super) fn of(&mut self, draft: &Draft<'a>) -> (Arc<Policy>, ProfileId, Arc<Profile>) {
        let exempt = &self.config.external_auth.no_auth_locations;
        let backend = draft.backends.primary.as_ref();
        let kind = Kind {
            owner: draft.owner.map(|owner| (owner.origin.key(), &raw const *owner.policy)),
            has_backend: backend.is_some(),
            redirects: draft.redirects,
            exempt: exempt.iter().any(|prefix| draft.path.starts_with(&**prefix)),
        };
        if !self.made.contains_key(&kind) {
            let made = self.make(draft, kind);
            self.made.insert(kind, made);
        }
        let (policy, common) = &self.made[&kind];
        // Its name is only looked at where endpoints are spoken to by TLS.
        let given = draft.owner.map(|owner| owner.policy);
        let named = given.zip(backend).filter(|(given, _)| self.host_tls.is_some() || given.resolved.backend_tls.is_some());
        let profile = self.profiles.entry((kind, named.map(|(_, backend)| &backend.service))).or_insert_with(|| {
            let mut profile = common.clone();
            if let Some((given, backend)) = named {
                profile.transport.tls = route::backend_tls(given, self.host_tls, &backend.service, &profile.transport);
            }
            (profile.id(), Arc::new(profile))
        });
        (policy.clone(), profile.0.clone(), profile.1.clone())
    }

    fn make(&self, draft: &Draft<'a>, kind: Kind<'a>) -> (Arc<Policy>, Profile) {
        let (mut policy, mut profile) = (Policy::default(), Profile::default());
        match draft.owner {
            Some(Owner { origin, policy: given }) => {
                let Kind { has_backend, redirects, exempt, .. } = kind;
                route::annotate(&Location { given, config: self.config, has_backend, redirects, exempt }, &mut policy, &mut profile);
                let users = given.resolved.users.as_ref().filter(|_| policy.password.is_some());
                policy.denied |= users.is_some_and(|users| self.held.contains(&users.secret)) || self.closed.contains(origin.key());
            }
            None => policy.enable_access_log = self.config.enable_access_log_for_default_backend,
        }
        if let Some(clients) = self.clients {
            clients.apply(kind.owner.map(|(object, _)| object), &mut policy);
        }
        let of_owner = |all: bool| Kind { has_backend: all, redirects: all, exempt: all, ..kind };
        let alike = self.made.range(of_owner(false)..=of_owner(true)).map(|(_, (policy, _))| policy);
        let known = [&*NOTHING].into_iter().chain(alike).find(|known| ***known == policy).cloned();
        (known.unwrap_or_else(|| Arc::new(policy)), profile)
    }
}
