//! The side of the controller: asks for the processes of NGINX.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use render::{Capabilities, Paths};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use super::protocol::{Answer, Envelope, Fault, LONGEST_ANSWER, Outcome, Request, TestEnd, VERSION, Versioned};
use super::server::EXIT_PATIENCE;
use crate::error::ApplyError;
use crate::process::{Order, Tested};
use crate::processes::Processes;
use crate::procfs::{Identity, Worker};
use crate::usage::Usage;

/// Longest wait for an answer, beside what the request itself may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two attempts to reach a container that is being started again.
const AGAIN: Duration = Duration::from_millis(250);

/// NGINX's container gave no answer, or none that helps.
#[derive(Debug, thiserror::Error)]
pub enum DataPlaneError {
    /// There is no listener, or the connection broke: the container is being started.
    #[error("the container of NGINX can't be reached by {socket:?}: expected `narthex data-plane` with the same --work-dir")]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No answer came in time.
    #[error("the container of NGINX did not answer within {0:?}")]
    Late(Duration),
    /// The answer can't be used.
    #[error("the container of NGINX gave an answer that can't be read: {0}")]
    Unexpected(String),
    /// The other side has another version.
    #[error("the container of NGINX has version {found} of the protocol, the controller {expected}: use the same image for both")]
    Version {
        /// Ours.
        expected: u32,
        /// Its.
        found: u32,
    },
    /// The container ends, and with it NGINX.
    #[error("the container of NGINX is ending: NGINX is not started or reloaded any more")]
    Ending,
    /// The request was understood and not carried out.
    #[error("the container of NGINX refused: {0}")]
    Refused(String),
}

/// The container in which NGINX runs, by its socket. Clones are the same one.
#[derive(Debug, Clone)]
pub struct DataPlane {
    socket: PathBuf,
}

/// The answer that is no value.
enum Failure {
    Fault(Fault),
    Error(DataPlaneError),
}

impl From<DataPlaneError> for Failure {
    fn from(error: DataPlaneError) -> Self {
        Self::Error(error)
    }
}

impl From<Failure> for DataPlaneError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Error(error) => error,
            Failure::Fault(Fault::Version { expected, found }) => Self::Version { expected: found, found: expected },
            Failure::Fault(Fault::Ending) => Self::Ending,
            Failure::Fault(Fault::Stranger { pid }) => Self::Refused(format!("process {pid} is none of NGINX")),
            Failure::Fault(Fault::Unreadable { why } | Fault::Failed { why }) => Self::Refused(why),
            Failure::Fault(Fault::Spawn { error, .. } | Fault::Signal { error }) => Self::Refused(io::Error::from(error).to_string()),
            Failure::Fault(Fault::Late) => Self::Refused("it took too long".to_owned()),
        }
    }
}

impl DataPlane {
    /// The socket in a work directory.
    pub fn socket(paths: &Paths) -> PathBuf {
        paths.run_dir().join("data-plane.sock")
    }

    /// The container that listens on this socket, or will.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// What its NGINX can do.
    ///
    /// # Errors
    /// There is no answer, or another protocol.
    pub async fn capabilities(&self) -> Result<Capabilities, DataPlaneError> {
        self.get(Request::Capabilities).await
    }

    /// As [`Self::capabilities`], when the container is there. Says once that it is not yet.
    ///
    /// # Errors
    /// It has another protocol.
    pub async fn wait(&self) -> Result<Capabilities, DataPlaneError> {
        let mut waited = false;
        loop {
            match self.capabilities().await {
                Err(error @ (DataPlaneError::Unreachable { .. } | DataPlaneError::Late(_))) => {
                    if !waited {
                        tracing::info!(error = &error as &dyn std::error::Error, "waiting for the container of NGINX");
                    }
                    waited = true;
                }
                other => return other,
            }
            sleep(AGAIN).await;
        }
    }

