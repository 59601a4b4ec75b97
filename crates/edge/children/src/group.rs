//! The processes of a command: one process group, ended as a whole.
//!
//! `sh` is not all of a command: what it has started goes on when `sh` alone is ended.

use std::collections::BTreeSet;
use std::time::Duration;

use ngx_proc::procfs::{self, Identity};
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use crate::signal;

/// Between two looks at processes that are ending.
const POLL: Duration = Duration::from_millis(20);
/// After SIGTERM they have this long.
const GRACE: Duration = Duration::from_secs(5);

/// The group of a child that leads it. What is left of it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    leader: i32,
    gone: bool,
}

impl Group {
    /// The group that this child leads.
    pub(crate) fn of(leader: i32) -> Self {
        Self { leader, gone: leader <= 0 }
    }

    /// Returns when none of its processes lives. The leader has to be waited for elsewhere.
    pub(crate) async fn gone(&mut self) {
        while !self.is_empty() {
            sleep(POLL).await;
        }
        self.gone = true;
    }

    fn is_empty(&self) -> bool {
        // Zombies are in the group, too, until their new parent waits for them.
        self.gone || killpg(Pid::from_raw(self.leader), None) == Err(Errno::ESRCH) || procfs::group(self.leader).is_empty()
    }

    /// Ends all of it, and what its processes have started in other groups: by SIGTERM, and by SIGKILL what lives on. Returns when they are gone.
    pub(crate) async fn end(&mut self) {
        let (begun, mut step) = (Instant::now(), Signal::SIGTERM);
        let (mut family, mut signalled) = (BTreeSet::new(), BTreeSet::new());
        loop {
            // Before a signal: whose parent is gone is no longer seen as its child.
            family.extend(self.living(&family));
            family.retain(|id| procfs::alive(*id));
            if family.is_empty() {
                self.gone = true;
                return;
            }
            if step == Signal::SIGTERM && begun.elapsed() >= GRACE {
                let pids: Vec<String> = family.iter().map(|id: &Identity| id.pid.to_string()).collect();
                tracing::warn!(pids = pids.join(","), "a command did not end on SIGTERM: it is killed");
                step = Signal::SIGKILL;
                signalled.clear();
            }
            for id in family.difference(&signalled) {
                // It may have ended just now, or belong to another user: then it is waited for.
                let _ = signal::send(*id, step);
            }
            signalled.extend(family.iter().copied());
            sleep(POLL).await;
        }
    }

    /// The group, and what is below it and below the processes that are known.
    fn living(&self, known: &BTreeSet<Identity>) -> BTreeSet<Identity> {
        let mut found: BTreeSet<Identity> = procfs::group(self.leader).into_iter().collect();
        let mut open: Vec<Identity> = found.iter().chain(known).copied().collect();
        while let Some(parent) = open.pop() {
            let children = procfs::children(parent.pid).into_iter().filter_map(procfs::identity);
            open.extend(children.filter(|child| found.insert(*child)).collect::<Vec<_>>());
        }
        found
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        // There is no time left for more.
        for id in self.living(&BTreeSet::new()) {
            let _ = signal::send(id, Signal::SIGKILL);
        }
    }
}
