//! Generations of workers: which a master has, and when those of a reload have taken over.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::command::Role;
use crate::find::Master;
use crate::procfs::{self, Identity};

const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// Longest pause while most changes come to an end, and after that time.
const SHORT_PAUSE: Duration = Duration::from_millis(5);
const SHORT_TIME: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// A child of a master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// The process.
    pub id: Identity,
    /// Its role.
    pub role: Role,
}

/// The living children of a master. Empty for one that is gone.
pub fn children(master: i32) -> Vec<Child> {
    let child = |pid| Some(Child { id: procfs::identity(pid)?, role: Role::of(&procfs::title(pid)) });
    procfs::children(master).into_iter().filter_map(child).collect()
}

/// The age of the oldest worker that accepts connections: what it runs was read before that. For another program, its own.
pub fn serving_since(master: &Master) -> Option<Duration> {
    let workers = children(master.id.pid);
    let ages = workers.iter().filter(|child| matches!(child.role, Role::Worker | Role::Untitled)).filter_map(|child| procfs::age(child.id));
    ages.max().or_else(|| procfs::age(master.id).filter(|_| !master.is_nginx))
}

/// Whether workers of a new generation serve and all of the old one leave.
pub fn took_over(old: &[Child], now: &[Child]) -> bool {
    // Without process titles draining workers can't be recognized; but a master that refuses starts no worker.
    let titled = old.iter().all(|child| child.role != Role::Untitled);
    let is_old = |child: &Child| old.iter().any(|old| old.id == child.id);
    let serves = |child: &&Child| if titled { child.role == Role::Worker } else { child.role != Role::Helper };
    let new = now.iter().filter(serves).any(|child| !is_old(child));
    let left = now.iter().filter(|child| is_old(child)).all(|child| child.role == Role::Leaving);
    new && (left || !titled)
}

/// The wait for a reload: for how long so far, and the pauses between two looks.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    pause: Duration,
}

impl Watch {
    /// A wait from now on.
    pub fn begin() -> Self {
        Self { begun: Instant::now(), pause: FIRST_PAUSE }
    }

    /// Time since its beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Waits until it is time to look again: soon while most reloads come to an end.
    pub async fn pause(&mut self) {
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(if self.elapsed() < SHORT_TIME { SHORT_PAUSE } else { LONGEST_PAUSE });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(pid: i32, role: Role) -> Child {
        Child { id: Identity { pid, start: 1 }, role }
    }

    #[test]
    fn a_reload_counts_when_new_workers_serve_and_the_old_ones_leave() {
        use Role::{Helper, Leaving, Master, Untitled, Worker};
        let old = [child(1, Worker), child(2, Worker)];
        let check = |now: &[(i32, Role)], expected: bool| {
            let now: Vec<Child> = now.iter().map(|&(pid, role)| child(pid, role)).collect();
            assert_eq!(took_over(&old, &now), expected, "{now:?}");
        };
        check(&[(1, Worker), (2, Worker)], false);
        check(&[(1, Worker), (2, Worker), (3, Worker)], false);
        check(&[(1, Leaving), (2, Worker), (3, Worker)], false);
        check(&[(1, Leaving), (2, Leaving), (3, Worker)], true);
        check(&[(3, Worker), (4, Worker)], true);
        // Not ready yet, or looks after a cache.
        check(&[(1, Leaving), (3, Master)], false);
        check(&[(1, Leaving), (3, Helper)], false);
        check(&[], false);
        let untitled = [child(1, Untitled)];
        assert!(!took_over(&untitled, &untitled));
        assert!(took_over(&untitled, &[child(1, Untitled), child(2, Untitled)]));
    }
}
