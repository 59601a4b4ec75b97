//! Tells NGINX, and makes sure that it listened: after a reload its new workers serve and the old ones leave. Exit codes and signals prove nothing.

use std::path::PathBuf;
use std::time::Duration;

use ngx_proc::command::Role;
use ngx_proc::find::Master;
use ngx_proc::generation::{self, Child, Watch, took_over};
use ngx_proc::log::{Message, Tail};
use ngx_proc::procfs;
use ngx_proc::verdict::{Objection, objection};
use nix::errno::Errno;
use nix::sys::signal::Signal;

/// An NGINX without worker processes (`master_process off`) reloads within itself: after this long without a complaint it is believed.
const SINGLE: Duration = Duration::from_secs(1);

/// The reason why a reload did not happen.
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
    /// The master refused.
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

/// Sends the signal; for a reload of NGINX, returns when the new workers serve and no old one accepts connections.
pub(crate) async fn apply(master: &Master, signal: Signal, patience: Duration) -> Result<(), ApplyError> {
    let pid = master.id.pid;
    ready_for(master, signal, patience).await?;
    let old: Vec<Child> = generation::children(pid).into_iter().filter(|child| child.role != Role::Helper).collect();
    let mut tail = error_log(pid).map(|path| Tail::follow(&path));
    let name = signal.as_str();
    children::send(master.id, signal).map_err(|errno| match errno {
        Errno::ESRCH => ApplyError::Gone { signal: name, pid },
        errno => ApplyError::Signal { signal: name, pid, errno },
    })?;
    if !master.is_nginx || signal != Signal::SIGHUP {
        return Ok(());
    }
    let mut watch = Watch::begin();
    loop {
        if !procfs::alive(master.id) {
            return Err(ApplyError::Gone { signal: name, pid });
        }
        let now = generation::children(pid);
        if took_over(&old, &now) {
            return Ok(());
        }
        let messages = tail.as_mut().map(Tail::messages).unwrap_or_default();
        if let Some(Objection::Final { message, .. }) = objection(messages, pid) {
            return Err(ApplyError::Refused { message });
        }
        if old.is_empty() && now.is_empty() && watch.elapsed() >= SINGLE {
            return Ok(());
        }
        if watch.elapsed() >= patience {
            let said = said(messages, pid);
            return Err(ApplyError::Unconfirmed { waited: patience, said });
        }
        watch.pause().await;
    }
}

/// A program that is just starting has no handlers yet, and HUP would end it: waits until it has. One that never has any is not meant.
async fn ready_for(master: &Master, signal: Signal, patience: Duration) -> Result<(), ApplyError> {
    let (pid, name, mut watch) = (master.id.pid, signal.as_str(), Watch::begin());
    while procfs::handles(pid, signal as i32) == Some(false) {
        if !procfs::alive(master.id) {
            return Err(ApplyError::Gone { signal: name, pid });
        }
        if watch.elapsed() >= patience {
            return Err(ApplyError::Deaf { signal: name, pid, waited: patience });
        }
        watch.pause().await;
    }
    Ok(())
}

/// The text of the log, for a message.
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
