//! Confirmation after a signal: the new revision answers, and no worker accepts connections with the old one.

use std::collections::BTreeMap;
use std::time::Duration;

use ngx_proc::generation::Watch;
use ngx_proc::verdict::{Objection, objection};
use nix::errno::Errno;
use tokio::time::{Instant, timeout_at};

use crate::error::ApplyError;
use crate::log::{BindFailure, Message, Tail};
use crate::process::Process;
use crate::procfs::Identity;
use crate::state::NginxState;

/// Longest time that a master may be without workers that accept: it replaces what ends at once, or never.
const BARREN: Duration = Duration::from_secs(1);

/// The state that is waited for.
pub(crate) struct Expected<'a> {
    /// The master that was signalled or started.
    pub(crate) master: Identity,
    /// The revision that workers must answer.
    pub(crate) revision: &'a str,
    /// Workers of the old generation. Empty after a start.
    pub(crate) old: Vec<Identity>,
    /// Whether a taken port decides only when NGINX gives up. A reload has time, for the old configuration serves; so has a
    /// start while another process is just leaving the port. Any other start fails with the first attempt.
    pub(crate) patient: bool,
    /// Longest wait.
    pub(crate) patience: Duration,
    /// The flags by the ports that they set.
    pub(crate) flags: &'a BTreeMap<u16, &'static str>,
}

/// Watches the master, its workers, its log and the control socket until the outcome is known.
pub(crate) async fn confirm<P: Process>(process: &P, tail: &mut Tail, expected: &Expected<'_>) -> Result<NginxState, ApplyError> {
    let mut watch = Watch::begin();
    let deadline = Instant::now() + expected.patience;
    let mut answered = None;
    let mut sockets_cleared = false;
    let mut barren = None;
    loop {
        let alive = process.alive(expected.master).await;
        if let Some(objection) = objection(tail.messages(), expected.master.pid) {
            // A socket file without a listener is in the way, and the master tries again half a second later.
            let is_file = |failure: &BindFailure| failure.port.is_none();
            if !sockets_cleared && matches!(&objection, Objection::Waiting(taken) if taken.iter().any(is_file)) {
                process.clear_sockets(false).await;
                sockets_cleared = true;
            }
            if let Some(error) = failed(objection, expected) {
                return Err(error);
            }
        }
        if !alive {
            return Err(ApplyError::Exited { status: process.exit_status().await, log: tail.texts() });
        }
        let old_gone = process.refresh(&expected.old).await.iter().all(|worker| worker.leaving);
        if old_gone && let Ok(Some(state)) = timeout_at(deadline, process.state()).await {
            if state.revision == expected.revision {
                return Ok(state);
            }
            answered = Some(state.revision);
        }
        barren = if is_barren(process, tail.messages(), expected).await { barren.or_else(|| Some(Instant::now())) } else { None };
        if Instant::now() >= deadline || barren.is_some_and(|since: Instant| since.elapsed() >= BARREN) {
            return Err(ApplyError::Unconfirmed {
                revision: expected.revision.to_owned(),
                waited: watch.elapsed().min(expected.patience),
                answered,
                restored: "",
                log: tail.texts(),
            });
        }
        watch.pause().await;
    }
}

/// Whether no worker is left though there were some: the new ones ended at once, for want of memory or descriptors, and the master starts no others.
async fn is_barren<P: Process>(process: &P, messages: &[Message], expected: &Expected<'_>) -> bool {
    let by_worker = |message: &Message| message.level == "emerg" && message.pid.is_some_and(|pid| pid != expected.master.pid);
    let had_some = !expected.old.is_empty() || messages.iter().any(by_worker);
    had_some && process.workers(expected.master).await.iter().all(|worker| worker.leaving)
}

/// The error of a change that has failed, by what the master says against it.
fn failed(objection: Objection, expected: &Expected<'_>) -> Option<ApplyError> {
    match objection {
        Objection::Final { message, bind } => {
            Some(bind.and_then(|failure| bind_error(&failure, expected.flags)).unwrap_or(ApplyError::NotTaken(message)))
        }
        Objection::Waiting(_) if expected.patient => None,
        Objection::Waiting(taken) => taken.iter().find_map(|failure| bind_error(failure, expected.flags)),
    }
}

/// The error for a port that could not be opened; `None` for other reasons than a taken port or a missing privilege.
pub(crate) fn bind_error(failure: &BindFailure, flags: &BTreeMap<u16, &'static str>) -> Option<ApplyError> {
    let port = failure.port?;
    let (address, flag) = (failure.address.clone(), flags.get(&port).copied());
    match Errno::from_raw(failure.errno) {
        Errno::EADDRINUSE => Some(ApplyError::PortTaken { holder: None, address, port, flag }),
        Errno::EACCES => Some(ApplyError::PortDenied { address, port, flag }),
        _ => None,
    }
}
