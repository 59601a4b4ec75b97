//! The side of NGINX: answers for its processes, and ends it in order.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ngx_proc::files;
use render::{Capabilities, Paths};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::client::DataPlane;
use super::protocol::{Answer, Envelope, Fault, LONGEST_OUTPUT, LONGEST_REQUEST, Outcome, Request, TestEnd, VERSION, Versioned};
use crate::error::{ApplyError, OpenError};
use crate::live::LiveClient;
use crate::process::{Local, Order, local};
use crate::processes::Processes;
use crate::procfs::{self, Identity, Worker};
use crate::usage::Usage;
use crate::{exit, workdir};

/// Requests at a time. A controller has few; further ones wait.
const MOST_REQUESTS: usize = 32;
/// Longest time until a request is read, or its answer taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest answer to `exited`: it is asked again then.
pub(super) const EXIT_PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at processes that are ending.
const POLL: Duration = Duration::from_millis(20);
/// Longest time that an NGINX which is to end at once may take.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// Answers for the NGINX of one work directory. Clones are the same one.
#[derive(Debug, Clone)]
pub struct DataPlaneServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    local: Local,
    capabilities: Capabilities,
    /// The container was asked to end.
    ending: AtomicBool,
    /// NGINX was asked to end: it is not started or reloaded any more.
    draining: AtomicBool,
    requests: Arc<Semaphore>,
}

impl DataPlaneServer {
    /// A server for the NGINX with this binary and these capabilities ([`crate::detect`]).
    pub fn new(binary: PathBuf, capabilities: Capabilities, paths: Paths) -> Self {
        let (ending, draining) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(Inner {
            local: Local::new(binary, paths, None),
            capabilities,
            ending,
            draining,
            requests: Arc::new(Semaphore::new(MOST_REQUESTS)),
        }))
    }

    /// Makes the work directory where there is none, and listens in it. Its own user alone can connect.
    ///
    /// # Errors
    /// The directory can't be used, or another server listens there.
    pub async fn listen(paths: &Paths) -> Result<UnixListener, OpenError> {
        workdir::prepare(paths)?;
        let socket = DataPlane::socket(paths);
        let failed = |what: &'static str| {
            let path = socket.clone();
            move |source| OpenError::WorkDir { what, path, source }
        };
        if DataPlane::new(&socket).is_there().await {
            return Err(OpenError::Served(socket));
        }
        files::remove(&socket).map_err(failed("removing a leftover socket"))?;
        let listener = UnixListener::bind(&socket).map_err(failed("listening on"))?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600)).map_err(failed("setting the mode of"))?;
        Ok(listener)
    }

    /// Answers for as long as it is driven. Requests that are under way when it is dropped get no answer.
    pub async fn serve(self, listener: UnixListener) {
        let mut tasks = JoinSet::new();
        loop {
            let permit = self.0.requests.clone().acquire_owned().await;
            while tasks.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((connection, _)) => {
                    let server = self.clone();
                    tasks.spawn(async move {
                        server.converse(connection).await;
                        drop(permit);
                    });
                }
                // For want of descriptors, say: they become free.
                Err(error) => {
                    tracing::warn!(%error, "a request of the controller can't be accepted");
                    sleep(PATIENCE / 10).await;
                }
            }
        }
    }

    /// Says to controllers that this container was asked to end, and has connections of clients end with their answers.
    pub async fn announce_end(&self) {
        self.0.ending.store(true, Ordering::Relaxed);
        // Where NGINX does not run, or does not answer, there is nothing to be lost.
        let _ = LiveClient::new(&self.0.local.paths().control_socket()).closing(true).await;
    }

    /// Lets NGINX finish the requests that it has begun, for as long as `limit`, and ends it. From now on it is not started or reloaded.
    /// What is running when this is dropped goes on ending.
    pub async fn drain(&self, limit: Duration) {
        self.0.draining.store(true, Ordering::Relaxed);
        for (order, patience) in [(Order::Quit, limit), (Order::Terminate, KILL_PATIENCE), (Order::Kill, KILL_PATIENCE)] {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            if order != Order::Quit {
                tracing::warn!(processes = left.len(), "NGINX has not finished: it gets {}", order.signal().as_str());
            }
            for id in left {
                if let Err(error) = self.0.local.signal(id, order) {
                    tracing::warn!(%error, "a process of NGINX can't be signalled");
                }
            }
            let _ = timeout(patience, self.gone()).await;
        }
    }

    async fn gone(&self) {
        while !self.processes().is_empty() {
            sleep(POLL).await;
        }
    }

    /// The masters, and workers whose masters are gone.
    fn processes(&self) -> BTreeSet<Identity> {
        let local = &self.0.local;
        // Children of ours that ended are gone only when they were waited for.
        local.exit_status();
        let orphans = local.masterless().into_iter().flat_map(local::orphans).map(|worker| worker.id);
        local.masters().into_iter().chain(orphans).collect()
    }

    async fn converse(&self, connection: UnixStream) {
        let (reading, mut writing) = connection.into_split();
        let mut reading = BufReader::new(reading.take(LONGEST_REQUEST));
        let mut line = Vec::new();
        let outcome = match timeout(PATIENCE, reading.read_until(b'\n', &mut line)).await {
            Ok(Ok(_)) if line.last() == Some(&b'\n') => match parse(&line) {
                // A controller that is gone wants nothing any more: a test of its ends.
                Ok(request) => tokio::select! {
                    outcome = self.answer(request) => outcome,
                    _ = reading.read_u8() => return,
                },
                Err(fault) => Outcome::Fault(fault),
            },
            Ok(Ok(0)) => return,
            Ok(Ok(_)) if line.len() as u64 >= LONGEST_REQUEST => unreadable(format!("it is longer than {LONGEST_REQUEST} bytes")),
            Ok(Ok(_)) => unreadable("it ends before its line feed".to_owned()),
            Ok(Err(error)) => unreadable(error.to_string()),
            Err(_) => unreadable(format!("no line feed came within {PATIENCE:?}")),
        };
        let mut text = serde_json::to_vec(&Answer { version: VERSION, outcome }).expect("numbers, texts and lists of them");
        text.push(b'\n');
        // A controller that is gone needs no answer.
        let _ = timeout(PATIENCE, writing.write_all(&text)).await;
    }

    async fn answer(&self, request: Request) -> Outcome {
        let local = &self.0.local;
        match request {
            Request::Capabilities => ok(&self.0.capabilities),
            Request::Test { limit_ms } => match local.test(Duration::from_millis(limit_ms)).await {
                Ok(tested) => ok(&TestEnd { status: tested.status.into_raw(), output: end_of(tested.stderr) }),
                Err(error) => Outcome::Fault(fault(error)),
            },
            Request::HoldListeners { workers } => ok(&local.hold_listeners(&workers.into_iter().map(worker).collect::<Vec<_>>())),
            Request::Start if self.0.draining.load(Ordering::Relaxed) => Outcome::Fault(Fault::Ending),
            Request::Start => local.start().map_or_else(|error| Outcome::Fault(fault(error)), |master| ok(&master)),
            Request::Signal { process, order } => self.signal(process, order),
            Request::Alive { process } => ok(&procfs::alive(process)),
            Request::Exited { process } => ok(&timeout(EXIT_PATIENCE, exit::exited(process)).await.is_ok()),
            Request::ExitStatus => ok(&local.exit_status()),
            Request::Masters => ok(&local.masters()),
            Request::Workers { master } => ok(&local::workers(master)),
            Request::Orphans { master } => ok(&local::orphans(master)),
            Request::Masterless => ok(&local.masterless()),
            Request::Refresh { workers } => ok(&local::refresh(&workers)),
            Request::Accepting { master } => ok(&local::accepting(master)),
            Request::Parent { pid } => ok(&procfs::parent(pid)),
            Request::Listener { port } => ok(&local::listener_on(port)),
            Request::Processes => ok(&Processes::read(local.paths(), local.binary())),
            Request::Usage => ok(&Usage::read(local.paths(), local.binary())),
            Request::Ending => ok(&self.0.ending.load(Ordering::Relaxed)),
        }
    }

    fn signal(&self, process: Identity, order: Order) -> Outcome {
        if order == Order::Reload && self.0.draining.load(Ordering::Relaxed) {
            return Outcome::Fault(Fault::Ending);
        }
        if !procfs::alive(process) {
            return ok(&());
        }
        if !self.0.local.is_ours(process) {
            return Outcome::Fault(Fault::Stranger { pid: process.pid });
        }
        self.0.local.signal(process, order).map_or_else(|error| Outcome::Fault(fault(error)), |()| ok(&()))
    }
}

