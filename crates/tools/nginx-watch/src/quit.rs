//! The orderly end of an NGINX: it accepts no more connections, finishes its open requests, and is gone.

use std::time::Duration;

use ngx_proc::find::{FindError, Locator, find};
use ngx_proc::procfs::{self, Identity};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use serde::Serialize;
use tokio::time::{Instant, sleep};

const POLL: Duration = Duration::from_millis(25);

/// Options of a quit.
#[derive(Debug, Clone)]
pub struct QuitOptions {
    /// The NGINX to quit.
    pub locator: Locator,
    /// The time to wait before it is signalled: load balancers forget it meanwhile.
    pub delay: Duration,
    /// The time that it may take after that; `None`: it is not waited for.
    pub wait: Option<Duration>,
}

/// The end of a quit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum QuitOutcome {
    /// Master and workers are gone.
    Gone {
        /// Time from the signal on, in milliseconds.
        took_ms: u64,
    },
    /// NGINX was signalled and not waited for.
    Signalled {
        /// Pid of the master.
        pid: i32,
    },
    /// Some are still there. Nothing was done to them.
    Late {
        /// Their pids.
        pids: Vec<i32>,
    },
}

/// The reason why it could not be signalled.
#[derive(Debug, thiserror::Error)]
pub enum QuitError {
    /// No process, or not clear which one.
    #[error("there is nothing to quit")]
    Find(#[from] FindError),
    /// NGINX would not finish its requests.
    #[error("process {pid} is no NGINX and has no handler for SIGQUIT, which would end it at once: it was not signalled")]
    Deaf {
        /// The process.
        pid: i32,
    },
    /// NGINX can't be signalled.
    #[error("SIGQUIT can't be sent to process {pid} ({errno}): run as the same user as NGINX, or with the capability KILL")]
    Signal {
        /// The master.
        pid: i32,
        /// The error of the system.
        errno: Errno,
    },
}

/// Tells NGINX to finish, and waits.
///
/// # Errors
/// There is none, or it can't be signalled. That it takes too long is an outcome.
pub async fn quit(options: &QuitOptions) -> Result<QuitOutcome, QuitError> {
    // Before the delay: a wrong name should not take that long to show.
    find(&options.locator)?;
    sleep(options.delay).await;
    // If there is none now, it has ended by itself.
    let Ok(found) = find(&options.locator) else { return Ok(QuitOutcome::Gone { took_ms: 0 }) };
    let master = found.id;
    if !found.is_nginx && procfs::handles(master.pid, Signal::SIGQUIT as i32) == Some(false) {
        return Err(QuitError::Deaf { pid: master.pid });
    }
    let mut family = members(master);
    match children::send(master, Signal::SIGQUIT) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => return Err(QuitError::Signal { pid: master.pid, errno }),
    }
    let Some(patience) = options.wait else { return Ok(QuitOutcome::Signalled { pid: master.pid }) };
    let begun = Instant::now();
    loop {
        // Workers of an earlier generation, too; and one that was started just now.
        let found = members(master);
        family.extend(found.into_iter().filter(|id| !family.contains(id)).collect::<Vec<_>>());
        family.retain(|id| procfs::alive(*id));
        if family.is_empty() {
            return Ok(QuitOutcome::Gone { took_ms: begun.elapsed().as_millis().try_into().unwrap_or(u64::MAX) });
        }
        if begun.elapsed() >= patience {
            return Ok(QuitOutcome::Late { pids: family.iter().map(|id| id.pid).collect() });
        }
        sleep(POLL).await;
    }
}

/// A master and its children.
fn members(master: Identity) -> Vec<Identity> {
    if !procfs::alive(master) {
        return Vec::new();
    }
    procfs::children(master.pid).into_iter().filter_map(procfs::identity).chain([master]).collect()
}
