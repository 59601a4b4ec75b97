//! Persistent one-to-many indexes and reference counts.

use imbl::{OrdMap, OrdSet};

/// Key to an ordered set of values. A key without values is absent.
#[derive(Debug, Clone)]
pub(crate) struct Index<K: Ord + Clone, V: Ord + Clone>(OrdMap<K, OrdSet<V>>);

impl<K: Ord + Clone, V: Ord + Clone> Default for Index<K, V> {
    fn default() -> Self {
        Self(OrdMap::new())
    }
}

impl<K: Ord + Clone, V: Ord + Clone> Index<K, V> {
    /// Adds or removes a value.
    pub(crate) fn set(&mut self, key: &K, value: &V, present: bool) {
        if present { self.add(key, value) } else { self.remove(key, value) }
    }

    pub(crate) fn add(&mut self, key: &K, value: &V) {
        self.0.entry(key.clone()).or_default().insert(value.clone());
    }

    pub(crate) fn remove(&mut self, key: &K, value: &V) {
        if let Some(values) = self.0.get_mut(key) {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Values of a key, in order.
    pub(crate) fn values(&self, key: &K) -> impl Iterator<Item = &V> {
        self.0.get(key).into_iter().flatten()
    }

    /// The last value of a key.
    pub(crate) fn last(&self, key: &K) -> Option<&V> {
        self.0.get(key)?.get_max()
    }

    /// Keys from `key` on, in order.
    pub(crate) fn keys_from(&self, key: &K) -> impl Iterator<Item = &K> {
        self.0.range(key.clone()..).map(|(key, _)| key)
    }
}

/// How often each key is in use.
#[derive(Debug, Clone)]
pub(crate) struct Counted<K: Ord + Clone>(OrdMap<K, usize>);

impl<K: Ord + Clone> Default for Counted<K> {
    fn default() -> Self {
        Self(OrdMap::new())
    }
}

impl<K: Ord + Clone> Counted<K> {
    /// Counts one use; true if it is the first.
    pub(crate) fn add(&mut self, key: &K) -> bool {
        let count = self.0.entry(key.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// Counts one use less; true if it was the last.
    pub(crate) fn remove(&mut self, key: &K) -> bool {
        let Some(count) = self.0.get_mut(key) else { return false };
        *count -= 1;
        let last = *count == 0;
        if last {
            self.0.remove(key);
        }
        last
    }

    /// Keys in use, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }
}
