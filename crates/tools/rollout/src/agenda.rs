//! The times at which workloads are looked at: after a quiet time, and under a constant stream of changes at the latest after a bound.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// The time for which changes are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// Quiet time after the last one.
    pub quiet: Duration,
    /// Longest wait after the first one.
    pub most: Duration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(250), most: Duration::from_secs(2) }
    }
}

/// Keys with the times at which they are due.
#[derive(Debug)]
pub(crate) struct Agenda<K> {
    debounce: Debounce,
    entries: BTreeMap<K, Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Time of the first change that is not looked at yet.
    first: Option<Instant>,
    due: Instant,
}

impl<K: Ord + Clone> Agenda<K> {
    pub(crate) fn new(debounce: Debounce) -> Self {
        Self { debounce, entries: BTreeMap::new() }
    }

    /// Something changed.
    pub(crate) fn touch(&mut self, key: K, now: Instant) {
        let first = self.entries.get(&key).and_then(|entry| entry.first).unwrap_or(now);
        let due = (now + self.debounce.quiet).min(first + self.debounce.most);
        self.entries.insert(key, Entry { first: Some(first), due });
    }

    /// Sets the time of its next look, unless an earlier one is set.
    pub(crate) fn at(&mut self, key: K, when: Instant) {
        let entry = self.entries.entry(key).or_insert(Entry { first: None, due: when });
        entry.due = entry.due.min(when);
    }

    /// The next time that something is due, `busy` left out.
    pub(crate) fn next(&self, busy: impl Fn(&K) -> bool) -> Option<Instant> {
        self.entries.iter().filter(|(key, _)| !busy(key)).map(|(_, entry)| entry.due).min()
    }

    /// Takes everything that is due now, `busy` left out, but at most `most`.
    pub(crate) fn take(&mut self, now: Instant, most: usize, busy: impl Fn(&K) -> bool) -> Vec<K> {
        let due: Vec<K> =
            self.entries.iter().filter(|(key, entry)| entry.due <= now && !busy(key)).map(|(key, _)| key.clone()).take(most).collect();
        for key in &due {
            self.entries.remove(key);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn changes_of_a_moment_are_one() {
        let (start, mut agenda) = (Instant::now(), Agenda::new(Debounce::default()));
        agenda.touch("a", start);
        agenda.touch("a", start + 200 * MS);
        assert_eq!(agenda.next(|_| false), Some(start + 450 * MS));
        assert!(agenda.take(start + 449 * MS, 9, |_| false).is_empty());
        assert_eq!(agenda.take(start + 450 * MS, 9, |_| false), ["a"]);
        assert_eq!(agenda.next(|_| false), None);
    }

    #[test]
    fn a_constant_stream_starves_nothing() {
        let (start, mut agenda) = (Instant::now(), Agenda::new(Debounce::default()));
        for step in 0..30 {
            agenda.touch("a", start + step * 100 * MS);
        }
        assert_eq!(agenda.next(|_| false), Some(start + 2000 * MS));
    }

    #[test]
    fn what_is_busy_waits_and_a_later_time_does_not_delay() {
        let (start, mut agenda) = (Instant::now(), Agenda::new(Debounce::default()));
        agenda.touch("a", start);
        agenda.at("a", start + 10_000 * MS);
        agenda.at("b", start + 5 * MS);
        assert_eq!(agenda.next(|key| *key == "b"), Some(start + 250 * MS));
        assert_eq!(agenda.take(start + 1000 * MS, 9, |key| *key == "a"), ["b"]);
        assert_eq!(agenda.take(start + 1000 * MS, 9, |_| false), ["a"]);
    }
}
