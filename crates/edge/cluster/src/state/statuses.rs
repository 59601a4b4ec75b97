//! The addresses in the status of Ingresses. Apart from the objects: a status write must change no snapshot.

use std::sync::Arc;

use imbl::OrdMap;
use kube::Resource;
use model::{Ingress, ObjectKey};

use crate::address::Address;
use crate::decode::Fetched;
use crate::kinds::{Key, Slim};
use crate::message::Input;

/// The addresses that the status of each Ingress holds now, sorted; empty when it holds none. Apart from the snapshot, which a status write must not change.
pub type Statuses = OrdMap<ObjectKey, Arc<[Address]>>;

/// The statuses that were seen.
#[derive(Debug, Default)]
pub(super) struct StatusStore {
    statuses: Statuses,
    listed: Statuses,
    /// The addresses that were seen last: nearly always those of the next Ingress too.
    last: Arc<[Address]>,
    changed: bool,
}

impl StatusStore {
    /// Takes one step of the feed of Ingresses.
    pub(super) fn input(&mut self, input: &Input<Ingress>) {
        match input {
            Input::Begin => self.listed = OrdMap::new(),
            Input::Page(objects) => {
                for object in objects {
                    if let Some((key, addresses)) = self.of(object) {
                        self.listed.insert(key, addresses);
                    }
                }
            }
            Input::End => {
                let listed = std::mem::take(&mut self.listed);
                self.changed |= self.statuses != listed;
                self.statuses = listed;
            }
            Input::Apply(object) => {
                if let Some((key, addresses)) = self.of(object) {
                    let old = self.statuses.insert(key, addresses.clone());
                    self.changed |= old != Some(addresses);
                }
            }
            Input::Delete(object) => {
                let removed = ObjectKey::of(object.meta()).and_then(|key| self.statuses.remove(&key));
                self.changed |= removed.is_some();
            }
            Input::Failed { .. } | Input::Running => {}
        }
    }

    /// All of them, when they changed since the last call.
    pub(super) fn take(&mut self) -> Option<Statuses> {
        std::mem::take(&mut self.changed).then(|| self.statuses.clone())
    }

    fn of(&mut self, object: &Fetched<Ingress>) -> Option<(ObjectKey, Arc<[Address]>)> {
        let Fetched::Good(Slim { meta, addresses, .. }) = object else { return None };
        let mut addresses = addresses.clone();
        addresses.sort();
        if *self.last != *addresses {
            self.last = addresses.into();
        }
        Some((ObjectKey::of(meta)?, self.last.clone()))
    }
}
