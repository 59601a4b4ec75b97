//! The objects of one kind, and how lists and watch events change them. Pure.
//!
//! A list never empties the store: its objects are compared with those held while it is read, only differences are kept aside, and they are applied at its end.
//! So a second list of ten thousand objects costs keys, not objects, and what did not change keeps its `Arc`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;
use kube::Resource;

use crate::decode::Fetched;
use crate::kinds::{Key, Slim, Watched};
use crate::message::Input;

/// The old and the new state of one object.
#[derive(Debug)]
pub(crate) struct Change<K: Watched> {
    /// The object.
    pub(crate) key: K::Key,
    /// Before; `None` when it is new.
    pub(crate) old: Option<Arc<K>>,
    /// Now; `None` when it is gone.
    pub(crate) new: Option<Arc<K>>,
}

/// The objects of one kind.
#[derive(Debug)]
pub(crate) struct Store<K: Watched> {
    objects: OrdMap<K::Key, Arc<K>>,
    /// Objects that can't be decoded now, with the reason. Their last good version may be in `objects`.
    broken: BTreeMap<K::Key, String>,
    /// The lists that are being read, by feed.
    lists: BTreeMap<usize, Listing<K>>,
}

#[derive(Debug)]
struct Listing<K: Watched> {
    seen: BTreeMap<K::Key, Listed<K>>,
    /// Fetched one by one since the list began, and so newer than it.
    fresh: BTreeSet<K::Key>,
}

#[derive(Debug)]
enum Listed<K> {
    Same,
    Different(Arc<K>),
    Broken(String),
    Unwanted,
}

impl<K: Watched> Default for Store<K> {
    fn default() -> Self {
        Self { objects: OrdMap::new(), broken: BTreeMap::new(), lists: BTreeMap::new() }
    }
}

impl<K: Watched> Store<K> {
    /// The objects. Cloning is constant time.
    pub(crate) fn objects(&self) -> &OrdMap<K::Key, Arc<K>> {
        &self.objects
    }

    /// Objects that can't be decoded, with the reason.
    pub(crate) fn broken(&self) -> impl Iterator<Item = (&K::Key, &str)> {
        self.broken.iter().map(|(key, error)| (key, error.as_str()))
    }

    /// Takes one step of a feed. `wanted` says whether an object is to be held; `covers`, whether it is this feed that delivers it.
    pub(crate) fn input(
        &mut self,
        feed: usize,
        input: Input<K>,
        wanted: impl Fn(&K::Key) -> bool,
        covers: impl Fn(&K::Key) -> bool,
    ) -> Changes<K> {
        match input {
            Input::Begin => {
                self.lists.insert(feed, Listing { seen: BTreeMap::new(), fresh: BTreeSet::new() });
                Changes::none()
            }
            Input::Page(objects) => {
                self.page(feed, objects, wanted);
                Changes::none()
            }
            Input::End => self.finish(feed, wanted, covers),
            Input::Apply(object) => self.apply(object, wanted),
            Input::Delete(object) => Key::of(object.meta()).map_or_else(Changes::none, |key| self.remove(&key)),
            Input::Failed { .. } | Input::Running => Changes::none(),
        }
    }

    /// Puts in an object that was fetched apart from the feeds.
    pub(crate) fn insert_fresh(&mut self, key: &K::Key, object: Fetched<K>) -> Changes<K> {
        for list in self.lists.values_mut() {
            list.fresh.insert(key.clone());
        }
        self.apply(object, |_| true)
    }

    /// Takes one out: deleted, or not wanted any more.
    pub(crate) fn remove(&mut self, key: &K::Key) -> Changes<K> {
        let broken = self.broken.remove(key).is_some();
        let old = self.objects.remove(key);
        let changes = old.map(|old| Change { key: key.clone(), old: Some(old), new: None });
        Changes { objects: changes.into_iter().collect(), broken }
    }

    fn page(&mut self, feed: usize, objects: Vec<Fetched<K>>, wanted: impl Fn(&K::Key) -> bool) {
        let Some(list) = self.lists.get_mut(&feed) else { return };
        for object in objects {
            let Some(key) = K::Key::of(object.meta()) else { continue };
            let listed = match object {
                _ if !wanted(&key) => Listed::Unwanted,
                Fetched::Broken { error, .. } => Listed::Broken(error),
                Fetched::Good(Slim { object, .. }) => match self.objects.get(&key) {
                    Some(old) if **old == *object => Listed::Same,
                    _ => Listed::Different(object),
                },
            };
            list.seen.insert(key, listed);
        }
    }

    fn finish(&mut self, feed: usize, wanted: impl Fn(&K::Key) -> bool, covers: impl Fn(&K::Key) -> bool) -> Changes<K> {
        let Some(list) = self.lists.remove(&feed) else { return Changes::none() };
        let mut changes = Changes::none();
        let listed = |key: &K::Key| list.seen.contains_key(key) || list.fresh.contains(key);
        let gone: Vec<K::Key> = self.objects.keys().chain(self.broken.keys()).filter(|key| covers(key) && !listed(key)).cloned().collect();
        for key in gone {
            changes.append(self.remove(&key));
        }
        let fresh = list.fresh;
        for (key, listed) in list.seen {
            if fresh.contains(&key) || !wanted(&key) {
                continue;
            }
            match listed {
                Listed::Unwanted => {}
                Listed::Same => changes.broken |= self.broken.remove(&key).is_some(),
                Listed::Different(object) => changes.append(self.put(key, object)),
                Listed::Broken(error) => changes.broken |= self.mark_broken(key, error),
            }
        }
        changes
    }

    fn apply(&mut self, object: Fetched<K>, wanted: impl Fn(&K::Key) -> bool) -> Changes<K> {
        let Some(key) = K::Key::of(object.meta()).filter(wanted) else { return Changes::none() };
        match object {
            Fetched::Good(Slim { object, .. }) => match self.objects.get(&key) {
                Some(old) if **old == *object => Changes { objects: Vec::new(), broken: self.broken.remove(&key).is_some() },
                _ => self.put(key, object),
            },
            Fetched::Broken { error, .. } => Changes { objects: Vec::new(), broken: self.mark_broken(key, error) },
        }
    }

    fn put(&mut self, key: K::Key, object: Arc<K>) -> Changes<K> {
        let broken = self.broken.remove(&key).is_some();
        let old = self.objects.insert(key.clone(), object.clone());
        Changes { objects: vec![Change { key, old, new: Some(object) }], broken }
    }

    fn mark_broken(&mut self, key: K::Key, error: String) -> bool {
        let old = self.broken.insert(key.clone(), error);
        old.as_ref() != self.broken.get(&key)
    }
}

/// The changes of a step.
#[derive(Debug)]
pub(crate) struct Changes<K: Watched> {
    /// The objects that differ now, in the order of their keys for a list.
    pub(crate) objects: Vec<Change<K>>,
    /// `true` if the set of undecodable objects differs.
    pub(crate) broken: bool,
}

impl<K: Watched> Changes<K> {
    /// No change.
    pub(crate) fn none() -> Self {
        Self { objects: Vec::new(), broken: false }
    }

    /// Both, in this order.
    pub(crate) fn append(&mut self, other: Self) {
        self.objects.extend(other.objects);
        self.broken |= other.broken;
    }

    /// `true` if a snapshot would differ.
    pub(crate) fn any(&self) -> bool {
        self.broken || !self.objects.is_empty()
    }
}

#[cfg(test)]
mod tests;
