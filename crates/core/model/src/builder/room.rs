//! Objects of which something is held back because their namespace has more than its share ([`crate::shares`]).

mod endpoints;
mod secrets;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Builder;
use super::built::Subject;
use super::dirty::Dirty;
use super::state::{BuilderState, set};
use crate::key::ObjectKey;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{Field, Origin, RuleSet};
use crate::shares::{self, Resource, Tenants, Usage};

/// Bytes of the record of one host: a worker that parses a larger one answers no request meanwhile.
const HOST: u64 = 3 << 20;

/// Rules of an accepted object that wait for room.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    present: Arc<RuleSet>,
    /// The last version that was served, with the protection of the present one.
    before: Option<Arc<RuleSet>>,
}

impl Builder {
    /// Takes what is to be served of an object. An error: that is larger than an object may be, too, so nothing of it is served.
    pub(super) fn weigh(&mut self, key: &ObjectKey, rules: Option<&Arc<RuleSet>>) -> Result<(), Problem> {
        self.state.held.remove(key);
        let too_large = rules.and_then(|rules| Some((rules, rules.claim.too_large()?)));
        let fitting = rules.filter(|_| too_large.is_none());
        self.state.shares.set(key, fitting.map(|rules| (rules.origin.clone(), rules.claim.clone())));
        too_large.map_or(Ok(()), |(rules, detail)| Err(refused(&rules.origin, format!("{detail}; it is refused"))))
    }

    /// Takes out what has no room, and puts in what has room again. `accepted`: objects that were read, to be served in the present version.
    pub(super) fn settle_shares(&mut self, mut accepted: Vec<ObjectKey>, dirty: &mut Dirty) {
        let mut held = self.state.shares.held(&self.state.capacity);
        while let Some(keys) = Some(self.newly(&held)).filter(|keys| !keys.is_empty()) {
            keys.iter().for_each(|key| self.take_out(key, dirty));
            held = self.state.shares.held(&self.state.capacity);
        }
        let free: Vec<ObjectKey> = self.state.held.keys().filter(|key| !held.contains_key(*key)).cloned().collect();
        for key in free {
            self.state.set_problems(Subject::Share(key.clone()), Vec::new());
            if let Some(waiting) = self.state.held.remove(&key) {
                self.serve(&key, Some(waiting.present), dirty);
            }
            accepted.push(key);
        }
        for (key, held) in held {
            let before = self.state.held.get(&key).and_then(|waiting| waiting.before.clone()).filter(|_| held.has_before);
            let instead = match before {
                Some(_) => "its version of before, which is smaller, stays active until there is room",
                None => "its older Ingresses have that, this one is not served until there is room",
            };
            let problem = self.state.held.get(&key).map(|waiting| refused(&waiting.present.origin, format!("{}; {instead}", held.reason)));
            self.serve(&key, before, dirty);
            self.state.set_problems(Subject::Share(key), problem.into_iter().collect());
        }
        for key in accepted.iter().filter(|key| !self.state.held.contains_key(*key)).cloned().collect::<Vec<_>>() {
            self.forget_last_accepted(&key);
        }
    }

    /// Objects that had room until now.
    fn newly<T>(&self, held: &BTreeMap<ObjectKey, T>) -> Vec<ObjectKey> {
        held.keys().filter(|key| !self.state.held.contains_key(*key) && self.state.built.rules.contains_key(*key)).cloned().collect()
    }

    /// Takes the rules of an object out, and offers those of its last accepted version instead.
    fn take_out(&mut self, key: &ObjectKey, dirty: &mut Dirty) {
        let Some(present) = self.state.built.rules.get(key).cloned() else { return };
        self.serve(key, None, dirty);
        let before = self.version_before(key).map(Arc::new);
        if let Some(before) = &before {
            self.state.shares.offer(key, before.claim.clone());
        }
        self.state.held.insert(key.clone(), Waiting { present, before });
    }

    /// Replaces what is served of an object.
    pub(super) fn serve(&mut self, key: &ObjectKey, rules: Option<Arc<RuleSet>>, dirty: &mut Dirty) {
        let old = self.state.built.rules.get(key).cloned();
        if old.as_ref().map(Arc::as_ptr) == rules.as_ref().map(Arc::as_ptr) {
            return;
        }
        for (rules, present) in old.iter().map(|old| (old, false)).chain(rules.iter().map(|new| (new, true))) {
            self.state.index(rules, present);
            dirty.touch(rules);
        }
        set(&mut self.state.built.rules, key, rules);
    }
}

impl BuilderState {
    /// What the objects of each namespace ask for.
    pub(super) fn tenants(&self) -> Tenants {
        Tenants::of([self.shares.sums(), self.secret_shares.sums(), self.backend_shares.sums()])
    }

    /// What all objects ask for, and what there is.
    pub(super) fn usage(&self) -> Usage {
        let mut asked = self.shares.asked();
        asked.add(&self.secret_shares.asked());
        asked.add(&self.backend_shares.asked());
        let capacity = shares::left_for_endpoints(&self.config, &self.capacity, &asked);
        Usage { asked, capacity, held: self.held.len() + self.held_secrets.len() + self.cut_backends.len() }
    }
}

/// The objects of a host without those for which its record has no room, with a Problem for each of these.
pub(super) fn fit<'a>(host: &str, sets: Vec<&'a RuleSet>) -> (Vec<&'a RuleSet>, Vec<Problem>) {
    let weights: Vec<(&str, u64)> = sets.iter().map(|rules| (&*rules.key().namespace, part(host, rules))).collect();
    let held = shares::fit(&weights, HOST);
    if held.is_empty() {
        return (sets, Vec::new());
    }
    let why = |rules: &RuleSet| {
        let detail = format!(
            "host {host:?} has more routes than the {} MiB that one host may have, and those of older Ingresses and of other namespaces use \
             them up; this one is not served there",
            HOST >> 20
        );
        refused(&rules.origin, detail)
    };
    let (out, kept): (Vec<_>, Vec<_>) = sets.into_iter().enumerate().partition(|(at, _)| held.contains(at));
    (kept.into_iter().map(|(_, rules)| rules).collect(), out.into_iter().map(|(_, rules)| why(rules)).collect())
}

/// What an object has of the record of one of its hosts.
fn part(host: &str, rules: &RuleSet) -> u64 {
    let weight = rules.claim.own.of(Resource::State);
    let (here, total) = (rules.rules_of(host).count() as u64, rules.rules.len() as u64);
    (weight * here).checked_div(total).unwrap_or(weight)
}

fn refused(origin: &Origin, detail: String) -> Problem {
    origin.problem(Field::Whole, ProblemKind::NoRoom, detail)
}
