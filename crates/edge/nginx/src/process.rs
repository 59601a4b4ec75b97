//! The seam to the real NGINX: running it, signalling it, asking it. The state machine above is tested over a fake.
//!
//! Files and sockets of the work directory are ours wherever NGINX runs; its processes may be those of another container ([`Place`]).

mod fence;
pub(crate) mod local;

use std::future::Future;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;
use render::Paths;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;

pub(crate) use local::Local;

use crate::data_plane::{DataPlane, DataPlaneError};
use crate::error::ApplyError;
use crate::exit;
use crate::live::{Held, LiveClient};
use crate::processes::Processes;
use crate::procfs::{self, Identity, Worker};
use crate::state::NginxState;
use crate::usage::Usage;

/// Where the processes of NGINX are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In this container: the binary to run ([`crate::find_binary`]).
    Here(PathBuf),
    /// In another container with the same work directory: the socket of its [`crate::DataPlaneServer`].
    DataPlane(PathBuf),
}

impl Place {
    /// What the NGINX of this work directory uses; `None` if none runs, or its container does not answer.
    pub async fn usage(&self, paths: &Paths) -> Option<Usage> {
        match self {
            Self::Here(binary) => {
                let (paths, binary) = (paths.clone(), binary.clone());
                tokio::task::spawn_blocking(move || Usage::read(&paths, &binary)).await.ok().flatten()
            }
            Self::DataPlane(socket) => DataPlane::new(socket).usage().await.ok().flatten(),
        }
    }
}

impl Place {
    /// The processes of the NGINX of this work directory; `None` if its container does not answer.
    pub async fn processes(&self, paths: &Paths) -> Option<Processes> {
        match self {
            Self::Here(binary) => {
                let (paths, binary) = (paths.clone(), binary.clone());
                tokio::task::spawn_blocking(move || Processes::read(&paths, &binary)).await.ok()
            }
            Self::DataPlane(socket) => DataPlane::new(socket).processes().await.ok(),
        }
    }
}

/// The end of an `nginx -t`.
#[derive(Debug, Clone)]
pub(crate) struct Tested {
    /// Its exit.
    pub(crate) status: ExitStatus,
    /// Everything it printed.
    pub(crate) stderr: String,
}

/// A signal to a process of NGINX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// To read the configuration again.
    Reload,
    /// To finish what was begun, and end.
    Quit,
    /// To end now.
    Terminate,
    /// For what does not obey.
    Kill,
}

impl Order {
    pub(crate) fn signal(self) -> Signal {
        match self {
            Self::Reload => Signal::SIGHUP,
            Self::Quit => Signal::SIGQUIT,
            Self::Terminate => Signal::SIGTERM,
            Self::Kill => Signal::SIGKILL,
        }
    }
}

