//! How quickly statuses are written.

use std::sync::Arc;
use std::time::Duration;

use model::Snapshot;
use tokio::sync::watch;
use tokio::time::Instant;

/// All at once.
const FULL: Rate = Rate { parallel: 10, pause: Duration::ZERO };
/// About a hundred a second, where a write takes some milliseconds.
const SLOW: Rate = Rate { parallel: 1, pause: Duration::from_millis(8) };
/// Time without a change before the rate is full again.
const QUIET: Duration = Duration::from_secs(1);

/// A rate of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    /// Writes at a time.
    pub(super) parallel: usize,
    /// Wait after each.
    pub(super) pause: Duration,
}

/// The rate of writes: slow while what is served changes, since each change comes by the same API server.
#[derive(Debug)]
pub(super) struct Pace {
    snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    changed: Option<Instant>,
}

impl Pace {
    /// The pace beside a source.
    pub(super) fn new(mut snapshots: watch::Receiver<Option<Arc<Snapshot>>>) -> Self {
        snapshots.mark_unchanged();
        Self { snapshots, changed: None }
    }

    /// The rate now.
    pub(super) fn now(&mut self, now: Instant) -> Rate {
        // An error: the source has ended, and nothing changes any more.
        if self.snapshots.has_changed().unwrap_or(false) {
            self.snapshots.mark_unchanged();
            self.changed = Some(now);
        }
        if self.changed.is_some_and(|changed| now < changed + QUIET) { SLOW } else { FULL }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_slows_the_writes_until_none_came_for_a_while() {
        let (snapshots, receiver) = watch::channel(None);
        let mut pace = Pace::new(receiver);
        let start = Instant::now();
        assert_eq!(pace.now(start), FULL);
        snapshots.send_replace(Some(Arc::default()));
        assert_eq!(pace.now(start), SLOW);
        let later = start + QUIET / 2;
        assert_eq!(pace.now(later), SLOW);
        snapshots.send_replace(Some(Arc::default()));
        assert_eq!(pace.now(later), SLOW);
        assert_eq!(pace.now(start + QUIET), SLOW, "the second change was later");
        assert_eq!(pace.now(later + QUIET), FULL);
        drop(snapshots);
        assert_eq!(pace.now(later + QUIET), FULL);
    }
}
