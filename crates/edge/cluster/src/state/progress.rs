//! The progress of the feeds.

use std::sync::Arc;

use jiff::Timestamp;
use model::ObjectKey;

use crate::feed::{Feed, Scope};
use crate::kinds::Kind;
use crate::message::Input;

/// The progress of a feed.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) feed: Feed,
    /// The settings named its object while it ran; such a feed may end again.
    is_later: bool,
    /// It has ended: its object is not named any more.
    pub(super) has_ended: bool,
    /// A snapshot waits for its first list.
    pub(super) is_awaited: bool,
    /// Its first list has begun.
    begun: bool,
    /// Its first list was complete.
    pub(super) initialised: bool,
    pub(super) forbidden: bool,
    pub(super) error: Option<Arc<str>>,
    pub(super) since: Timestamp,
}

impl Progress {
    /// Before anything was read.
    pub(super) fn new(feed: Feed, now: Timestamp) -> Self {
        Self {
            feed,
            is_later: false,
            has_ended: false,
            is_awaited: false,
            begun: false,
            initialised: false,
            forbidden: false,
            error: None,
            since: now,
        }
    }

    /// The same for an object that the settings name.
    pub(super) fn later(feed: Feed, now: Timestamp) -> Self {
        Self { is_later: true, is_awaited: true, ..Self::new(feed, now) }
    }

    /// Takes note of one step.
    pub(super) fn note<K>(&mut self, input: &Input<K>, now: Timestamp) {
        let (error, forbidden) = match input {
            Input::Begin => {
                self.begun = true;
                return;
            }
            Input::Page(_) => return,
            Input::Failed { error, forbidden } => (Some(error.clone()), *forbidden),
            Input::End => {
                self.initialised = true;
                (None, false)
            }
            Input::Apply(_) | Input::Delete(_) | Input::Running => (None, false),
        };
        self.is_awaited = false;
        if self.error.is_some() != error.is_some() {
            self.since = now;
        }
        self.error = error;
        self.forbidden = forbidden;
    }

    /// IngressClasses, and what the settings name, may be out of our reach; everything else is needed.
    pub(super) fn is_ready(&self) -> bool {
        let is_optional = self.feed.kind == Kind::IngressClass || self.is_later;
        self.initialised || self.has_ended || (is_optional && self.forbidden)
    }

    /// `true` if it delivers this object.
    pub(super) fn delivers(&self, kind: Kind, key: &ObjectKey) -> bool {
        self.feed.kind == kind && !self.has_ended && self.feed.scope.covers(key)
    }

    /// `true` if it was started for this object alone, while others ran.
    pub(super) fn is_later_for(&self, kind: Kind, key: &ObjectKey) -> bool {
        self.is_later && self.feed.kind == kind && !self.has_ended && self.feed.scope == Scope::Object(key.clone())
    }
}

/// `true` if a feed that covers the key may have gone past it already.
pub(super) fn listed(feeds: &[Progress], kind: Kind, key: &ObjectKey) -> bool {
    feeds.iter().any(|progress| progress.begun && progress.delivers(kind, key))
}