/// The operations of the state machine on NGINX, and its view of it.
///
/// Where processes can't be seen for the moment, each counts as it was: alive, and accepting connections.
pub(crate) trait Process: Send + Sync {
    /// Runs `nginx -t` on the staged configuration, for so long at most.
    fn test(&self, limit: Duration) -> impl Future<Output = Result<Tested, ApplyError>> + Send;
    /// Starts a master on `nginx.conf`, with the listening sockets that are held open already.
    fn start(&self) -> impl Future<Output = Result<Identity, ApplyError>> + Send;
    /// Sends a signal; nothing to do if the process is gone.
    fn signal(&self, id: Identity, order: Order) -> impl Future<Output = Result<(), ApplyError>> + Send;
    /// Whether the process lives.
    fn alive(&self, id: Identity) -> impl Future<Output = bool> + Send;
    /// Resolves when the process is gone; at once if it already is.
    fn exited(&self, id: Identity) -> impl Future<Output = ()> + Send;
    /// Exit of the master that was started last, if it has ended.
    fn exit_status(&self) -> impl Future<Output = Option<String>> + Send;
    /// The masters that run our configuration. More than one only after a fault.
    fn masters(&self) -> impl Future<Output = Result<Vec<Identity>, DataPlaneError>> + Send;
    /// The workers of a living master.
    fn workers(&self, master: Identity) -> impl Future<Output = Vec<Worker>> + Send;
    /// The workers that a dead master left.
    fn orphans(&self, master: Identity) -> impl Future<Output = Vec<Worker>> + Send;
    /// Those of the workers that live, as they are now.
    fn refresh(&self, workers: &[Identity]) -> impl Future<Output = Vec<Worker>> + Send;
    /// Holds duplicates of the sockets on which these workers listen for the next start, and lets go of those held before.
    /// Their number; 0 where that is not permitted.
    fn hold_listeners(&self, workers: &[Worker]) -> impl Future<Output = usize> + Send;
    /// Whether a process listens on the control socket.
    fn reachable(&self) -> impl Future<Output = bool> + Send;
    /// The state of the worker that takes a new connection.
    fn state(&self) -> impl Future<Output = Option<NginxState>> + Send;
    /// Has the workers end connections in order, because a reload begins, or has failed.
    fn announce(&self, begins: bool) -> impl Future<Output = ()> + Send;
    /// Keeps records and what waits in the dictionaries as they are until the value is dropped.
    fn hold(&self) -> impl Future<Output = Held> + Send;
    /// Removes socket files without a listener; with `control`, the control socket in any case.
    fn clear_sockets(&self, control: bool) -> impl Future<Output = ()> + Send;
    /// The address of a listener on this port; `None` if it is free.
    fn listener_on(&self, port: u16) -> impl Future<Output = Option<String>> + Send;
}

/// The NGINX of a work directory.
#[derive(Debug)]
pub(crate) struct Nginx {
    side: Side,
    paths: Paths,
    client: LiveClient,
}

#[derive(Debug)]
enum Side {
    Here(Box<Local>),
    DataPlane(DataPlane),
}

impl Nginx {
    /// `hidden`: a directory that an NGINX in this container shall not read.
    pub(crate) fn new(place: Place, paths: Paths, client: LiveClient, hidden: Option<&Path>) -> Self {
        let side = match place {
            Place::Here(binary) => Side::Here(Box::new(Local::new(binary, paths.clone(), hidden))),
            Place::DataPlane(socket) => Side::DataPlane(DataPlane::new(&socket)),
        };
        Self { side, paths, client }
    }

    /// The groups of workers that have the control socket open and whose masters are gone.
    pub(crate) async fn masterless(&self) -> Result<Vec<Identity>, DataPlaneError> {
        match &self.side {
            Side::Here(local) => Ok(local.masterless()),
            Side::DataPlane(there) => there.masterless().await,
        }
    }

    /// The parent of a process.
    pub(crate) async fn parent(&self, pid: i32) -> Option<i32> {
        match &self.side {
            Side::Here(_) => procfs::parent(pid),
            Side::DataPlane(there) => there.parent(pid).await.ok().flatten(),
        }
    }

    /// A view of processes that outlives this.
    pub(crate) fn observer(&self) -> Observer {
        match &self.side {
            Side::Here(_) => Observer::Here,
            Side::DataPlane(there) => Observer::DataPlane(there.clone()),
        }
    }
}

/// A view of the processes of a place.
#[derive(Debug, Clone)]
pub(crate) enum Observer {
    Here,
    DataPlane(DataPlane),
}

impl Observer {
    /// Resolves when the process is gone; at once if it already is.
    pub(crate) async fn exited(&self, id: Identity) {
        match self {
            Self::Here => exit::exited(id).await,
            Self::DataPlane(there) => there.until_exited(id).await,
        }
    }

    /// Number of workers of a living master that accept connections; `None` where that can't be seen.
    pub(crate) async fn accepting(&self, master: Identity) -> Option<usize> {
        match self {
            Self::Here => local::accepting(master),
            Self::DataPlane(there) => there.accepting(master).await.ok().flatten(),
        }
    }
}

impl Process for Nginx {
    async fn test(&self, limit: Duration) -> Result<Tested, ApplyError> {
        match &self.side {
            Side::Here(local) => local.test(limit).await,
            Side::DataPlane(there) => there.test(limit).await,
        }
    }

