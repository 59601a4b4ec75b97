//! ConfigMaps and Secrets that were changed into something that can't be used: the version before it goes on being used.
//!
//! It is kept as the object, not as what was made of it, and read again under the settings of today, as refused Ingresses are. A controller
//! that restarts has no such version, and what is deleted is gone. Who may pass (users, CAs of clients) is never read of it: a change of
//! that which can't be read closes.

use std::sync::Arc;

use imbl::ordmap::DiffItem;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::key::ObjectKey;
use crate::references::Reference;
use crate::snapshot::{Objects, Snapshot};

/// What a Problem says after the fault.
pub(crate) const INSTEAD: &str = "its last accepted version goes on being used, until the controller restarts";

/// The versions before, of objects whose present one a reader can't use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LastReadable {
    pub(crate) config_maps: Objects<ConfigMap>,
    pub(crate) secrets: Objects<Secret>,
}

impl LastReadable {
    /// Whether everything is used as it is.
    pub fn is_empty(&self) -> bool {
        self.config_maps.is_empty() && self.secrets.is_empty()
    }

    /// Keeps the versions before a change, until the new ones are judged.
    pub(crate) fn follow(&mut self, old: &Snapshot, new: &Snapshot) {
        follow(&mut self.config_maps, &old.config_maps, &new.config_maps, |_| true);
        follow(&mut self.secrets, &old.secrets, &new.secrets, |_| true);
    }

    /// Forgets the unused ones.
    pub(crate) fn retain(&mut self, is_used: impl Fn(&Reference) -> bool) {
        retain(&mut self.config_maps, |key| is_used(&Reference::ConfigMap(key.clone())));
        retain(&mut self.secrets, |key| is_used(&Reference::Secret(key.clone())));
    }
}

/// Reads the present version of an object, or the one before it; then with what is wrong with the present one.
pub(crate) fn read<T, O>(
    key: &ObjectKey,
    present: &O,
    last: &Objects<O>,
    read: impl Fn(&O) -> Result<T, String>,
) -> Result<(T, Option<String>), String> {
    match read(present) {
        Ok(value) => Ok((value, None)),
        Err(fault) => match last.get(key).map(|last| read(last)) {
            Some(Ok(value)) => Ok((value, Some(fault))),
            Some(Err(_)) | None => Err(fault),
        },
    }
}

/// Keeps the versions before a change where they `count`, until the new ones are judged. Returns what was kept of deleted objects.
pub(crate) fn follow<O: PartialEq>(
    last: &mut Objects<O>,
    old: &Objects<O>,
    new: &Objects<O>,
    count: impl Fn(&ObjectKey) -> bool,
) -> Vec<(ObjectKey, Arc<O>)> {
    let mut deleted = Vec::new();
    for item in old.diff(new) {
        match item {
            DiffItem::Update { old: (key, version), .. } if count(key) && !last.contains_key(key) => {
                last.insert(key.clone(), Arc::clone(version));
            }
            DiffItem::Remove(key, _) => deleted.extend(last.remove(key).map(|version| (key.clone(), version))),
            DiffItem::Update { .. } | DiffItem::Add(..) => {}
        }
    }
    deleted
}

fn retain<O>(last: &mut Objects<O>, is_used: impl Fn(&ObjectKey) -> bool) {
    let unused: Vec<ObjectKey> = last.keys().filter(|key| !is_used(key)).cloned().collect();
    for key in unused {
        last.remove(&key);
    }
}
