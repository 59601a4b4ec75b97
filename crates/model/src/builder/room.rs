//! Ingresses that are held back because their namespace has more than its share ([`crate::shares`]).

use std::sync::Arc;

use annotations::Config;

use super::Builder;
use super::built::Origin;
use super::dirty::Dirty;
use crate::key::{ObjectKey, ObjectRef};
use crate::passes::ingress::{Entry, Rule};
use crate::passes::weigh;
use crate::problem::{Problem, ProblemKind};
use crate::shares::{self, Resource, Shares, Usage};

/// Bytes of the record of one host: a worker that parses a larger one answers no request meanwhile.
const HOST: u64 = 3 << 20;

impl Builder {
    /// Takes what is to be served of an Ingress. An error: that is larger than an Ingress may be, too, so nothing of it is served.
    pub(super) fn weigh(&mut self, key: &ObjectKey, entry: Option<&Arc<Entry>>) -> Result<(), Problem> {
        self.state.held.remove(key);
        let claim = entry.map(|entry| (entry.order.clone(), weigh::weigh(entry, &self.state.config)));
        let too_large = claim.as_ref().and_then(|(_, claim)| claim.too_large());
        self.state.shares.set(key, claim.filter(|_| too_large.is_none()));
        too_large.map_or(Ok(()), |detail| Err(refused(key, detail)))
    }

    /// Takes out what has no room, and puts in what has room again.
    pub(super) fn settle_shares(&mut self, dirty: &mut Dirty) {
        let held = self.state.shares.held();
        let free: Vec<ObjectKey> = self.state.held.keys().filter(|key| !held.contains_key(*key)).cloned().collect();
        for key in free {
            self.state.set_problems(Origin::Share(key.clone()), Vec::new());
            if let Some(entry) = self.state.held.remove(&key) {
                self.state.index(&entry, true);
                dirty.touch(&entry);
                self.state.built.entries.insert(key, entry);
            }
        }
        for (key, reason) in held {
            if let Some(entry) = self.state.built.entries.remove(&key) {
                self.state.index(&entry, false);
                dirty.touch(&entry);
                self.state.held.insert(key.clone(), entry);
            }
            self.state.set_problems(Origin::Share(key.clone()), vec![refused(&key, reason)]);
        }
        self.state.built.usage = Usage { held: self.state.held.len(), ..self.state.shares.usage() };
    }
}

/// Shares with these settings, before there are Ingresses.
pub(super) fn none_used(config: &Config) -> Shares {
    Shares::new(weigh::capacity(config))
}

/// The Ingresses of a host without those for which its record has no room, with a Problem for each of these.
pub(super) fn fit<'a>(host: &str, entries: Vec<&'a Entry>, all: &Shares) -> (Vec<&'a Entry>, Vec<Problem>) {
    let weights: Vec<(&str, u64)> = entries.iter().map(|entry| (&*entry.key().namespace, part(host, entry, all))).collect();
    let held = shares::fit(&weights, HOST);
    if held.is_empty() {
        return (entries, Vec::new());
    }
    let why = |key: &ObjectKey| {
        let detail = format!(
            "host {host:?} has more routes than the {} MiB that one host may have, and those of older Ingresses and of other namespaces use them up;              this one is not served there",
            HOST >> 20
        );
        refused(key, detail)
    };
    let (out, kept): (Vec<_>, Vec<_>) = entries.into_iter().enumerate().partition(|(at, _)| held.contains(at));
    (kept.into_iter().map(|(_, entry)| entry).collect(), out.into_iter().map(|(_, entry)| why(entry.key())).collect())
}

/// What an Ingress has of the record of one of its hosts.
fn part(host: &str, entry: &Entry, all: &Shares) -> u64 {
    let weight = all.own(entry.key()).map_or(0, |weight| weight.of(Resource::State));
    let count = |rules: &mut dyn Iterator<Item = &Rule>| rules.map(|rule| rule.paths.len() as u64).sum::<u64>();
    let (here, total) = (count(&mut entry.rules.iter().filter(|rule| *rule.host == *host)), count(&mut entry.rules.iter()));
    (weight * here).checked_div(total).unwrap_or(weight)
}

fn refused(key: &ObjectKey, detail: String) -> Problem {
    Problem { object: ObjectRef::ingress(key), field: String::new(), kind: ProblemKind::NoRoom, detail }
}
