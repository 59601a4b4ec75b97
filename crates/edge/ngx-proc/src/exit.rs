//! Waiting for the end of a process that need not be our child.

use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::unix::pipe;

use crate::procfs::{self, Identity};

/// Interval of looks at the process where the kernel has no pidfd.
const POLL: Duration = Duration::from_millis(50);

/// Resolves when the process is gone; at once if it already is.
pub async fn exited(id: Identity) {
    let descriptor = Pid::from_raw(id.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
    // The descriptor stands for the process that has the pid now, so this question comes after it was opened.
    if !procfs::alive(id) {
        return;
    }
    // A pidfd becomes readable when its process ends. It is no pipe, but tokio's receiving end of one waits for any descriptor.
    let watched = descriptor.and_then(|descriptor| pipe::Receiver::from_file_unchecked(descriptor.into()).ok());
    match watched {
        Some(watched) if watched.readable().await.is_ok() => {}
        _ => {
            while procfs::alive(id) {
                tokio::time::sleep(POLL).await;
            }
        }
    }
}
