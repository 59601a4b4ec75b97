//! Orphans: processes whose parent has ended become children of the first process of a container, and of one that adopts them.

use std::collections::BTreeSet;
use std::time::Duration;

use ngx_proc::procfs;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

const PERIOD: Duration = Duration::from_secs(5);

/// The workers of a master that is killed become our children, and are seen to their end.
pub(crate) fn adopt() {
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%error, "orphaned processes of NGINX are not adopted");
    }
}

/// Waits for dead children that nothing else waits for, so that their numbers become free.
pub(crate) async fn run() -> &'static str {
    let mut dead = BTreeSet::new();
    loop {
        tokio::time::sleep(PERIOD).await;
        let found = dead_children();
        // Our own children are waited for when they end; who is still there a period later is an orphan.
        for pid in found.intersection(&dead) {
            // It may have been waited for since.
            let _ = waitpid(Pid::from_raw(*pid), Some(WaitPidFlag::WNOHANG));
        }
        dead = found;
    }
}

fn dead_children() -> BTreeSet<i32> {
    let children = procfs::children(std::process::id().cast_signed());
    children.into_iter().filter(|pid| procfs::identity(*pid).is_none()).collect()
}
