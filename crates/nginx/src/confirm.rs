//! From a signal to certainty: the new revision answers, and nobody accepts connections with the old one.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::errno::Errno;
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::ApplyError;
use crate::log::{self, Message, Tail};
use crate::process::Process;
use crate::procfs::Identity;
use crate::state::State;

const FIRST_POLL: Duration = Duration::from_millis(2);
/// Longest pause while most changes come to an end, and after that time.
const SHORT_POLL: Duration = Duration::from_millis(5);
const SHORT_TIME: Duration = Duration::from_millis(500);
const LONGEST_POLL: Duration = Duration::from_millis(25);
/// How long a master may be without workers that accept: it replaces what ends at once, or never.
const BARREN: Duration = Duration::from_secs(1);

/// What is waited for.
pub(crate) struct Expected<'a> {
    /// The master that was signalled or started.
    pub(crate) master: Identity,
    /// The revision that workers must answer.
    pub(crate) revision: &'a str,
    /// Workers of the old generation. Empty after a start.
    pub(crate) old: Vec<Identity>,
    /// Whether a taken port decides only when NGINX gives up. A reload has time, for the old configuration serves; so has a
    /// start after somebody who is just leaving. Any other start fails with the first attempt.
    pub(crate) patient: bool,
    /// How long to wait.
    pub(crate) patience: Duration,
    /// Which flag sets which port.
    pub(crate) flags: &'a BTreeMap<u16, &'static str>,
}

/// Watches the master, its workers, its log and the control socket until the outcome is known.
pub(crate) async fn confirm<P: Process>(process: &P, tail: &mut Tail, expected: &Expected<'_>) -> Result<State, ApplyError> {
    let begun = Instant::now();
    let deadline = begun + expected.patience;
    let mut answered = None;
    let mut sockets_cleared = false;
    let mut barren = None;
    let mut pause = FIRST_POLL;
    loop {
        let alive = process.alive(expected.master);
        match objection(tail.messages(), expected) {
            Some(Objection::Final(error)) => return Err(error),
            Some(Objection::StaleSocket) if !sockets_cleared => {
                // The master tries again half a second later.
                process.clear_sockets(false).await;
                sockets_cleared = true;
            }
            _ => {}
        }
        if !alive {
            return Err(ApplyError::Exited { status: process.exit_status(), log: tail.texts() });
        }
        let old_gone = expected.old.iter().all(|&worker| process.refresh(worker).is_none_or(|worker| worker.leaving));
        if old_gone && let Ok(Some(state)) = timeout_at(deadline, process.state()).await {
            if state.revision == expected.revision {
                return Ok(state);
            }
            answered = Some(state.revision);
        }
        barren = if is_barren(process, tail.messages(), expected) { barren.or_else(|| Some(Instant::now())) } else { None };
        if Instant::now() >= deadline || barren.is_some_and(|since: Instant| since.elapsed() >= BARREN) {
            return Err(ApplyError::Unconfirmed {
                revision: expected.revision.to_owned(),
                waited: begun.elapsed().min(expected.patience),
                answered,
                restored: "",
                log: tail.texts(),
            });
        }
        sleep(pause).await;
        pause = (pause * 2).min(if begun.elapsed() < SHORT_TIME { SHORT_POLL } else { LONGEST_POLL });
    }
}

/// Whether no worker is left though there were some: the new ones ended at once, for want of memory or descriptors, and the master starts no others.
fn is_barren<P: Process>(process: &P, messages: &[Message], expected: &Expected<'_>) -> bool {
    let by_worker = |message: &Message| message.level == "emerg" && message.pid.is_some_and(|pid| pid != expected.master.pid);
    let had_some = !expected.old.is_empty() || messages.iter().any(by_worker);
    had_some && process.workers(expected.master).iter().all(|worker| worker.leaving)
}

enum Objection {
    /// The change has failed.
    Final(ApplyError),
    /// A socket file is in the way.
    StaleSocket,
}

/// What the master says against the change. What workers say (`emerg` too) doesn't decide: the master may start others.
fn objection(messages: &[Message], expected: &Expected<'_>) -> Option<Objection> {
    let by_master = |message: &&Message| message.level == "emerg" && message.pid == Some(expected.master.pid);
    let mut taken = None;
    for message in messages.iter().filter(by_master) {
        let text = message.text.as_str();
        match log::bind_failure(text) {
            Some(failure) if failure.port.is_some() && Errno::from_raw(failure.errno) == Errno::EADDRINUSE => {
                let error = bind_error(&failure, expected.flags)?;
                // NGINX tries five times, half a second apart, and may yet succeed; then the new configuration runs.
                if !expected.patient {
                    return Some(Objection::Final(error));
                }
                taken = taken.or(Some(error));
            }
            Some(failure) if failure.port.is_none() && Errno::from_raw(failure.errno) == Errno::EADDRINUSE => {
                return stale(messages, expected);
            }
            Some(failure) => return Some(Objection::Final(bind_error(&failure, expected.flags).unwrap_or_else(|| not_taken(text)))),
            None if log::gave_up_binding(text) => return Some(Objection::Final(taken.unwrap_or_else(|| not_taken(text)))),
            None => return Some(Objection::Final(not_taken(text))),
        }
    }
    None
}

fn stale(messages: &[Message], expected: &Expected<'_>) -> Option<Objection> {
    let gave_up = messages.iter().find(|message| message.pid == Some(expected.master.pid) && log::gave_up_binding(&message.text));
    let first = messages.iter().find(|message| log::bind_failure(&message.text).is_some());
    Some(gave_up.and(first).map_or(Objection::StaleSocket, |message| Objection::Final(not_taken(&message.text))))
}

/// The error for a port that could not be opened; `None` for other reasons than a taken port or a missing privilege.
pub(crate) fn bind_error(failure: &log::BindFailure, flags: &BTreeMap<u16, &'static str>) -> Option<ApplyError> {
    let port = failure.port?;
    let (address, flag) = (failure.address.clone(), flags.get(&port).copied());
    match Errno::from_raw(failure.errno) {
        Errno::EADDRINUSE => Some(ApplyError::PortTaken { holder: None, address, port, flag }),
        Errno::EACCES => Some(ApplyError::PortDenied { address, port, flag }),
        _ => None,
    }
}

fn not_taken(text: &str) -> ApplyError {
    ApplyError::NotTaken(text.to_owned())
}
