//! What is asked about next: what is due, namespaces in turn, and few of one namespace at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use tokio::time::Instant;

/// Requests at a time.
const MOST: usize = 16;
/// Those of one namespace, so that slow responders of one delay no other.
const MOST_OF_NAMESPACE: usize = 2;

/// Subjects by when they are due.
#[derive(Debug)]
pub(crate) struct Queue<K> {
    namespaces: BTreeMap<Arc<str>, Turn<K>>,
    under_way: usize,
    /// The namespace that had the last turn.
    last: Option<Arc<str>>,
}

#[derive(Debug)]
struct Turn<K> {
    due: BTreeSet<(Instant, K)>,
    under_way: usize,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self { namespaces: BTreeMap::new(), under_way: 0, last: None }
    }
}

impl<K> Default for Turn<K> {
    fn default() -> Self {
        Self { due: BTreeSet::new(), under_way: 0 }
    }
}

impl<K: Ord + Clone> Turn<K> {
    fn first(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at).filter(|_| self.under_way < MOST_OF_NAMESPACE)
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Has something asked about at a time.
    pub(crate) fn put(&mut self, namespace: &Arc<str>, id: &K, at: Instant) {
        self.namespaces.entry(namespace.clone()).or_default().due.insert((at, id.clone()));
    }

    /// Takes one out that is not under way.
    pub(crate) fn remove(&mut self, namespace: &Arc<str>, id: &K, at: Instant) {
        if let Some(turn) = self.namespaces.get_mut(namespace) {
            turn.due.remove(&(at, id.clone()));
        }
        self.tidy(namespace);
    }

    /// When the next request may begin, if nothing ends before that.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        if self.under_way < MOST { self.namespaces.values().filter_map(Turn::first).min() } else { None }
    }

    /// A subject that is due now: it is under way until [`Self::done`].
    pub(crate) fn take(&mut self, now: Instant) -> Option<K> {
        if self.under_way >= MOST {
            return None;
        }
        let is_due = |(_, turn): &(&Arc<str>, &Turn<K>)| turn.first().is_some_and(|at| at <= now);
        let after = self.last.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.namespaces.range((after, Bound::Unbounded)).find(is_due).or_else(|| self.namespaces.iter().find(is_due));
        let namespace = next.map(|(namespace, _)| namespace.clone())?;
        let turn = self.namespaces.get_mut(&namespace)?;
        let (_, id) = turn.due.pop_first()?;
        turn.under_way += 1;
        self.under_way += 1;
        self.last = Some(namespace);
        Some(id)
    }

    /// The end of a request of a namespace.
    pub(crate) fn done(&mut self, namespace: &Arc<str>) {
        self.under_way = self.under_way.saturating_sub(1);
        if let Some(turn) = self.namespaces.get_mut(namespace) {
            turn.under_way = turn.under_way.saturating_sub(1);
        }
        self.tidy(namespace);
    }

    fn tidy(&mut self, namespace: &Arc<str>) {
        if self.namespaces.get(namespace).is_some_and(|turn| turn.due.is_empty() && turn.under_way == 0) {
            self.namespaces.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_take_turns_and_have_two_requests_at_most() {
        let now = Instant::now();
        let mut queue = Queue::<Arc<str>>::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for n in 0..4 {
            queue.put(&a, &format!("a{n}").into(), now);
        }
        queue.put(&b, &"b0".into(), now);
        let taken: Vec<String> = std::iter::from_fn(|| queue.take(now)).map(|id| id.to_string()).collect();
        assert_eq!((taken.join(" ").as_str(), queue.next_at()), ("a0 b0 a1", None));
        queue.done(&a);
        assert_eq!(queue.take(now).as_deref(), Some("a2"));
        for namespace in [&a, &a, &b] {
            queue.done(namespace);
        }
        queue.remove(&a, &"a3".into(), now);
        assert!(queue.namespaces.is_empty() && queue.under_way == 0, "{queue:?}");
    }

    #[test]
    fn one_that_is_not_due_waits() {
        let now = Instant::now();
        let later = now + std::time::Duration::from_secs(1);
        let mut queue = Queue::<Arc<str>>::default();
        queue.put(&"a".into(), &"x".into(), later);
        assert_eq!((queue.take(now), queue.next_at()), (None, Some(later)));
        assert_eq!(queue.take(later).as_deref(), Some("x"));
    }

    #[test]
    fn there_is_a_limit_for_all_together() {
        let now = Instant::now();
        let mut queue = Queue::<Arc<str>>::default();
        for n in 0..20 {
            queue.put(&format!("n{n}").into(), &"x".into(), now);
        }
        assert_eq!((std::iter::from_fn(|| queue.take(now)).count(), queue.next_at()), (MOST, None));
    }
}
