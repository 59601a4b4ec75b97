//! Tells NGINX, and makes sure that it listened: after a reload its new workers serve and the old ones leave. Exit codes and signals prove nothing.

use std::path::PathBuf;
use std::time::Duration;

use ngx_proc::command::Role;
use ngx_proc::find::Master;
use ngx_proc::log::{self, Message, Tail};
use ngx_proc::procfs::{self, Identity};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

const FIRST_POLL: Duration = Duration::from_millis(2);
const LONGEST_POLL: Duration = Duration::from_millis(25);
/// An NGINX without worker processes (`master_process off`) reloads within itself: after this long without a complaint it is believed.
const SINGLE: Duration = Duration::from_secs(1);

/// Why a reload did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// The signal can't be sent.
    #[error("{signal} can't be sent to process {pid} ({errno}){}", hint(*errno))]
    Signal { signal: &'static str, pid: i32, errno: Errno },
    /// The master is gone.
    #[error("the master, process {pid}, is gone: {signal} was for it")]
    Gone { signal: &'static str, pid: i32 },
    /// The signal would end it.
    #[error(
        "process {pid} has no handler for {signal}, which would end it, and set none up within {waited:?}: expected an NGINX that has started; it was not signalled"
    )]
    Deaf { signal: &'static str, pid: i32, waited: Duration },
    /// It said no.
    #[error("NGINX refuses it, the last known good configuration stays active: {message}")]
    Refused { message: String },
    /// No new workers.
    #[error("no new workers took over within {waited:?}: the last known good configuration stays active{said}")]
    Unconfirmed { waited: Duration, said: String },
}

const fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM => ": run as the same user as NGINX, or with the capability KILL",
        _ => "",
    }
}

/// A child of the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Child {
    id: Identity,
    role: Role,
}

fn children(master: i32) -> Vec<Child> {
    let child = |pid| Some(Child { id: procfs::identity(pid)?, role: Role::of(&procfs::title(pid)) });
    procfs::children(master).into_iter().filter_map(child).collect()
}

/// The age of the oldest worker that accepts connections: what it runs was read before that. For another program, its own.
pub(crate) fn serving_since(master: &Master) -> Option<Duration> {
    let workers = children(master.id.pid);
    let ages = workers.iter().filter(|child| matches!(child.role, Role::Worker | Role::Untitled)).filter_map(|child| procfs::age(child.id));
    ages.max().or_else(|| procfs::age(master.id).filter(|_| !master.is_nginx))
}

/// Sends the signal; for a reload of NGINX, returns when the new workers serve and no old one accepts connections.
pub(crate) async fn apply(master: &Master, signal: Signal, patience: Duration) -> Result<(), ApplyError> {
    let pid = master.id.pid;
    ready_for(master, signal, patience).await?;
    let old: Vec<Child> = children(pid).into_iter().filter(|child| child.role != Role::Helper).collect();
    let mut tail = error_log(pid).map(|path| Tail::follow(&path));
    let name = signal.as_str();
    children::send(master.id, signal).map_err(|errno| match errno {
        Errno::ESRCH => ApplyError::Gone { signal: name, pid },
        errno => ApplyError::Signal { signal: name, pid, errno },
    })?;
    if !master.is_nginx || signal != Signal::SIGHUP {
        return Ok(());
    }
    let begun = Instant::now();
    let mut pause = FIRST_POLL;
    loop {
        if !procfs::alive(master.id) {
            return Err(ApplyError::Gone { signal: name, pid });
        }
        let now = children(pid);
        if took_over(&old, &now) {
            return Ok(());
        }
        let messages = tail.as_mut().map(Tail::messages).unwrap_or_default();
        if let Some(message) = complaint(messages, pid) {
            return Err(ApplyError::Refused { message });
        }
        if old.is_empty() && now.is_empty() && begun.elapsed() >= SINGLE {
            return Ok(());
        }
        if begun.elapsed() >= patience {
            let said = said(messages, pid);
            return Err(ApplyError::Unconfirmed { waited: patience, said });
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_POLL);
    }
}

/// A program that is just starting has no handlers yet, and HUP would end it: waits until it has. One that never has any is not meant.
async fn ready_for(master: &Master, signal: Signal, patience: Duration) -> Result<(), ApplyError> {
    let (pid, name, begun) = (master.id.pid, signal.as_str(), Instant::now());
    while procfs::handles(pid, signal as i32) == Some(false) {
        if !procfs::alive(master.id) {
            return Err(ApplyError::Gone { signal: name, pid });
        }
        if begun.elapsed() >= patience {
            return Err(ApplyError::Deaf { signal: name, pid, waited: patience });
        }
        sleep(FIRST_POLL).await;
    }
    Ok(())
}

/// Whether workers of a new generation serve and all of the old one leave.
fn took_over(old: &[Child], now: &[Child]) -> bool {
    // Without titles it can't be seen who leaves; but a master that refuses starts nobody.
    let titled = old.iter().all(|child| child.role != Role::Untitled);
    let is_old = |child: &Child| old.iter().any(|old| old.id == child.id);
    let serves = |child: &&Child| if titled { child.role == Role::Worker } else { child.role != Role::Helper };
    let new = now.iter().filter(serves).any(|child| !is_old(child));
    let left = now.iter().filter(|child| is_old(child)).all(|child| child.role == Role::Leaving);
    new && (left || !titled)
}

/// Why the master has given up, if it has. What workers say doesn't decide.
fn complaint(messages: &[Message], master: i32) -> Option<String> {
    let by_master = |message: &&Message| message.level == "emerg" && message.pid == Some(master);
    let mut taken = None;
    for message in messages.iter().filter(by_master) {
        if log::bind_failure(&message.text).is_some() {
            // It tries five times, half a second apart.
            taken = taken.or(Some(&message.text));
        } else {
            return Some(taken.filter(|_| log::gave_up_binding(&message.text)).unwrap_or(&message.text).clone());
        }
    }
    None
}

/// What the log says, for a message.
fn said(messages: &[Message], master: i32) -> String {
    let texts: Vec<&str> =
        messages.iter().filter(|message| message.pid == Some(master) && message.level != "notice").map(|message| &*message.text).collect();
    match texts.as_slice() {
        [] => "; see its error log".to_owned(),
        texts => format!("; it says: {}", texts.join("; ")),
    }
}

/// The error log, which NGINX makes its standard error: readable when it is a file.
fn error_log(pid: i32) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/proc/{pid}/fd/2"));
    std::fs::File::open(&path).ok()?.metadata().ok()?.is_file().then_some(path)
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

    #[test]
    fn the_reason_of_the_master_is_found_and_a_taken_port_is_waited_for() {
        let message = |pid, text: &str| Message { level: "emerg".into(), pid: Some(pid), text: text.into() };
        let bind = "bind() to 0.0.0.0:80 failed (98: Address already in use)";
        assert_eq!(complaint(&[message(8, "of a worker")], 7), None);
        assert_eq!(complaint(&[message(7, "open() failed")], 7), Some("open() failed".into()));
        assert_eq!(complaint(&[message(7, bind), message(7, bind)], 7), None);
        assert_eq!(complaint(&[message(7, bind), message(7, "still could not bind()")], 7), Some(bind.into()));
    }
}