    async fn start(&self) -> Result<Identity, ApplyError> {
        match &self.side {
            Side::Here(local) => local.start(),
            Side::DataPlane(there) => there.start().await,
        }
    }

    async fn signal(&self, id: Identity, order: Order) -> Result<(), ApplyError> {
        match &self.side {
            Side::Here(local) => local.signal(id, order),
            Side::DataPlane(there) => there.signal(id, order).await,
        }
    }

    async fn alive(&self, id: Identity) -> bool {
        match &self.side {
            Side::Here(_) => procfs::alive(id),
            Side::DataPlane(there) => there.alive(id).await.unwrap_or(true),
        }
    }

    async fn exited(&self, id: Identity) {
        self.observer().exited(id).await;
    }

    async fn exit_status(&self) -> Option<String> {
        match &self.side {
            Side::Here(local) => local.exit_status(),
            Side::DataPlane(there) => there.exit_status().await.ok().flatten(),
        }
    }

    async fn masters(&self) -> Result<Vec<Identity>, DataPlaneError> {
        match &self.side {
            Side::Here(local) => Ok(local.masters()),
            Side::DataPlane(there) => there.masters().await,
        }
    }

    async fn workers(&self, master: Identity) -> Vec<Worker> {
        match &self.side {
            Side::Here(_) => local::workers(master),
            Side::DataPlane(there) => there.workers(master).await.unwrap_or_default(),
        }
    }

    async fn orphans(&self, master: Identity) -> Vec<Worker> {
        match &self.side {
            Side::Here(_) => local::orphans(master),
            Side::DataPlane(there) => there.orphans(master).await.unwrap_or_default(),
        }
    }

    async fn refresh(&self, workers: &[Identity]) -> Vec<Worker> {
        let unknown = || workers.iter().map(|id| Worker { id: *id, leaving: false }).collect();
        match &self.side {
            Side::Here(_) => local::refresh(workers),
            Side::DataPlane(_) if workers.is_empty() => Vec::new(),
            Side::DataPlane(there) => there.refresh(workers).await.unwrap_or_else(|_| unknown()),
        }
    }

    async fn hold_listeners(&self, workers: &[Worker]) -> usize {
        match &self.side {
            Side::Here(local) => local.hold_listeners(workers),
            Side::DataPlane(there) => there.hold_listeners(workers).await.unwrap_or(0),
        }
    }

    async fn reachable(&self) -> bool {
        // A full queue of connections is an error too, and means that a process listens.
        let is_absent = |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
        !UnixStream::connect(self.paths.control_socket()).await.is_err_and(is_absent)
    }

    async fn state(&self) -> Option<NginxState> {
        self.client.fresh_state().await.ok()
    }

    async fn hold(&self) -> Held {
        self.client.hold().await
    }

    async fn announce(&self, begins: bool) {
        if let Err(error) = self.client.closing(begins).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "NGINX was not notified of a reload");
        }
    }

    async fn clear_sockets(&self, control: bool) {
        let socket = self.paths.control_socket();
        let inner = self.paths.inner_dir();
        for path in sockets_in(&self.paths.run_dir()).into_iter().chain(sockets_in(&inner)) {
            // The inner ones serve no client without the control socket.
            let ours = control && (path == socket || path.starts_with(&inner));
            let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
            if ours || UnixStream::connect(&path).await.is_err_and(refused) {
                tracing::debug!(path = %path.display(), "removing a leftover socket");
                if let Err(error) = std::fs::remove_file(&path) {
                    tracing::warn!(path = %path.display(), %error, "a leftover socket can't be removed");
                }
            }
        }
    }

    async fn listener_on(&self, port: u16) -> Option<String> {
        match &self.side {
            Side::Here(_) => local::listener_on(port).map(str::to_owned),
            Side::DataPlane(there) => there.listener_on(port).await.ok().flatten(),
        }
    }
}

fn sockets_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket())).map(|entry| entry.path()).collect()
}
