//! The seam to the real NGINX: running it, signalling it, asking it. The state machine above is tested over a fake.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use parking_lot::Mutex;
use render::Paths;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use crate::error::ApplyError;
use crate::live::LiveClient;
use crate::procfs::{self, Identity, Worker};
use crate::sockets;
use crate::state::NginxState;

/// The end of an `nginx -t`.
#[derive(Debug, Clone)]
pub(crate) struct Tested {
    /// Its exit.
    pub(crate) status: ExitStatus,
    /// Everything it printed.
    pub(crate) stderr: String,
}

/// The operations of the state machine on NGINX, and its view of it.
pub(crate) trait Process: Send + Sync {
    /// Runs `nginx -t` on a configuration file, for so long at most.
    fn test(&self, conf: &Path, limit: Duration) -> impl Future<Output = Result<Tested, ApplyError>> + Send;
    /// Starts a master on `nginx.conf`, with these listening sockets already open.
    fn start(&self, sockets: Vec<OwnedFd>) -> Result<Identity, ApplyError>;
    /// Sends a signal.
    fn signal(&self, id: Identity, signal: Signal) -> Result<(), ApplyError>;
    /// Whether the process lives.
    fn alive(&self, id: Identity) -> bool;
    /// Exit of the master that was started last, if it has ended.
    fn exit_status(&self) -> Option<String>;
    /// The masters that run our configuration. More than one only after a fault.
    fn masters(&self) -> Vec<Identity>;
    /// The workers of a living master.
    fn workers(&self, master: Identity) -> Vec<Worker>;
    /// The workers that a dead master left.
    fn orphans(&self, master: Identity) -> Vec<Worker>;
    /// The worker as it is now; `None` when it is gone.
    fn refresh(&self, worker: Identity) -> Option<Worker>;
    /// Duplicates of the sockets on which these workers listen; none where that is not permitted.
    fn listening(&self, workers: &[Worker]) -> Vec<OwnedFd>;
    /// Whether a process listens on the control socket.
    fn reachable(&self) -> impl Future<Output = bool> + Send;
    /// The state of the worker that takes a new connection.
    fn state(&self) -> impl Future<Output = Option<NginxState>> + Send;
    /// Has the workers end connections in order, because a reload begins, or has failed.
    fn announce(&self, begins: bool) -> impl Future<Output = ()> + Send;
    /// Removes socket files without a listener; with `control`, the control socket in any case.
    fn clear_sockets(&self, control: bool) -> impl Future<Output = ()> + Send;
    /// The address of a listener on this port; `None` if it is free.
    fn listener_on(&self, port: u16) -> Option<&'static str>;
}

/// For the allocator of glibc, unless the operator says otherwise. Each `map` in the configuration has NGINX take, clear and give back 1.2 MB, in pieces
/// that are by default fresh from the kernel each time: three quarters of the time that it takes to read our configuration, and a reload reads it twice.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "1048576"), ("MALLOC_TRIM_THRESHOLD_", "4194304")];

/// The NGINX of this machine.
#[derive(Debug)]
pub(crate) struct Nginx {
    binary: PathBuf,
    paths: Paths,
    client: LiveClient,
    child: Mutex<Option<Child>>,
}

impl Nginx {
    pub(crate) fn new(binary: PathBuf, paths: Paths, client: LiveClient) -> Self {
        Self { binary, paths, client, child: Mutex::new(None) }
    }

    fn command(&self, conf: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("-c").arg(conf).arg("-p").arg(&self.paths.work_dir).env_remove("NGINX").stdin(Stdio::null());
        command.envs(ALLOCATOR.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()));
        command
    }

    fn spawn_error(&self) -> impl FnOnce(io::Error) -> ApplyError {
        let binary = self.binary.clone();
        move |source| ApplyError::Spawn { binary, source }
    }
}

