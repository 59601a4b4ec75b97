//! What each owner claims, and who claims each item: both ways in one place, so that neither outlives the other.

use std::sync::Arc;

use imbl::OrdMap;

use super::index::{Counted, Index};
use super::state::set;

/// The way back from an item to those who claim it, as far as it is asked for.
pub(crate) trait Claimants<O, I>: Default {
    /// Adds or removes an owner.
    fn set(&mut self, item: &I, owner: &O, present: bool);
}

/// The owners themselves.
impl<O: Ord + Clone, I: Ord + Clone> Claimants<O, I> for Index<I, O> {
    fn set(&mut self, item: &I, owner: &O, present: bool) {
        Self::set(self, item, owner, present);
    }
}

/// What each item says of its owner itself.
impl<O, K: Ord + Clone, V: Ord + Clone> Claimants<O, (K, V)> for Index<K, V> {
    fn set(&mut self, (key, value): &(K, V), _: &O, present: bool) {
        Self::set(self, key, value, present);
    }
}

/// Their number.
impl<O, I: Ord + Clone> Claimants<O, I> for Counted<I> {
    fn set(&mut self, item: &I, _: &O, present: bool) {
        Self::set(self, item, present);
    }
}

/// Claims of pairs that say of their owners themselves: the way back is from the first of a pair to the second.
pub(crate) type PairClaims<O, K, V> = Claims<O, (K, V), Index<K, V>>;

/// Items by owner, ordered and without duplicates, and the way back. An owner without items is absent.
#[derive(Debug, Clone)]
pub(crate) struct Claims<O: Ord + Clone, I, C = Index<I, O>> {
    items: OrdMap<O, Arc<[I]>>,
    pub(crate) claimants: C,
}

impl<O: Ord + Clone, I, C: Default> Default for Claims<O, I, C> {
    fn default() -> Self {
        Self { items: OrdMap::new(), claimants: C::default() }
    }
}

impl<O: Ord + Clone, I: Ord + Clone, C: Claimants<O, I>> Claims<O, I, C> {
    /// Replaces what an owner claims. Returns what it did not claim before, and what it claims no longer.
    pub(crate) fn replace(&mut self, owner: &O, mut items: Vec<I>) -> (Vec<I>, Vec<I>) {
        items.sort_unstable();
        items.dedup();
        let before = self.items.get(owner).cloned().unwrap_or_default();
        let (gained, lost) = (without(&items, &before), without(&before, &items));
        gained.iter().for_each(|item| self.claimants.set(item, owner, true));
        lost.iter().for_each(|item| self.claimants.set(item, owner, false));
        if !gained.is_empty() || !lost.is_empty() {
            set(&mut self.items, owner, (!items.is_empty()).then(|| items.into()));
        }
        (gained, lost)
    }

    /// What an owner claims, in order.
    pub(crate) fn items(&self, owner: &O) -> &[I] {
        self.items.get(owner).map(|items| &**items).unwrap_or_default()
    }

    /// Whether an owner claims anything.
    pub(crate) fn has_owner(&self, owner: &O) -> bool {
        self.items.contains_key(owner)
    }
}

impl<O: Ord + Clone, I: Ord + Clone> Claims<O, I, Counted<I>> {
    /// Replaces what an owner claims, and keeps in a map what anybody claims.
    pub(crate) fn replace_in<V: Clone>(&mut self, map: &mut OrdMap<I, V>, owner: &O, values: Vec<(I, V)>) {
        let (gained, lost) = self.replace(owner, values.iter().map(|(item, _)| item.clone()).collect());
        for (item, value) in values.into_iter().filter(|(item, _)| gained.binary_search(item).is_ok()) {
            map.entry(item).or_insert(value);
        }
        for item in lost.iter().filter(|item| !self.claimants.has(item)) {
            map.remove(item);
        }
    }
}

/// The items that are not among others; both in order.
fn without<I: Ord + Clone>(items: &[I], others: &[I]) -> Vec<I> {
    items.iter().filter(|item| others.binary_search(item).is_err()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_say_the_same() {
        let mut claims: Claims<&str, i32> = Claims::default();
        assert_eq!(claims.replace(&"a", vec![2, 1, 2]), (vec![1, 2], vec![]));
        assert_eq!(claims.replace(&"b", vec![2, 3]), (vec![2, 3], vec![]));
        assert_eq!(claims.replace(&"a", vec![2, 4]), (vec![4], vec![1]));
        let claimants = |claims: &Claims<&'static str, i32>, item| claims.claimants.values(&item).copied().collect::<Vec<_>>();
        assert_eq!((claims.items(&"a"), claimants(&claims, 1), claimants(&claims, 2)), (&[2, 4][..], vec![], vec!["a", "b"]));
        assert_eq!(claims.replace(&"a", vec![]), (vec![], vec![2, 4]));
        assert!(!claims.has_owner(&"a") && claimants(&claims, 2) == ["b"]);
    }

    #[test]
    fn a_map_has_what_anybody_claims() {
        let (mut claims, mut map): (Claims<&str, i32, Counted<i32>>, OrdMap<i32, char>) = Default::default();
        claims.replace_in(&mut map, &"a", vec![(1, 'x'), (1, 'x'), (2, 'y')]);
        claims.replace_in(&mut map, &"b", vec![(1, 'x')]);
        claims.replace_in(&mut map, &"a", vec![]);
        assert_eq!(map, OrdMap::unit(1, 'x'));
        claims.replace_in(&mut map, &"b", vec![]);
        assert!(map.is_empty());
    }
}
