//! When the snapshots came in that builds were made of, for the time that a change takes to its effect.
//!
//! A lane sees the newest build only. What it applies may be several builds together, and the oldest of them waited longest.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use model::Built;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Builds that are remembered. A lane that falls behind further takes its oldest change for younger than it is.
const MOST: usize = 256;

/// The arrivals of the newest builds. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    builds: u64,
    newest: VecDeque<Arrival>,
}

#[derive(Debug)]
struct Arrival {
    number: u64,
    built: Weak<Built>,
    seen: Instant,
}

/// How far a lane has come.
#[derive(Debug, Default)]
pub(crate) struct Progress(u64);

impl Arrivals {
    /// A build whose snapshot was seen at this moment. To be added before a lane can see the build.
    pub(crate) fn add(&self, built: &Arc<Built>, seen: Instant) {
        let mut log = self.0.lock();
        log.builds += 1;
        if log.newest.len() == MOST {
            log.newest.pop_front();
        }
        let number = log.builds;
        log.newest.push_back(Arrival { number, built: Arc::downgrade(built), seen });
    }

    /// When the first build came in of those that come after a lane's progress, up to this one. `None`: there are none.
    pub(crate) fn since(&self, progress: &Progress, built: &Arc<Built>) -> Option<Instant> {
        let log = self.0.lock();
        let upto = log.number(built)?;
        let first = log.newest.iter().find(|arrival| arrival.number > progress.0)?;
        (first.number <= upto).then_some(first.seen)
    }

    /// The lane is done with this build, and with all before it.
    pub(crate) fn done(&self, progress: &mut Progress, built: &Arc<Built>) {
        progress.0 = self.0.lock().number(built).unwrap_or(progress.0).max(progress.0);
    }
}

impl Log {
    fn number(&self, built: &Arc<Built>) -> Option<u64> {
        let is_it = |arrival: &&Arrival| std::ptr::eq(arrival.built.as_ptr(), Arc::as_ptr(built));
        self.newest.iter().rev().find(is_it).map(|arrival| arrival.number)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_build_that_a_lane_is_not_done_with_counts() {
        let (arrivals, mut progress, start) = (Arrivals::default(), Progress::default(), Instant::now());
        let builds: Vec<Arc<Built>> = (0..3).map(|_| Arc::new(Built::default())).collect();
        for (second, built) in (0..).zip(&builds) {
            arrivals.add(built, start + Duration::from_secs(second));
        }
        assert_eq!(arrivals.since(&progress, &builds[1]), Some(start));
        arrivals.done(&mut progress, &builds[1]);
        assert_eq!(arrivals.since(&progress, &builds[1]), None);
        assert_eq!(arrivals.since(&progress, &builds[2]), Some(start + Duration::from_secs(2)));
        arrivals.done(&mut progress, &builds[0]);
        assert_eq!(arrivals.since(&progress, &builds[1]), None, "progress is never taken back");
        assert_eq!(arrivals.since(&progress, &Arc::new(Built::default())), None);
    }
}
