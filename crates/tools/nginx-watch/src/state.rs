//! The state between two runs: what NGINX runs, and what failed when.

use std::time::Duration;

use ngx_proc::procfs::Identity;
use tokio::time::Instant;

use crate::report::ReloadOutcome;
use crate::snapshot::Revision;

/// Waits before a failed run is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first; each further one is twice as long.
    pub first: Duration,
    /// The longest.
    pub longest: Duration,
}

/// Backoff after a refusal, which may end by itself: a name that does not resolve yet.
pub(crate) const REFUSED: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(300) };
/// An NGINX that is not there yet, or files.
pub(crate) const ABSENT: Backoff = Backoff { first: Duration::from_millis(250), longest: Duration::from_secs(5) };

impl Backoff {
    /// The wait after this many failures in a row, at least one.
    pub fn wait(self, failures: u32) -> Duration {
        self.first.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX)).min(self.longest)
    }
}

/// The memory of the cycle.
#[derive(Debug, Default)]
pub(crate) struct CycleState {
    /// The master and the revision that it runs, as far as is known.
    running: Option<(Identity, Revision)>,
    failed: Option<Failed>,
}

/// A failure that is not over.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) outcome: ReloadOutcome,
    pub(crate) revision: Option<Revision>,
    pub(crate) message: String,
    failures: u32,
    retry_at: Instant,
}

/// The knowledge about a master and the present files, before anything is done.
#[derive(Debug)]
pub(crate) enum Known {
    /// The master runs just that.
    Runs,
    /// Just that failed, and it is not yet time to try again.
    Failed(Failed),
    /// Another master than before, or the first: what it runs is not known.
    Stranger,
    /// The master runs something else.
    Other,
}

impl CycleState {
    pub(crate) fn known(&self, master: Identity, revision: &Revision, now: Instant) -> Known {
        match &self.running {
            Some((running, known)) if *running == master && known == revision => return Known::Runs,
            _ => {}
        }
        match &self.failed {
            Some(failed) if failed.revision.as_ref() == Some(revision) && now < failed.retry_at => Known::Failed(failed.clone()),
            _ if self.running.as_ref().is_some_and(|(running, _)| *running == master) => Known::Other,
            _ => Known::Stranger,
        }
    }

    pub(crate) fn serving(&self) -> Option<&Revision> {
        self.running.as_ref().map(|(_, revision)| revision)
    }

    pub(crate) fn succeeded(&mut self, master: Identity, revision: Revision) {
        self.running = Some((master, revision));
        self.failed = None;
    }

    /// The present files are what runs: whatever failed meanwhile is gone.
    pub(crate) fn settled(&mut self) {
        self.failed = None;
    }

    /// Notes a failure: whether it is news, and how long to wait for the next attempt.
    pub(crate) fn failed(&mut self, outcome: ReloadOutcome, revision: Option<Revision>, message: &str, now: Instant) -> (bool, Duration) {
        let same = self.failed.as_ref().filter(|failed| failed.outcome == outcome && failed.revision == revision);
        let is_new = same.is_none_or(|failed| failed.message != message);
        let failures = same.map_or(0, |failed| failed.failures) + 1;
        let backoff = match outcome {
            ReloadOutcome::NoTarget | ReloadOutcome::NotRead | ReloadOutcome::Unreadable => ABSENT,
            _ => REFUSED,
        };
        let wait = backoff.wait(failures);
        self.failed = Some(Failed { outcome, revision, message: message.to_owned(), failures, retry_at: now + wait });
        (is_new, wait)
    }

    /// Time until the next attempt, if one is due.
    pub(crate) fn retry_in(&self, now: Instant) -> Option<Duration> {
        self.failed.as_ref().map(|failed| failed.retry_at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{File, Tree};

    fn revision(text: &str) -> Revision {
        let file = File { bytes: Some(text.as_bytes().into()), mode: 0o644, owner: (0, 0) };
        Revision::of(&[Tree { root: "/".into(), is_file: false, files: [("a".into(), file)].into() }])
    }

    #[test]
    fn what_failed_is_tried_again_less_and_less_often_and_other_content_at_once() {
        let (start, master) = (Instant::now(), Identity { pid: 7, start: 1 });
        let (good, bad) = (revision("good"), revision("bad"));
        let mut state = CycleState::default();
        assert!(matches!(state.known(master, &good, start), Known::Stranger));
        state.succeeded(master, good.clone());
        assert!(matches!(state.known(master, &good, start), Known::Runs));
        assert!(matches!(state.known(master, &bad, start), Known::Other));
        assert!(matches!(state.known(Identity { pid: 7, start: 2 }, &good, start), Known::Stranger));

        assert_eq!(state.failed(ReloadOutcome::Rejected, Some(bad.clone()), "x", start), (true, Duration::from_secs(1)));
        assert!(matches!(state.known(master, &bad, start), Known::Failed(_)));
        assert!(matches!(state.known(master, &good, start), Known::Runs));
        let later = start + Duration::from_secs(1);
        assert!(matches!(state.known(master, &bad, later), Known::Other));
        assert_eq!(state.failed(ReloadOutcome::Rejected, Some(bad.clone()), "x", later), (false, Duration::from_secs(2)));
        assert_eq!(state.retry_in(later), Some(Duration::from_secs(2)));
        assert_eq!(state.failed(ReloadOutcome::Rejected, Some(bad), "y", later), (true, Duration::from_secs(4)));
        assert_eq!(state.serving(), Some(&good));
        state.settled();
        assert_eq!(state.retry_in(later), None);
    }

    #[test]
    fn waits_grow_to_a_limit() {
        assert_eq!([1, 2, 3, 40].map(|failures| REFUSED.wait(failures).as_secs()), [1, 2, 4, 300]);
        assert_eq!(ABSENT.wait(100), Duration::from_secs(5));
    }
}
