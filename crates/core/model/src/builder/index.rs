//! Persistent one-to-many indexes and reference counts.

use imbl::{OrdMap, OrdSet};

/// Key to an ordered set of values. A key without values is absent.
#[derive(Debug, Clone)]
pub(crate) struct Index<K: Ord + Clone, V: Ord + Clone>(OrdMap<K, Values<V>>);

/// Nearly every key has one value, and a node of a persistent set has room for sixteen.
#[derive(Debug, Clone)]
enum Values<V: Ord + Clone> {
    One(V),
    /// At least two.
    Many(OrdSet<V>),
}

impl<V: Ord + Clone> Values<V> {
    fn add(&mut self, value: &V) {
        match self {
            Self::One(only) if only == value => {}
            Self::One(only) => *self = Self::Many(OrdSet::from_iter([only.clone(), value.clone()])),
            Self::Many(values) => {
                values.insert(value.clone());
            }
        }
    }

    /// Whether nothing is left.
    fn remove(&mut self, value: &V) -> bool {
        let Self::Many(values) = self else { return self.iter().all(|only| only == value) };
        values.remove(value);
        if values.len() == 1
            && let Some(only) = values.get_min().cloned()
        {
            *self = Self::One(only);
        }
        false
    }

    fn iter(&self) -> impl Iterator<Item = &V> {
        let (one, many) = match self {
            Self::One(only) => (Some(only), None),
            Self::Many(values) => (None, Some(values)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    fn last(&self) -> Option<&V> {
        match self {
            Self::One(only) => Some(only),
            Self::Many(values) => values.get_max(),
        }
    }
}

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
        match self.0.get_mut(key) {
            Some(values) => values.add(value),
            None => {
                self.0.insert(key.clone(), Values::One(value.clone()));
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K, value: &V) {
        if self.0.get_mut(key).is_some_and(|values| values.remove(value)) {
            self.0.remove(key);
        }
    }

    /// Whether a key has a value.
    pub(crate) fn has(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Values of a key, in order.
    pub(crate) fn values(&self, key: &K) -> impl Iterator<Item = &V> {
        self.0.get(key).into_iter().flat_map(Values::iter)
    }

    /// The last value of a key.
    pub(crate) fn last(&self, key: &K) -> Option<&V> {
        self.0.get(key)?.last()
    }

    /// Keys from `key` on, in order.
    pub(crate) fn keys_from(&self, key: &K) -> impl Iterator<Item = &K> {
        self.0.range(key.clone()..).map(|(key, _)| key)
    }

    /// Keys that have a value, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
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

    /// Counts one use more or less.
    pub(crate) fn set(&mut self, key: &K, present: bool) {
        let _ = if present { self.add(key) } else { self.remove(key) };
    }

    /// Whether a key is in use.
    pub(crate) fn has(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Keys in use from `key` on, in order.
    pub(crate) fn keys_from(&self, key: &K) -> impl Iterator<Item = &K> {
        self.0.range(key.clone()..).map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_an_ordered_set_per_key() {
        let mut index = Index::default();
        for value in [3, 1, 3, 2] {
            index.add(&"a", &value);
        }
        let values = |index: &Index<&str, i32>| index.values(&"a").copied().collect::<Vec<_>>();
        assert_eq!((values(&index), index.last(&"a")), (vec![1, 2, 3], Some(&3)));
        for (gone, left) in [(4, vec![1, 2, 3]), (3, vec![1, 2]), (1, vec![2]), (1, vec![2])] {
            index.remove(&"a", &gone);
            assert_eq!(values(&index), left, "without {gone}");
        }
        assert_eq!(index.last(&"a"), Some(&2));
        index.remove(&"a", &2);
        assert!(!index.has(&"a") && index.keys_from(&"").next().is_none());
    }
}
