//! The statuses that are to be written now. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use imbl::OrdSet;
use model::ObjectKey;
use tokio::time::Instant;

use crate::address::Address;
use crate::backoff::{Backoff, Retry};
use crate::state::Statuses;

/// Rewrites of one status within an interval before it is left alone until the interval is over: another client writes it too.
const QUICK: u32 = 3;

/// The statuses that were written, with the time.
#[derive(Debug)]
pub(super) struct Ledger {
    interval: Duration,
    retry: Retry,
    entries: BTreeMap<ObjectKey, Entry>,
}

#[derive(Debug)]
enum Entry {
    Written {
        addresses: Arc<[Address]>,
        at: Instant,
        /// The watch has shown it.
        seen: bool,
        /// Writes in a row, each within an interval of the one before.
        quick: u32,
    },
    Failed {
        until: Instant,
        backoff: Backoff,
    },
}

/// The writes that are due.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Now, one of each namespace in turn: the first of all namespaces, then the second.
    pub(super) keys: Vec<ObjectKey>,
    /// The next moment at which more may be.
    pub(super) next: Option<Instant>,
}

impl Ledger {
    pub(super) fn new(interval: Duration, retry: Retry) -> Self {
        Self { interval, retry, entries: BTreeMap::new() }
    }

    /// The writes that are needed so that all of `owned` hold `wanted`. Ingresses that the watch has not shown yet are left for later.
    pub(super) fn due(&mut self, owned: &OrdSet<ObjectKey>, statuses: &Statuses, wanted: &Arc<[Address]>, now: Instant) -> Due {
        self.entries.retain(|key, _| owned.contains(key) && statuses.contains_key(key));
        let mut due = Due::default();
        for key in owned {
            let Some(current) = statuses.get(key) else { continue };
            let is_current = Arc::ptr_eq(current, wanted) || current == wanted;
            let after = match self.entries.get_mut(key) {
                _ if is_current => {
                    if let Some(Entry::Written { seen, .. }) = self.entries.get_mut(key) {
                        *seen = true;
                    }
                    continue;
                }
                Some(Entry::Failed { until, .. }) => *until,
                Some(Entry::Written { addresses, at, seen, quick }) if addresses == wanted && (!*seen || *quick >= QUICK) => {
                    *at + self.interval
                }
                _ => now,
            };
            if after <= now {
                due.keys.push(key.clone());
            } else {
                due.next = Some(due.next.map_or(after, |next| next.min(after)));
            }
        }
        due.keys = in_turn(due.keys);
        due
    }

    /// A write succeeded.
    pub(super) fn wrote(&mut self, key: ObjectKey, wanted: &Arc<[Address]>, now: Instant) {
        let quick = match self.entries.get(&key) {
            Some(Entry::Written { at, quick, .. }) if now < *at + self.interval => quick + 1,
            _ => 0,
        };
        self.entries.insert(key, Entry::Written { addresses: wanted.clone(), at: now, seen: false, quick });
    }

    /// A write failed.
    pub(super) fn failed(&mut self, key: ObjectKey, now: Instant) {
        let mut backoff = match self.entries.remove(&key) {
            Some(Entry::Failed { backoff, .. }) => backoff,
            _ => Backoff::new(self.retry),
        };
        let until = now + backoff.next();
        self.entries.insert(key, Entry::Failed { until, backoff });
    }
}

