//! Objects of which something is held back because their namespace has more than its share ([`crate::shares`]).

mod endpoints;
mod secrets;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Builder;
use super::built::Origin;
use super::dirty::Dirty;
use super::state::{State, set};
use crate::key::{ObjectKey, ObjectRef};
use crate::passes::ingress::{Entry, Rule};
use crate::problem::{Problem, ProblemKind};
use crate::shares::{self, Resource, Usage};

/// Bytes of the record of one host: a worker that parses a larger one answers no request meanwhile.
const HOST: u64 = 3 << 20;

/// An accepted Ingress that waits for room.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    present: Arc<Entry>,
    /// The last version that was served, with the protection of the present one.
    before: Option<Arc<Entry>>,
}

impl Builder {
    /// Takes what is to be served of an Ingress. An error: that is larger than an Ingress may be, too, so nothing of it is served.
    pub(super) fn weigh(&mut self, key: &ObjectKey, entry: Option<&Arc<Entry>>) -> Result<(), Problem> {
        self.state.held.remove(key);
        let too_large = entry.and_then(|entry| entry.claim.too_large());
        let fitting = entry.filter(|_| too_large.is_none());
        self.state.shares.set(key, fitting.map(|entry| (entry.order.clone(), entry.claim.clone())));
        too_large.map_or(Ok(()), |detail| Err(refused(key, format!("{detail}; it is refused"))))
    }

    /// Takes out what has no room, and puts in what has room again. `accepted`: Ingresses that were read, to be served in the present version.
    pub(super) fn settle_shares(&mut self, mut accepted: Vec<ObjectKey>, dirty: &mut Dirty) {
        let mut held = self.state.shares.held(&self.state.capacity);
        while let Some(keys) = Some(self.newly(&held)).filter(|keys| !keys.is_empty()) {
            keys.iter().for_each(|key| self.take_out(key, dirty));
            held = self.state.shares.held(&self.state.capacity);
        }
        let free: Vec<ObjectKey> = self.state.held.keys().filter(|key| !held.contains_key(*key)).cloned().collect();
        for key in free {
            self.state.set_problems(Origin::Share(key.clone()), Vec::new());
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
            let problem = refused(&key, format!("{}; {instead}", held.reason));
            self.serve(&key, before, dirty);
            self.state.set_problems(Origin::Share(key), vec![problem]);
        }
        for key in accepted.iter().filter(|key| !self.state.held.contains_key(*key)).cloned().collect::<Vec<_>>() {
            if let Some(object) = self.state.snapshot.ingresses.get(&key).cloned() {
                self.forget_last_accepted(&key, &object);
            }
        }
    }

    /// Ingresses that had room until now.
    fn newly<T>(&self, held: &BTreeMap<ObjectKey, T>) -> Vec<ObjectKey> {
        held.keys().filter(|key| !self.state.held.contains_key(*key) && self.state.built.entries.contains_key(*key)).cloned().collect()
    }

    /// Takes an Ingress out, and offers its last accepted version instead.
    fn take_out(&mut self, key: &ObjectKey, dirty: &mut Dirty) {
        let (Some(present), Some(object)) = (self.state.built.entries.get(key).cloned(), self.state.snapshot.ingresses.get(key).cloned())
        else {
            return;
        };
        self.serve(key, None, dirty);
        let before = self.version_before(key, &object).map(Arc::new);
        if let Some(before) = &before {
            self.state.shares.offer(key, before.claim.clone());
        }
        self.state.held.insert(key.clone(), Waiting { present, before });
    }

    /// Replaces what is served of an Ingress.
    fn serve(&mut self, key: &ObjectKey, entry: Option<Arc<Entry>>, dirty: &mut Dirty) {
        let old = self.state.built.entries.get(key).cloned();
        if old.as_ref().map(Arc::as_ptr) == entry.as_ref().map(Arc::as_ptr) {
            return;
        }
        for (entry, present) in old.iter().map(|old| (old, false)).chain(entry.iter().map(|new| (new, true))) {
            self.state.index(entry, present);
            dirty.touch(entry);
        }
        set(&mut self.state.built.entries, key, entry);
    }
}

impl State {
    /// What all objects ask for, and what there is.
    pub(super) fn usage(&self) -> Usage {
        let mut asked = self.shares.asked();
        asked.add(&self.secret_shares.asked());
        asked.add(&self.backend_shares.asked());
        let capacity = shares::left_for_endpoints(&self.config, &self.capacity, &asked);
        Usage { asked, capacity, held: self.held.len() + self.held_secrets.len() + self.cut_backends.len() }
    }
}

/// The Ingresses of a host without those for which its record has no room, with a Problem for each of these.
pub(super) fn fit<'a>(host: &str, entries: Vec<&'a Entry>) -> (Vec<&'a Entry>, Vec<Problem>) {
    let weights: Vec<(&str, u64)> = entries.iter().map(|entry| (&*entry.key().namespace, part(host, entry))).collect();
    let held = shares::fit(&weights, HOST);
    if held.is_empty() {
        return (entries, Vec::new());
    }
    let why = |key: &ObjectKey| {
        let detail = format!(
            "host {host:?} has more routes than the {} MiB that one host may have, and those of older Ingresses and of other namespaces use \
             them up; this one is not served there",
            HOST >> 20
        );
        refused(key, detail)
    };
    let (out, kept): (Vec<_>, Vec<_>) = entries.into_iter().enumerate().partition(|(at, _)| held.contains(at));
    (kept.into_iter().map(|(_, entry)| entry).collect(), out.into_iter().map(|(_, entry)| why(entry.key())).collect())
}

/// What an Ingress has of the record of one of its hosts.
fn part(host: &str, entry: &Entry) -> u64 {
    let weight = entry.claim.own.of(Resource::State);
    let count = |rules: &mut dyn Iterator<Item = &Rule>| rules.map(|rule| rule.paths.len() as u64).sum::<u64>();
    let (here, total) = (count(&mut entry.rules.iter().filter(|rule| *rule.host == *host)), count(&mut entry.rules.iter()));
    (weight * here).checked_div(total).unwrap_or(weight)
}

fn refused(key: &ObjectKey, detail: String) -> Problem {
    Problem { object: ObjectRef::ingress(key), field: String::new(), kind: ProblemKind::NoRoom, detail }
}
