//! Records that NGINX has no room for, or that are larger than any may be.
//!
//! They are one record's problem: everything else is sent. They are tried again when they change, after something was removed, and from time to time.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{Delta, Op};
use tokio::time::Instant;

/// Bytes of the largest record that is sent. A larger one would hold a worker for too long, whatever room there is.
const LARGEST: usize = 4 << 20;
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(60);

/// The records, by their name on the wire, with the checksum of what was refused.
#[derive(Debug, Default)]
pub(super) struct Refused {
    records: BTreeMap<String, u32>,
    next: Option<(Instant, Duration)>,
}

/// A record's name as NGINX lists it.
pub(super) fn listed(op: &Op) -> String {
    format!("{}\t{}", op.table.letter(), op.key)
}

impl Refused {
    /// The part of a delta that is to be sent now.
    pub(super) fn sendable(&mut self, delta: Delta) -> Delta {
        if !self.records.is_empty() {
            // What is not to be changed any more is not refused any more.
            let named: std::collections::BTreeSet<String> = delta.iter().map(listed).collect();
            self.records.retain(|name, _| named.contains(name));
        }
        let again = self.next.is_some_and(|(at, _)| at <= Instant::now());
        let mut now = Delta::new();
        for op in delta {
            if op.value.as_ref().is_some_and(|value| value.len() > LARGEST) {
                self.add(&op);
            } else if again || self.records.is_empty() || self.records.get(&listed(&op)) != Some(&op.new_crc()) {
                now.push(op);
            }
        }
        now
    }

    pub(super) fn add(&mut self, op: &Op) {
        self.records.insert(listed(op), op.new_crc());
    }

    pub(super) fn remove(&mut self, op: &Op) {
        if !self.records.is_empty() {
            self.records.remove(&listed(op));
        }
    }

    /// Sets the clock after everything sendable was sent; `freed`: something was removed, so that there may be room at once.
    pub(super) fn wait(&mut self, freed: bool) {
        if self.records.is_empty() {
            self.next = None;
            return;
        }
        let (wait, pause) = match self.next {
            // What was added found the place of what it replaces taken: removals come last.
            _ if freed => (Duration::ZERO, FIRST_RETRY / 2),
            Some((at, _)) if at > Instant::now() => return,
            Some((_, pause)) => ((pause * 2).min(LAST_RETRY), (pause * 2).min(LAST_RETRY)),
            None => (FIRST_RETRY, FIRST_RETRY),
        };
        self.next = Some((Instant::now() + wait, pause));
    }

    /// Time of the next attempt.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next.map(|(at, _)| at)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.records.keys()
    }
}