impl Process for Nginx {
    async fn test(&self, conf: &Path, limit: Duration) -> Result<Tested, ApplyError> {
        let mut command = self.command(conf);
        command.args(["-t", "-e", "stderr"]).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let child = command.spawn().map_err(self.spawn_error())?;
        let output = tokio::time::timeout(limit, child.wait_with_output()).await;
        let output = output.map_err(|_| ApplyError::TestTimeout(limit))?.map_err(self.spawn_error())?;
        Ok(Tested { status: output.status, stderr: String::from_utf8_lossy(&output.stderr).into_owned() })
    }

    /// In a process group of its own, with our standard output and error and no pipe to us: it outlives us.
    fn start(&self, sockets: Vec<OwnedFd>) -> Result<Identity, ApplyError> {
        let mut command = self.command(&self.paths.conf());
        command.arg("-e").arg(self.paths.error_log()).process_group(0);
        // Its access log opens /dev/stdout again, which a socket (of a journal, say) or another user's terminal refuses.
        if let Err(error) = std::fs::OpenOptions::new().append(true).open("/dev/stdout") {
            tracing::warn!(%error, "standard output can't be opened by NGINX: an access log to it is dropped; set access-log-path to a file");
            command.stdout(std::process::Stdio::null());
        }
        if !sockets.is_empty() {
            command.env("NGINX", sockets::inherit_env(&sockets));
        }
        let child = command.spawn().map_err(self.spawn_error())?;
        let pid = child.id().map_or(0, |pid| pid as i32);
        *self.child.lock() = Some(child);
        // A child that was not waited for keeps its pid, so a missing identity means that it is a zombie already, or that `/proc` can't be read.
        Ok(procfs::identity(pid).unwrap_or(Identity { pid, start: 0 }))
    }

    fn signal(&self, id: Identity, signal: Signal) -> Result<(), ApplyError> {
        if !procfs::alive(id) {
            return Ok(());
        }
        let sent = signal::kill(Pid::from_raw(id.pid), signal);
        sent.map_err(|errno| ApplyError::Signal { signal: signal.as_str(), pid: id.pid, source: errno.into() })
    }

    fn alive(&self, id: Identity) -> bool {
        procfs::alive(id)
    }

    fn exit_status(&self) -> Option<String> {
        let mut child = self.child.lock();
        child.as_mut()?.try_wait().ok()?.map(|status| status.to_string())
    }

    fn masters(&self) -> Vec<Identity> {
        let conf = self.paths.conf();
        procfs::pids().into_iter().filter(|&pid| procfs::is_master(pid, &self.binary, &conf)).filter_map(procfs::identity).collect()
    }

    fn workers(&self, master: Identity) -> Vec<Worker> {
        if procfs::alive(master) { procfs::workers(master.pid) } else { Vec::new() }
    }

    fn orphans(&self, master: Identity) -> Vec<Worker> {
        let mut workers = procfs::orphans(master.pid);
        // A note from before a reboot names a number that others may bear now.
        workers.retain(|worker| worker.id.start >= master.start);
        workers
    }

    fn refresh(&self, worker: Identity) -> Option<Worker> {
        // In a container we may be the init process, which orphans become children of. For others this fails, and may.
        let _ = waitpid(Pid::from_raw(worker.pid), Some(WaitPidFlag::WNOHANG));
        procfs::refresh(worker)
    }

    fn listening(&self, workers: &[Worker]) -> Vec<OwnedFd> {
        sockets::listening(workers)
    }

    async fn reachable(&self) -> bool {
        // A full queue of connections is an error too, and means that a process listens.
        let is_absent = |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
        !UnixStream::connect(self.paths.control_socket()).await.is_err_and(is_absent)
    }

    async fn state(&self) -> Option<NginxState> {
        self.client.fresh_state().await.ok()
    }

    fn listener_on(&self, port: u16) -> Option<&'static str> {
        let taken = |address: &(&'static str, std::net::SocketAddr)| {
            std::net::TcpListener::bind(address.1).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
        };
        let any = [("0.0.0.0", (std::net::Ipv4Addr::UNSPECIFIED, port).into()), ("[::]", (std::net::Ipv6Addr::UNSPECIFIED, port).into())];
        any.iter().find(|address| taken(address)).map(|(name, _)| *name)
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
}

fn sockets_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket())).map(|entry| entry.path()).collect()
}
