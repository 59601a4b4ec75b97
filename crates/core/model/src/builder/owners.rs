//! Whose a host is, where `--host-ownership=namespace` says that it is one namespace's: that of its oldest Ingress.
//!
//! An Ingress that is refused claims its hosts all the same, so that a mistake does not give them to another namespace. A canary claims none:
//! it adds to the rules of others.

use std::sync::Arc;

use super::{Builder, Dirty};
use crate::key::{ObjectKey, ObjectRef};
use crate::object::Ingress;
use crate::options::HostOwnership;
use crate::passes::accept;
use crate::passes::ingress::{CATCH_ALL, Entry, Order, claimed_hosts};
use crate::problem::{Problem, ProblemKind};

impl Builder {
    pub(super) fn hosts_are_owned(&self) -> bool {
        self.options.host_ownership == HostOwnership::Namespace
    }

    /// Replaces what an Ingress claims. `entry`: what is served of it.
    pub(super) fn claim(&mut self, key: &ObjectKey, entry: Option<&Entry>, dirty: &mut Dirty) {
        if !self.hosts_are_owned() {
            return;
        }
        let claimed = self.claimed(key, entry);
        let (_, lost) = self.state.host_claims.replace(key, claimed);
        dirty.hosts.extend(lost.iter().chain(self.state.host_claims.items(key)).map(|(host, _)| host.clone()));
    }

    fn claimed(&self, key: &ObjectKey, entry: Option<&Entry>) -> Vec<(Arc<str>, Order)> {
        let Some(ingress) = self.state.snapshot.ingresses.get(key) else { return Vec::new() };
        let hosts = match entry {
            Some(entry) if entry.is_canary() => Vec::new(),
            Some(entry) => entry.hosts(),
            None if self.would_claim(key, ingress) => claimed_hosts(ingress),
            None => Vec::new(),
        };
        let order = entry.map_or_else(|| Order::of(key, ingress), |entry| entry.order.clone());
        hosts.into_iter().map(|host| (host, order.clone())).collect()
    }

    /// Whether an Ingress that is not served claims its hosts.
    fn would_claim(&self, key: &ObjectKey, ingress: &Ingress) -> bool {
        let canary = format!("{}/canary", self.options.annotations_prefix);
        accept::namespace_matches(&key.namespace, &self.state.snapshot, &self.options)
            && accept::class_matches(ingress, self.state.classes.as_ref(), &self.options)
            && ingress.annotations.get(&canary).is_none_or(|value| value != "true")
    }

    /// The oldest Ingress of a host, whose namespace it belongs to. `None`: it belongs to none.
    pub(super) fn owner(&self, host: &Arc<str>) -> Option<&Order> {
        self.state.host_claims.claimants.values(host).next().filter(|_| self.hosts_are_owned())
    }

    /// The Ingresses that have a say in a host, oldest first.
    pub(super) fn entries_of(&self, host: &Arc<str>) -> impl Iterator<Item = &Arc<Entry>> {
        let owner = self.owner(host).map(|order| order.key().namespace.clone());
        let entries = self.state.hosts.values(host).filter_map(|order| self.state.built.entries.get(order.key()));
        entries.filter(move |entry| owner.as_ref().is_none_or(|owner| entry.key().namespace == *owner))
    }

    /// What to say of the others.
    pub(super) fn strangers(&self, host: &Arc<str>) -> Vec<Problem> {
        let Some(owner) = self.owner(host) else { return Vec::new() };
        let orders = self.state.hosts.values(host).filter(|order| order.key().namespace != owner.key().namespace);
        let entries = orders.filter_map(|order| self.state.built.entries.get(order.key()));
        entries.map(|entry| stranger(host, owner, entry)).collect()
    }

    /// Which of the hosts that want a further name gets it: the first in byte order, or where hosts are owned that of the oldest Ingress.
    pub(super) fn claimant<'a>(&self, mut hosts: impl Iterator<Item = &'a Arc<str>>) -> Option<Arc<str>> {
        match self.hosts_are_owned() {
            true => hosts.min_by_key(|host| self.owner(host)).cloned(),
            false => hosts.next().cloned(),
        }
    }
}

fn stranger(host: &Arc<str>, owner: &Order, entry: &Entry) -> Problem {
    let rule = entry.rules.iter().position(|rule| rule.host == *host);
    let field = rule.map_or_else(|| "spec.defaultBackend".to_owned(), |rule| format!("spec.rules[{rule}].host"));
    let what = if **host == *CATCH_ALL { "what has no host".to_owned() } else { format!("host {host:?}") };
    let who = if *owner < entry.order { owner.before(&entry.order) } else { format!("Ingress {}", owner.key()) };
    let detail = format!(
        "{what} belongs to namespace {:?}, because of {who} (--host-ownership=namespace); nothing of this Ingress has an effect there",
        owner.key().namespace
    );
    Problem { object: ObjectRef::ingress(entry.key()), field, kind: ProblemKind::Conflict, detail }
}
