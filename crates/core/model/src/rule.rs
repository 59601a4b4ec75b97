//! Rules: what a frontend makes of an object, and all that the passes know of it.
//!
//! A frontend ([`crate::ingress`]) reads objects of one kind: what they say, what they name, what of it is unusable. It makes a [`RuleSet`] of each. The
//! passes work on rules, hosts, policies and origins alone, so that another kind of object needs a frontend of its own and no other pass.

mod backends;
mod origin;
mod policy;

use std::sync::Arc;

use settings::Guards;

use crate::key::{BackendId, ObjectKey};
use crate::shares::Claim;

pub(crate) use backends::{Backends, Choice, Condition, HeaderCondition, HeaderMeaning};
pub(crate) use origin::{Field, Kind, Origin, Position};
pub(crate) use policy::{BackendSecret, ClientTrust, FastcgiSettings, Policy, Resolved, Users};

/// Name of the catch-all server.
pub(crate) const CATCH_ALL: &str = "_";

/// A rule: which requests it is about, where they go, and how they are treated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    pub(crate) matches: Match,
    pub(crate) backends: Backends,
    pub(crate) policy: Arc<Policy>,
    /// Where it stands in its object. With [`RuleSet::origin`] it is what the rule comes from.
    pub(crate) at: Position,
}

/// Which requests a rule is about: all of these must be so. What of headers, methods and queries a rule may ask for is to be a field here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Match {
    /// In lower case, or [`CATCH_ALL`].
    pub(crate) host: Arc<str>,
    pub(crate) path: Arc<str>,
    pub(crate) kind: PathKind,
}

/// How a path is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathKind {
    /// By whole segments from its beginning.
    Prefix,
    /// As a whole.
    Exact,
}

/// The rules of one object, and what it says of its hosts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleSet {
    pub(crate) origin: Origin,
    /// The policy of its hosts, of its backends, and of what goes to `fallback`. Most rules share it.
    pub(crate) policy: Arc<Policy>,
    pub(crate) rules: Box<[Rule]>,
    /// Where requests for its hosts go that no rule matches. Of an object that names no host: requests that no object matches.
    pub(crate) fallback: Backends,
    /// Hosts that it names without a rule, each with its position in the object.
    pub(crate) bare_hosts: Box<[(Arc<str>, u32)]>,
    /// It only adds choices to the rules of other objects with the same match, and makes no hosts and no locations.
    pub(crate) adds: bool,
    /// It is refused, and only closes its paths.
    pub(crate) closed: bool,
    /// What it says about access control, to compare versions.
    pub(crate) guards: Guards,
    pub(crate) tls: Box<[Tls]>,
    /// What it asks for of what is finite.
    pub(crate) claim: Arc<Claim>,
}

/// A certificate for hosts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tls {
    /// In lower case.
    pub(crate) hosts: Box<[Box<str>]>,
    pub(crate) secret: Option<ObjectKey>,
}

impl RuleSet {
    pub(crate) fn key(&self) -> &ObjectKey {
        self.origin.key()
    }

    /// Whether it only has a fallback: then it takes over the catch-all location.
    pub(crate) fn is_catch_all(&self) -> bool {
        self.rules.is_empty() && self.bare_hosts.is_empty() && self.fallback.primary.is_some()
    }

    /// Its rules for a host.
    pub(crate) fn rules_of(&self, host: &str) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| *rule.matches.host == *host)
    }

    /// Hosts it names, the catch-all included, without duplicates.
    pub(crate) fn hosts(&self) -> Vec<Arc<str>> {
        let bare = self.bare_hosts.iter().map(|(host, _)| host);
        let mut hosts: Vec<Arc<str>> = self.rules.iter().map(|rule| &rule.matches.host).chain(bare).cloned().collect();
        if self.is_catch_all() || self.adds && self.fallback.choice.is_some() {
            hosts.push(CATCH_ALL.into());
        }
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Where in the object it names a host; none: it is about all hosts.
    pub(crate) fn position_of(&self, host: &str) -> Option<u32> {
        let of_rules = self.rules_of(host).map(|rule| rule.at.rule);
        of_rules.chain(self.bare_hosts.iter().filter(|(bare, _)| **bare == *host).map(|(_, at)| *at)).min()
    }

    /// Backends of its locations, without duplicates.
    pub(crate) fn primaries(&self) -> Vec<BackendId> {
        let primaries = self.backends_with_position().filter_map(|(_, backends)| backends.primary.clone());
        let of_errors = self.policies().filter_map(|policy| policy.resolved.default_backend.clone());
        sorted(primaries.chain(of_errors).collect())
    }

    /// All backends it refers to, without duplicates.
    pub(crate) fn backends(&self) -> Vec<BackendId> {
        let choices = self.backends_with_position().filter_map(|(_, backends)| Some(backends.choice.as_ref()?.backend.clone()));
        sorted(self.primaries().into_iter().chain(choices).collect())
    }

    /// Where its requests go, each with the position of its rule; the fallback has none.
    pub(crate) fn backends_with_position(&self) -> impl Iterator<Item = (Option<Position>, &Backends)> {
        self.rules.iter().map(|rule| (Some(rule.at), &rule.backends)).chain([(None, &self.fallback)])
    }

    /// Secrets with certificates that it refers to, without duplicates.
    pub(crate) fn secrets(&self) -> Vec<ObjectKey> {
        sorted(self.tls.iter().filter_map(|tls| tls.secret.clone()).collect())
    }

    /// Its policies, each once as long as rules with the same one are neighbours.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &Policy> {
        let of_rules = self.rules.chunk_by(|a, b| Arc::ptr_eq(&a.policy, &b.policy)).map(|rules| &rules[0].policy);
        [&self.policy].into_iter().chain(of_rules.skip_while(|policy| Arc::ptr_eq(policy, &self.policy))).map(|policy| &**policy)
    }

    /// The lists of users that its policies ask for, without duplicates.
    pub(crate) fn users(&self) -> impl Iterator<Item = &Users> {
        let mut users: Vec<&Users> = self.policies().filter_map(|policy| policy.resolved.users.as_ref()).collect();
        users.sort_by(|a, b| (&a.secret, &a.id).cmp(&(&b.secret, &b.id)));
        users.dedup_by(|a, b| (&a.secret, &a.id) == (&b.secret, &b.id));
        users.into_iter()
    }

    /// The same with another policy everywhere.
    pub(crate) fn with_policy(&self, policy: Policy) -> Self {
        let policy = Arc::new(policy);
        let rules = self.rules.iter().map(|rule| Rule { policy: policy.clone(), ..rule.clone() });
        Self { rules: rules.collect(), policy: policy.clone(), ..self.clone() }
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items.dedup();
    items
}
