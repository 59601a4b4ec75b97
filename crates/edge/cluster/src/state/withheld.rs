//! Objects that newly refer to what is still being fetched: until the server has answered, snapshots have the version before, so that for the
//! time of a fetch no host is closed, no port is, and none loses its certificate.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use model::{Ingress, ObjectKey, Service, references};

use crate::kinds::Watched;

/// Objects of a kind that wait at a time: each costs every snapshot a little. Those beyond are published at once.
const MOST: usize = 1000;
/// Of one namespace.
const MOST_OF_NAMESPACE: usize = 100;

/// What versions of objects refer to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) secrets: Vec<ObjectKey>,
    pub(super) config_maps: Vec<ObjectKey>,
}

impl Named {
    fn append(&mut self, mut other: Self) {
        self.secrets.append(&mut other.secrets);
        self.config_maps.append(&mut other.config_maps);
    }
}

/// An object that refers to others.
pub(super) trait Refers: Watched<Key = ObjectKey> {
    /// A first version waits as well; else it is published without what it refers to.
    const FIRST_WAITS: bool;

    /// What it refers to.
    fn named(&self, key: &ObjectKey) -> Named;
}

impl Refers for Ingress {
    /// Its hosts would be open without their access control.
    const FIRST_WAITS: bool = true;

    fn named(&self, key: &ObjectKey) -> Named {
        Named { secrets: references::secrets_of(key, self), config_maps: references::config_maps_of(key, self) }
    }
}

impl Refers for Service {
    /// Ingresses lead to it, whatever its port of TCP waits for.
    const FIRST_WAITS: bool = false;

    fn named(&self, key: &ObjectKey) -> Named {
        Named { secrets: references::secrets_of_service(key, self), config_maps: Vec::new() }
    }
}

/// The objects of the last snapshot, and those whose newest version it may not have.
#[derive(Debug)]
pub(super) struct Withheld<T> {
    published: OrdMap<ObjectKey, Arc<T>>,
    /// With what the versions before refer to: it is held as long as they are used.
    kept: BTreeMap<ObjectKey, Named>,
}

impl<T> Default for Withheld<T> {
    fn default() -> Self {
        Self { published: OrdMap::new(), kept: BTreeMap::new() }
    }
}

impl<T: Refers> Withheld<T> {
    /// A version that refers to something new takes the place of one that refers to this. Gives it back where too many wait already.
    pub(super) fn keep(&mut self, key: &ObjectKey, before: Named) -> Result<(), Named> {
        if !self.kept.contains_key(key) {
            let first = ObjectKey::new(key.namespace.clone(), "");
            let of_namespace = self.kept.range(first..).take_while(|(other, _)| other.namespace == key.namespace);
            if self.kept.len() >= MOST || of_namespace.count() >= MOST_OF_NAMESPACE {
                return Err(before);
            }
        }
        self.kept.entry(key.clone()).or_default().append(before);
        Ok(())
    }

    /// `true` if the next snapshot may not have the newest version of some object.
    pub(super) fn any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// The objects of the next snapshot, and what need not be held for former versions any more.
    pub(super) fn next(
        &mut self,
        newest: &OrdMap<ObjectKey, Arc<T>>,
        is_awaited: impl Fn(&Named) -> bool,
    ) -> (OrdMap<ObjectKey, Arc<T>>, Vec<Named>) {
        let mut next = newest.clone();
        let mut dropped = Vec::new();
        for (key, named) in std::mem::take(&mut self.kept) {
            if !newest.get(&key).is_some_and(|object| is_awaited(&object.named(&key))) {
                dropped.push(named);
                continue;
            }
            match self.published.get(&key) {
                Some(before) => next.insert(key.clone(), before.clone()),
                None if T::FIRST_WAITS => next.remove(&key),
                None => None,
            };
            self.kept.insert(key, named);
        }
        self.published.clone_from(&next);
        (next, dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_namespace_and_of_all_so_many_wait() {
        let mut withheld = Withheld::<Ingress>::default();
        let mut waiting = |namespace: usize, count: usize| {
            let keys = (0..count).map(|number| ObjectKey::new(format!("n{namespace}"), format!("i{number}")));
            keys.filter(|key| withheld.keep(key, Named::default()).is_ok()).count()
        };
        assert_eq!(waiting(0, 1000), MOST_OF_NAMESPACE);
        assert_eq!(waiting(0, 50), 50, "those that wait already");
        assert_eq!((1..20).map(|namespace| waiting(namespace, 1000)).sum::<usize>(), MOST - MOST_OF_NAMESPACE);
    }
}
