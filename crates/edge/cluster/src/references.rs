//! The number of references to each Secret or ConfigMap.

use std::collections::BTreeMap;

use model::ObjectKey;

/// A count per key; keys that nothing refers to are absent.
#[derive(Debug, Default)]
pub(crate) struct References {
    counts: BTreeMap<ObjectKey, usize>,
}

impl References {
    /// `true` if something refers to it.
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.counts.contains_key(key)
    }

    /// Replaces one object's references. Returns the keys that got their first reference, and those that lost their last.
    pub(crate) fn replace(&mut self, old: Vec<ObjectKey>, new: Vec<ObjectKey>) -> (Vec<ObjectKey>, Vec<ObjectKey>) {
        // Added before removed: a key that stays is in neither list.
        let mut gained = Vec::new();
        for key in new {
            let count = self.counts.entry(key.clone()).or_insert(0);
            *count += 1;
            if *count == 1 {
                gained.push(key);
            }
        }
        let mut lost = Vec::new();
        for key in old {
            if let Some(count) = self.counts.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&key);
                    lost.push(key);
                }
            }
        }
        (gained, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &[&str]) -> Vec<ObjectKey> {
        names.iter().map(|name| ObjectKey::new("n", *name)).collect()
    }

    #[test]
    fn first_and_last_references_are_reported() {
        let mut references = References::default();
        assert_eq!(references.replace(vec![], keys(&["a", "a", "b"])), (keys(&["a", "b"]), vec![]));
        assert_eq!(references.replace(vec![], keys(&["a"])), (vec![], vec![]));
        assert_eq!(references.replace(keys(&["a", "a", "b"]), keys(&["b", "c"])), (keys(&["c"]), vec![]));
        assert_eq!(references.replace(keys(&["a"]), vec![]), (vec![], keys(&["a"])));
        assert!(!references.contains(&keys(&["a"])[0]) && references.contains(&keys(&["c"])[0]));
    }
}
