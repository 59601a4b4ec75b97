//! Whose a host is, where `--host-ownership=namespace` says that it is one namespace's: that of its oldest object.
//!
//! An object that is refused claims its hosts all the same, so that a mistake does not give them to another namespace. One that only adds to the rules
//! of others claims none.

use std::sync::Arc;

use super::{Builder, Dirty};
use crate::key::ObjectKey;
use crate::options::HostOwnership;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{CATCH_ALL, Field, Origin, RuleSet};

impl Builder {
    pub(super) fn hosts_are_owned(&self) -> bool {
        self.options.host_ownership == HostOwnership::Namespace
    }

    /// Replaces what an object claims. `rules`: what is served of it.
    pub(super) fn claim(&mut self, key: &ObjectKey, rules: Option<&RuleSet>, dirty: &mut Dirty) {
        if !self.hosts_are_owned() {
            return;
        }
        let claimed = match rules {
            Some(rules) if rules.adds => Vec::new(),
            Some(rules) => rules.hosts().into_iter().map(|host| (host, rules.origin.clone())).collect(),
            None => self.claimed_unserved(key),
        };
        let (_, lost) = self.state.host_claims.replace(key, claimed);
        dirty.hosts.extend(lost.iter().chain(self.state.host_claims.items(key)).map(|(host, _)| host.clone()));
    }

    /// The oldest object of a host, whose namespace it belongs to. `None`: it belongs to none.
    pub(super) fn owner(&self, host: &Arc<str>) -> Option<&Origin> {
        self.state.host_claims.claimants.values(host).next().filter(|_| self.hosts_are_owned())
    }

    /// The rules of the objects that have a say in a host, oldest first.
    pub(super) fn rules_on(&self, host: &Arc<str>) -> impl Iterator<Item = &Arc<RuleSet>> {
        let owner = self.owner(host).map(|origin| origin.key().namespace.clone());
        let sets = self.state.hosts.values(host).filter_map(|origin| self.state.built.rules.get(origin.key()));
        sets.filter(move |rules| owner.as_ref().is_none_or(|owner| rules.key().namespace == *owner))
    }

    /// What to say of the others.
    pub(super) fn strangers(&self, host: &Arc<str>) -> Vec<Problem> {
        let Some(owner) = self.owner(host) else { return Vec::new() };
        let origins = self.state.hosts.values(host).filter(|origin| origin.key().namespace != owner.key().namespace);
        let sets = origins.filter_map(|origin| self.state.built.rules.get(origin.key()));
        sets.map(|rules| stranger(host, owner, rules)).collect()
    }

    /// Which of the hosts that want a further name gets it: the first in byte order, or where hosts are owned that of the oldest object.
    pub(super) fn claimant<'a>(&self, mut hosts: impl Iterator<Item = &'a Arc<str>>) -> Option<Arc<str>> {
        match self.hosts_are_owned() {
            true => hosts.min_by_key(|host| self.owner(host)).cloned(),
            false => hosts.next().cloned(),
        }
    }
}

fn stranger(host: &Arc<str>, owner: &Origin, rules: &RuleSet) -> Problem {
    let what = if **host == *CATCH_ALL { "what has no host".to_owned() } else { format!("host {host:?}") };
    let who = if *owner < rules.origin { owner.before(&rules.origin) } else { owner.object().to_string() };
    let detail = format!(
        "{what} belongs to namespace {:?}, because of {who} (--host-ownership=namespace); nothing of this {} has an effect there",
        owner.key().namespace,
        rules.origin.object().kind
    );
    rules.origin.problem(Field::Host(rules.position_of(host)), ProblemKind::Conflict, detail)
}
