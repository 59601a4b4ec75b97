//! Workers that their master does not replace.
//!
//! A worker that can't begin, for want of memory or descriptors, ends with status 2, and its master starts no other ("cannot be respawned"); one that
//! can't be forked is not tried again either. Fewer are left then, or none at all, until a reload.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::process::Observer;
use crate::procfs::Identity;

/// More than a master takes to replace a worker that ended.
const PATIENCE: Duration = Duration::from_secs(2);
/// The patience where some are left, and reloads don't help.
const LAST_PATIENCE: Duration = Duration::from_secs(256);
const POLL: Duration = Duration::from_millis(250);

/// Number of workers that accept connections, and the time since when some are missing. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Headcount(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
struct Count {
    /// The most that were seen at once since the last reload.
    most: usize,
    missing: Option<Instant>,
    patience: Option<Duration>,
}

impl Headcount {
    /// After a reload there may be another number of workers.
    pub(crate) fn reset(&self) {
        let mut count = self.0.lock();
        (count.most, count.missing) = (0, None);
    }

    /// Resolves when the master is without workers that it should have had for a while.
    pub(crate) async fn missing(self, observer: Observer, master: Identity) {
        loop {
            let now = observer.accepting(master).await;
            if self.0.lock().lacks(now, Instant::now()) {
                return;
            }
            sleep(POLL).await;
        }
    }
}

impl Count {
    fn lacks(&mut self, workers: Option<usize>, now: Instant) -> bool {
        let Some(workers) = workers else {
            self.missing = None;
            return false;
        };
        self.most = self.most.max(workers).max(1);
        if workers == self.most {
            self.missing = None;
            return false;
        }
        // Without any worker every second counts.
        let patience = if workers == 0 { PATIENCE } else { self.patience.unwrap_or(PATIENCE) };
        let lacks = *self.missing.get_or_insert(now) + patience <= now;
        if lacks {
            (self.missing, self.patience) = (None, Some((patience * 2).min(LAST_PATIENCE)));
        }
        lacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_worker_counts_after_a_while_and_more_rarely_if_reloads_do_not_help() {
        let (mut count, start) = (Count::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!count.lacks(Some(2), at(0)));
        assert!(!count.lacks(Some(1), at(1)), "it is about to be replaced");
        assert!(!count.lacks(Some(2), at(2)));
        assert!(!count.lacks(Some(1), at(3)) && count.lacks(Some(1), at(5)));
        assert!(!count.lacks(Some(1), at(6)) && !count.lacks(Some(1), at(9)) && count.lacks(Some(1), at(10)));
        assert!(!count.lacks(Some(0), at(11)) && count.lacks(Some(0), at(13)), "none is left");
    }

    #[test]
    fn a_master_that_never_had_a_worker_lacks_one_and_what_cannot_be_seen_is_no_loss() {
        let (mut count, start) = (Count::default(), Instant::now());
        assert!(!count.lacks(Some(0), start) && !count.lacks(None, start + PATIENCE));
        assert!(!count.lacks(Some(0), start + PATIENCE) && count.lacks(Some(0), start + PATIENCE * 2));
    }
}