    /// Whether it was asked to end.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn ending(&self) -> Result<bool, DataPlaneError> {
        self.get(Request::Ending).await
    }

    /// Whether a process listens on its socket.
    pub async fn is_there(&self) -> bool {
        UnixStream::connect(&self.socket).await.is_ok()
    }

    pub(crate) async fn usage(&self) -> Result<Option<Usage>, DataPlaneError> {
        self.get(Request::Usage).await
    }

    pub(crate) async fn processes(&self) -> Result<Processes, DataPlaneError> {
        self.get(Request::Processes).await
    }

    pub(crate) async fn test(&self, limit: Duration) -> Result<Tested, ApplyError> {
        // The other side's limit counts; a day is as good as none.
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).min(86_400_000);
        let end: TestEnd = match self.call(Request::Test { limit_ms }, PATIENCE + Duration::from_millis(limit_ms)).await {
            Ok(end) => end,
            Err(Failure::Fault(Fault::Late)) => return Err(ApplyError::TestTimeout(limit)),
            Err(failure) => return Err(of_process(failure, None)),
        };
        Ok(Tested { status: ExitStatus::from_raw(end.status), stderr: end.output })
    }

    pub(crate) async fn start(&self) -> Result<Identity, ApplyError> {
        self.call(Request::Start, PATIENCE).await.map_err(|failure| of_process(failure, None))
    }

    pub(crate) async fn signal(&self, process: Identity, order: Order) -> Result<(), ApplyError> {
        self.call(Request::Signal { process, order }, PATIENCE).await.map_err(|failure| of_process(failure, Some((process, order))))
    }

    pub(crate) async fn hold_listeners(&self, workers: &[Worker]) -> Result<usize, DataPlaneError> {
        self.get(Request::HoldListeners { workers: workers.iter().filter(|worker| !worker.leaving).map(|worker| worker.id).collect() })
            .await
    }

    pub(crate) async fn alive(&self, process: Identity) -> Result<bool, DataPlaneError> {
        self.get(Request::Alive { process }).await
    }

    pub(crate) async fn exit_status(&self) -> Result<Option<String>, DataPlaneError> {
        self.get(Request::ExitStatus).await
    }

    pub(crate) async fn masters(&self) -> Result<Vec<Identity>, DataPlaneError> {
        self.get(Request::Masters).await
    }

    pub(crate) async fn workers(&self, master: Identity) -> Result<Vec<Worker>, DataPlaneError> {
        self.get(Request::Workers { master }).await
    }

    pub(crate) async fn orphans(&self, master: Identity) -> Result<Vec<Worker>, DataPlaneError> {
        self.get(Request::Orphans { master }).await
    }

    pub(crate) async fn masterless(&self) -> Result<Vec<Identity>, DataPlaneError> {
        self.get(Request::Masterless).await
    }

    pub(crate) async fn refresh(&self, workers: &[Identity]) -> Result<Vec<Worker>, DataPlaneError> {
        self.get(Request::Refresh { workers: workers.to_owned() }).await
    }

    pub(crate) async fn accepting(&self, master: Identity) -> Result<Option<usize>, DataPlaneError> {
        self.get(Request::Accepting { master }).await
    }

    pub(crate) async fn parent(&self, pid: i32) -> Result<Option<i32>, DataPlaneError> {
        self.get(Request::Parent { pid }).await
    }

    pub(crate) async fn listener_on(&self, port: u16) -> Result<Option<String>, DataPlaneError> {
        self.get(Request::Listener { port }).await
    }

    /// Resolves when the process is gone. A container that is started again says so as soon as it answers.
    pub(crate) async fn until_exited(&self, process: Identity) {
        loop {
            match self.call(Request::Exited { process }, PATIENCE + EXIT_PATIENCE).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(_) => sleep(AGAIN).await,
            }
        }
    }

    async fn get<T: DeserializeOwned>(&self, request: Request) -> Result<T, DataPlaneError> {
        self.call(request, PATIENCE).await.map_err(DataPlaneError::from)
    }

    async fn call<T: DeserializeOwned>(&self, request: Request, patience: Duration) -> Result<T, Failure> {
        let line = timeout(patience, self.exchange(request)).await.map_err(|_| DataPlaneError::Late(patience))?;
        let line = line.map_err(|source| DataPlaneError::Unreachable { socket: self.socket.clone(), source })?;
        let unexpected = |error: serde_json::Error| DataPlaneError::Unexpected(error.to_string());
        let Versioned { version: found } = serde_json::from_slice(&line).map_err(unexpected)?;
        let answer: Answer = match serde_json::from_slice(&line) {
            Ok(answer) => answer,
            Err(_) if found != VERSION => return Err(DataPlaneError::Version { expected: VERSION, found }.into()),
            Err(error) => return Err(unexpected(error).into()),
        };
        match answer.outcome {
            Outcome::Ok(value) if found == VERSION => Ok(serde_json::from_value(value).map_err(unexpected)?),
            Outcome::Ok(_) => Err(DataPlaneError::Version { expected: VERSION, found }.into()),
            Outcome::Fault(fault) => Err(Failure::Fault(fault)),
        }
    }

    async fn exchange(&self, request: Request) -> io::Result<Vec<u8>> {
        let mut connection = UnixStream::connect(&self.socket).await?;
        let mut text = serde_json::to_vec(&Envelope { version: VERSION, request })?;
        text.push(b'\n');
        connection.write_all(&text).await?;
        let mut line = Vec::new();
        connection.take(LONGEST_ANSWER).read_to_end(&mut line).await?;
        if line.last() == Some(&b'\n') { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// The error of an operation on NGINX, as in one container where it is the operating system's.
fn of_process(failure: Failure, signalled: Option<(Identity, Order)>) -> ApplyError {
    match (failure, signalled) {
        (Failure::Fault(Fault::Spawn { binary, error }), _) => ApplyError::Spawn { binary, source: error.into() },
        (Failure::Fault(Fault::Signal { error }), Some((process, order))) => {
            ApplyError::Signal { signal: order.signal().as_str(), pid: process.pid, source: error.into() }
        }
        (failure, _) => ApplyError::DataPlane(failure.into()),
    }
}
