//! The Ingresses that were taken over, or changed while they are ours: the objects of the Event "Scheduled for sync".

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::ordmap::DiffItem;
use imbl::ordset::DiffItem as SetItem;
use imbl::{OrdMap, OrdSet};
use model::{Ingress, ObjectKey, ObjectRef, Snapshot};
use tokio::sync::watch;

use super::note::Note;

/// Ingresses whose Event is still to be written. One that changes several times meanwhile gets one Event.
pub(super) struct Scheduled {
    snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    owned: watch::Receiver<OrdSet<ObjectKey>>,
    /// The Ingresses of the last time.
    seen: OrdMap<ObjectKey, Arc<Ingress>>,
    ours: OrdSet<ObjectKey>,
    waiting: BTreeSet<ObjectKey>,
}

impl Scheduled {
    pub(super) fn new(snapshots: watch::Receiver<Option<Arc<Snapshot>>>, owned: watch::Receiver<OrdSet<ObjectKey>>) -> Self {
        Self { snapshots, owned, seen: OrdMap::new(), ours: OrdSet::new(), waiting: BTreeSet::new() }
    }

    /// Waits until something may have changed. `false` when an input is gone.
    pub(super) async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.snapshots.changed() => changed.is_ok(),
            changed = self.owned.changed() => changed.is_ok(),
        }
    }

    /// Compares with last time. Cost: what differs, as the maps share what is equal.
    pub(super) fn look(&mut self) {
        let now = self.snapshots.borrow_and_update().as_ref().map(|snapshot| snapshot.ingresses.clone()).unwrap_or_default();
        let ours = self.owned.borrow_and_update().clone();
        for item in self.seen.diff(&now) {
            match item {
                DiffItem::Update { new: (key, _), .. } if ours.contains(key) => {
                    self.waiting.insert(key.clone());
                }
                _ => {}
            }
        }
        for item in self.ours.diff(&ours) {
            match item {
                SetItem::Add(key) => self.waiting.insert(key.clone()),
                SetItem::Remove(key) => self.waiting.remove(key),
            };
        }
        (self.seen, self.ours) = (now, ours);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<Note> {
        let key = self.waiting.pop_first()?;
        Some(Note::new(ObjectRef::ingress(&key), false, "Sync", "Scheduled for sync".to_owned()))
    }
}
