//! Objects that are held only while something refers to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Resource;
use model::ObjectKey;

use crate::decode::Fetched;
use crate::feed::Scope;
use crate::fetch::{FetchOutcome, Ticket};
use crate::kinds::Watched;
use crate::message::Input;
use crate::references::References;
use crate::store::{Changes, Store};

/// A store, the objects that are wanted in it, and those that are being fetched.
#[derive(Debug)]
pub(crate) struct Held<K: Watched<Key = ObjectKey>> {
    store: Store<K>,
    references: References,
    pending: BTreeMap<ObjectKey, Pending>,
    tickets: u64,
}

#[derive(Debug)]
struct Pending {
    /// Number of the newest request; the answers of older ones are void.
    ticket: u64,
    /// Snapshots wait for it: the server has said nothing yet, and it did not take too long.
    awaited: bool,
    /// Ingresses that refer to it wait for it: likewise, and it did not take far too long.
    withholds: bool,
}

impl<K: Watched<Key = ObjectKey>> Held<K> {
    /// An empty store that wants what the settings refer to.
    pub(super) fn new(always: Vec<ObjectKey>) -> Self {
        let mut references = References::default();
        references.replace(Vec::new(), always);
        Self { store: Store::default(), references, pending: BTreeMap::new(), tickets: 0 }
    }

    pub(super) fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Takes one step of a feed.
    pub(super) fn input(&mut self, feed: usize, input: Input<K>, scope: &Scope) -> Changes<K> {
        if let Input::Apply(object) | Input::Delete(object) = &input
            && let Some(key) = key_of(object)
        {
            // The watch knows better than an answer that is still on its way.
            self.pending.remove(&key);
        }
        let references = &self.references;
        self.store.input(feed, input, |key| references.contains(key), |key| scope.covers(key))
    }

    /// Changes one object's references: drops what lost its last one (that is in the changes), and adds tickets for what must be fetched:
    /// newly referred to, not held, and `listed`, so that no list will have it.
    pub(super) fn refer(
        &mut self,
        (old, new): (Vec<ObjectKey>, Vec<ObjectKey>),
        listed: impl Fn(&ObjectKey) -> bool,
        tickets: &mut Vec<Ticket>,
    ) -> Changes<K> {
        let (gained, lost) = self.references.replace(old, new);
        let mut changes = Changes::none();
        for key in lost {
            self.pending.remove(&key);
            changes.append(self.store.remove(&key));
        }
        for key in gained.into_iter().filter(listed) {
            self.tickets += 1;
            self.pending.insert(key.clone(), Pending { ticket: self.tickets, awaited: true, withholds: true });
            tickets.push(Ticket { key, number: self.tickets });
        }
        changes
    }

    /// `true` if the answer to this ticket is still of interest.
    pub(super) fn awaits(&self, ticket: &Ticket) -> bool {
        self.pending.get(&ticket.key).is_some_and(|pending| pending.ticket == ticket.number)
    }

    /// Takes the result of a fetch, unless something newer came first.
    pub(super) fn answer(&mut self, ticket: &Ticket, outcome: FetchOutcome<K>) -> Changes<K> {
        let Some(pending) = self.pending.get_mut(&ticket.key).filter(|pending| pending.ticket == ticket.number) else {
            return Changes::none();
        };
        match outcome {
            FetchOutcome::Refused => {
                pending.awaited = false;
                pending.withholds = false;
                Changes::none()
            }
            FetchOutcome::Absent => {
                self.pending.remove(&ticket.key);
                self.store.remove(&ticket.key)
            }
            FetchOutcome::Present(object) => {
                self.pending.remove(&ticket.key);
                self.store.insert_fresh(&ticket.key, object)
            }
        }
    }

    /// Snapshots wait no longer for what is being fetched now.
    pub(super) fn wait_no_longer(&mut self) {
        for pending in self.pending.values_mut() {
            pending.awaited = false;
        }
    }

    /// Nor do Ingresses.
    pub(super) fn withhold_no_longer(&mut self) {
        for pending in self.pending.values_mut() {
            pending.withholds = false;
        }
    }

    /// `true` if Ingresses that refer to it wait for it.
    pub(super) fn withholds(&self, key: &ObjectKey) -> bool {
        self.pending.get(key).is_some_and(|pending| pending.withholds)
    }

    /// `true` if something is being fetched that a snapshot waits for.
    pub(super) fn is_waiting(&self) -> bool {
        self.pending.values().any(|pending| pending.awaited)
    }

    /// The number of objects that are being fetched.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len()
    }
}

fn key_of<K: Watched>(object: &Fetched<K>) -> Option<ObjectKey> {
    let meta = object.meta();
    Some(ObjectKey::new(Arc::from(meta.namespace.as_deref()?), meta.name.as_deref()?))
}
