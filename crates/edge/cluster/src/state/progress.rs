//! The progress of the feeds.

use std::sync::Arc;

use jiff::Timestamp;
use model::ObjectKey;

use crate::feed::Feed;
use crate::kinds::Kind;
use crate::message::Input;

/// The progress of a feed.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) feed: Feed,
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
        Self { feed, begun: false, initialised: false, forbidden: false, error: None, since: now }
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
        if self.error.is_some() != error.is_some() {
            self.since = now;
        }
        self.error = error;
        self.forbidden = forbidden;
    }

    /// IngressClasses may be out of our reach; every other kind is needed.
    pub(super) fn is_ready(&self) -> bool {
        self.initialised || (self.feed.kind == Kind::IngressClass && self.forbidden)
    }
}

/// `true` if a feed that covers the key may have gone past it already.
pub(super) fn listed(feeds: &[Progress], kind: Kind, key: &ObjectKey) -> bool {
    feeds.iter().any(|progress| progress.feed.kind == kind && progress.begun && progress.feed.scope.covers(key))
}
