//! One look at the directory after the other: what is there, what of it is new, whether to believe it yet. Blocks; runs on a thread for that.
//!
//! A directory that was removed and made again looks, for a moment, like one whose files were deleted. So what is missing from a directory that is
//! gone, new or empty is believed only when it has looked the same for a while; until then everything that was read before stays.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fs_watch::{Doubts, Scan, Sight, Signature, Watcher, scan};
use tokio::time::Instant;

use crate::file::Content;
use crate::load::{content, files, names};
use crate::loaded::{Loaded, read};
use crate::source::SourceOptions;

/// The state between two looks.
pub(crate) struct Engine {
    options: SourceOptions,
    /// `None`: polling only.
    watcher: Option<Watcher>,
    last: Option<Arc<Loaded>>,
    /// Files as they were read, but for those whose next change might not show in their attributes.
    read: BTreeMap<Arc<str>, Signature>,
    /// The sight that `last` was read from.
    sight: Sight,
    doubts: Doubts,
    /// The reason why the directory can't be read: reported once.
    failure: Option<String>,
}

/// The result of a look.
pub(crate) struct Turn {
    /// The content, if it was read: it may equal what was there before.
    pub(crate) loaded: Option<Arc<Loaded>>,
    /// Look again after this time even if nothing wakes.
    pub(crate) again: Duration,
}

/// Most looks in a row when the directory changes under the eyes.
const ATTEMPTS: usize = 4;

impl Engine {
    pub(crate) fn new(options: SourceOptions, watcher: Option<Watcher>) -> Self {
        Self { options, watcher, last: None, read: BTreeMap::new(), sight: Sight::default(), doubts: Doubts::default(), failure: None }
    }

    /// Looks. `force`: reads every file, and believes what it sees.
    pub(crate) fn turn(&mut self, force: bool) -> Turn {
        for attempt in 1..ATTEMPTS {
            let turn = self.look(force, attempt);
            if let Some(turn) = turn {
                return turn;
            }
        }
        // Something changes all the time: take what there is, the next event is near.
        self.look(force, ATTEMPTS).unwrap_or(Turn { loaded: None, again: self.options.pacing.bound })
    }

    /// One attempt; `None` when the directory changed meanwhile.
    fn look(&mut self, force: bool, attempt: usize) -> Option<Turn> {
        let found = match scan(&self.options.directory, &names()) {
            Ok(found) => found,
            Err(error) => return Some(self.unavailable(&error.to_string())),
        };
        let armed = self.watcher.as_mut().map(|watcher| watcher.arm(&[(&self.options.directory, Some(&found))]));
        if armed.is_some_and(|armed| armed.added) && attempt < ATTEMPTS {
            return None;
        }
        let again = if armed.is_some_and(|armed| armed.complete) { self.options.pacing.safety } else { self.options.poll_interval };
        if !force && let Some(wait) = self.doubts(&found) {
            return Some(Turn { loaded: None, again: wait.min(again) });
        }

        let (read_now, taken) = self.take(&found, force);
        if !found.is_consistent() && attempt < ATTEMPTS {
            return None;
        }
        self.read = taken;
        self.sight = Sight::of_root(&found);
        self.doubts.clear();
        if self.failure.take().is_some() {
            tracing::info!(directory = %self.options.directory.display(), "the manifest directory is back");
        }
        let loaded = Arc::new(read(read_now, self.last.as_deref()));
        if loaded.is_empty() && self.last.as_ref().is_none_or(|last| !last.is_empty()) {
            let directory = self.options.directory.display();
            tracing::warn!(%directory, "the manifest directory holds no *.yaml, *.yml or *.json: nothing is served until it does");
        }
        self.last = Some(loaded.clone());
        Some(Turn { loaded: Some(loaded), again })
    }

    /// The content of the files that may have changed.
    fn take(&self, found: &Scan, force: bool) -> (Vec<crate::loaded::File>, BTreeMap<Arc<str>, Signature>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        let mut taken = BTreeMap::new();
        let files = files(found, self.last.as_deref(), |path, full, signature| {
            let new = if !force && self.read.get(path) == Some(signature) { Content::Unchanged } else { content(full) };
            if signature.is_old(now) && !matches!(new, Content::Unreadable(_)) {
                taken.insert(path.clone(), *signature);
            }
            new
        });
        (files, taken)
    }

    /// The time to wait while what is seen should not be believed yet.
    fn doubts(&mut self, found: &Scan) -> Option<Duration> {
        self.doubts.wait(&self.options.pacing, &self.sight, found, Instant::now())
    }

    /// The directory can't be read: everything stays.
    fn unavailable(&mut self, reason: &str) -> Turn {
        let armed = self.watcher.as_mut().map(|watcher| watcher.arm(&[(&self.options.directory, None)]));
        // Made just before the watch was set, it would go unseen: look again at once.
        let soon = armed.is_some_and(|armed| armed.added);
        let again = if soon { Duration::from_millis(1) } else { self.options.poll_interval };
        if self.failure.as_deref() != Some(reason) {
            let directory = self.options.directory.display();
            tracing::warn!(%directory, error = reason, "the manifest directory can't be read: what was read before stays");
            self.failure = Some(reason.to_owned());
        }
        let directory: PathBuf = self.options.directory.clone();
        let loaded = self.last.as_ref().map(|last| Arc::new(last.unavailable(&directory.to_string_lossy(), reason)));
        self.last.clone_from(&loaded);
        Turn { loaded, again }
    }
}