/// Keys in order, dealt out by namespace: one that has thousands does not keep the others waiting.
fn in_turn(keys: Vec<ObjectKey>) -> Vec<ObjectKey> {
    let mut ranked = Vec::with_capacity(keys.len());
    let mut rank = 0_usize;
    for key in keys {
        let follows = ranked.last().is_some_and(|(_, last): &(usize, ObjectKey)| last.namespace == key.namespace);
        rank = if follows { rank + 1 } else { 0 };
        ranked.push((rank, key));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(60);

    fn addresses(ip: &str) -> Arc<[Address]> {
        [Address::ip(ip)].into()
    }

    struct World {
        ledger: Ledger,
        owned: OrdSet<ObjectKey>,
        statuses: Statuses,
        now: Instant,
    }

    impl World {
        fn new(names: &[&str]) -> Self {
            let keys = || names.iter().map(|name| ObjectKey::new("n", *name));
            Self {
                ledger: Ledger::new(INTERVAL, Retry::default()),
                owned: keys().collect(),
                statuses: keys().map(|key| (key, Arc::default())).collect(),
                now: Instant::now(),
            }
        }

        fn set(&mut self, name: &str, ip: &str) {
            self.statuses.insert(ObjectKey::new("n", name), addresses(ip));
        }

        fn due(&mut self, ip: &str) -> Vec<String> {
            let due = self.ledger.due(&self.owned, &self.statuses, &addresses(ip), self.now);
            due.keys.iter().map(|key| key.name.to_string()).collect()
        }

        fn wrote(&mut self, name: &str, ip: &str) {
            self.ledger.wrote(ObjectKey::new("n", name), &addresses(ip), self.now);
        }
    }

    #[test]
    fn what_differs_is_due_once() {
        let mut world = World::new(&["a", "b"]);
        world.set("b", "1");
        assert_eq!(world.due("1"), ["a"]);
        world.wrote("a", "1");
        assert!(world.due("1").is_empty(), "the watch need not have shown it yet");
        assert_eq!(world.due("2"), ["a", "b"], "another address is due at once");
    }

    #[test]
    fn a_write_that_is_never_seen_is_repeated_after_the_interval() {
        let mut world = World::new(&["a"]);
        world.wrote("a", "1");
        assert!(world.due("1").is_empty());
        world.now += INTERVAL;
        assert_eq!(world.due("1"), ["a"]);
    }

    #[test]
    fn what_others_change_is_put_right_but_not_for_ever() {
        let mut world = World::new(&["a"]);
        for _ in 0..=QUICK {
            assert_eq!(world.due("1"), ["a"]);
            world.wrote("a", "1");
            world.set("a", "1");
            assert!(world.due("1").is_empty());
            world.set("a", "9");
        }
        assert!(world.due("1").is_empty(), "two writers do not race");
        world.now += INTERVAL;
        assert_eq!(world.due("1"), ["a"]);
    }

    #[test]
    fn a_failure_waits_longer_each_time() {
        let mut world = World::new(&["a"]);
        let key = ObjectKey::new("n", "a");
        world.ledger.failed(key.clone(), world.now);
        let next = world.ledger.due(&world.owned, &world.statuses, &addresses("1"), world.now).next.unwrap();
        assert!(next > world.now && next <= world.now + Retry::default().first);
        world.now = next;
        assert_eq!(world.due("1"), ["a"]);
        world.ledger.failed(key, world.now);
        let next = world.ledger.due(&world.owned, &world.statuses, &addresses("1"), world.now).next.unwrap();
        assert!(next >= world.now + Retry::default().first, "doubled, and half of that at least");
    }

    #[test]
    fn an_ingress_that_is_unknown_or_not_ours_is_left_alone() {
        let mut world = World::new(&["a"]);
        world.statuses.insert(ObjectKey::new("n", "other"), Arc::default());
        world.owned.insert(ObjectKey::new("n", "new"));
        assert_eq!(world.due("1"), ["a"]);
    }

    #[test]
    fn namespaces_take_turns() {
        let keys = ["a/1", "a/2", "a/3", "b/1", "b/2", "c/1"];
        let keys = keys.map(|key| key.split_once('/').map(|(namespace, name)| ObjectKey::new(namespace, name)).unwrap());
        let turns: Vec<String> = in_turn(keys.to_vec()).iter().map(ToString::to_string).collect();
        assert_eq!(turns, ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"]);
    }
}
