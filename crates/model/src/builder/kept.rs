//! Ingresses that were changed into something that is refused: their last accepted version stays active.
//!
//! It is kept as the object, not as what was made of it, and read again under the settings of today: a version that these no longer allow
//! does not outlive them. A controller that starts anew has no such version.

use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::key::ObjectKey;
use crate::object::Ingress;
use crate::snapshot::Objects;

/// The versions, by Ingress.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept(OrdMap<ObjectKey, Arc<Ingress>>);

impl Kept {
    /// Keeps the version before a change, if it was `accepted`, until the new one is judged. Returns what was kept of deleted Ingresses.
    pub(super) fn follow(
        &mut self,
        old: &Objects<Ingress>,
        new: &Objects<Ingress>,
        accepted: impl Fn(&ObjectKey) -> bool,
    ) -> Vec<(ObjectKey, Arc<Ingress>)> {
        let mut deleted = Vec::new();
        for item in old.diff(new) {
            match item {
                DiffItem::Update { old: (key, version), .. } if accepted(key) && !self.0.contains_key(key) => {
                    self.0.insert(key.clone(), version.clone());
                }
                DiffItem::Remove(key, _) => deleted.extend(self.forget(key).map(|kept| (key.clone(), kept))),
                DiffItem::Update { .. } | DiffItem::Add(..) => {}
            }
        }
        deleted
    }

    /// The last accepted version of an Ingress whose present one is refused, or not judged yet.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Arc<Ingress>> {
        self.0.get(key)
    }

    /// What is served is the kept version, with the protection of the present one.
    pub(super) fn replace(&mut self, key: &ObjectKey, version: Arc<Ingress>) {
        self.0.insert(key.clone(), version);
    }

    /// The present version is accepted, or the kept one is refused as well.
    pub(super) fn forget(&mut self, key: &ObjectKey) -> Option<Arc<Ingress>> {
        self.0.remove(key)
    }

    /// All of them.
    pub(super) fn objects(&self) -> &Objects<Ingress> {
        &self.0
    }
}