fn worker(id: Identity) -> Worker {
    Worker { id, leaving: false }
}

fn parse(line: &[u8]) -> Result<Request, Fault> {
    let why = |error: serde_json::Error| Fault::Unreadable { why: error.to_string() };
    let Versioned { version: found } = serde_json::from_slice(line).map_err(why)?;
    if found != VERSION {
        return Err(Fault::Version { expected: VERSION, found });
    }
    serde_json::from_slice(line).map(|envelope: Envelope| envelope.request).map_err(why)
}

fn unreadable(why: String) -> Outcome {
    Outcome::Fault(Fault::Unreadable { why })
}

fn ok(value: &impl Serialize) -> Outcome {
    serde_json::to_value(value).map_or_else(|error| Outcome::Fault(Fault::Failed { why: error.to_string() }), Outcome::Ok)
}

/// An `emerg` ends a test, so it is at the end of what it printed.
fn end_of(mut output: String) -> String {
    if output.len() > LONGEST_OUTPUT {
        let from = (output.len() - LONGEST_OUTPUT..).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
        output.drain(..from);
    }
    output
}

fn fault(error: ApplyError) -> Fault {
    match error {
        ApplyError::TestTimeout(_) => Fault::Late,
        ApplyError::Spawn { binary, source } => Fault::Spawn { binary, error: (&source).into() },
        ApplyError::Signal { source, .. } => Fault::Signal { error: (&source).into() },
        other => Fault::Failed { why: other.to_string() },
    }
}
