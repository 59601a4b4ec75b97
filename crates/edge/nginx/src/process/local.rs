//! The processes of NGINX in this container.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use parking_lot::Mutex;
use render::Paths;
use tokio::process::{Child, Command};

use super::fence::Fence;
use super::{Order, Tested};
use crate::error::ApplyError;
use crate::procfs::{self, Identity, Worker};
use crate::{sockets, store};

/// For the allocator of glibc, unless the operator says otherwise. Each `map` in the configuration has NGINX take, clear and give back 1.2 MB, in pieces
/// that are by default fresh from the kernel each time: three quarters of the time that it takes to read our configuration, and a reload reads it twice.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "1048576"), ("MALLOC_TRIM_THRESHOLD_", "4194304")];

/// The NGINX of this container.
#[derive(Debug)]
pub(crate) struct Local {
    binary: PathBuf,
    paths: Paths,
    child: Mutex<Option<Child>>,
    /// Hides our token.
    fence: Option<Fence>,
    /// Listening sockets for the next start.
    held: Mutex<Vec<OwnedFd>>,
}

impl Local {
    /// `hidden`: a directory that NGINX shall not read.
    pub(crate) fn new(binary: PathBuf, paths: Paths, hidden: Option<&Path>) -> Self {
        let fence = hidden.and_then(Fence::around);
        Self { binary, paths, child: Mutex::new(None), fence, held: Mutex::default() }
    }

    fn spawn(&self, mut command: Command) -> io::Result<Child> {
        match &self.fence {
            Some(fence) => fence.spawn(command),
            None => command.spawn(),
        }
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

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(crate) fn paths(&self) -> &Paths {
        &self.paths
    }

    pub(crate) async fn test(&self, limit: Duration) -> Result<Tested, ApplyError> {
        let mut command = self.command(&store::staged_conf(&self.paths));
        command.args(["-t", "-e", "stderr"]).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let child = self.spawn(command).map_err(self.spawn_error())?;
        let output = tokio::time::timeout(limit, child.wait_with_output()).await;
        let output = output.map_err(|_| ApplyError::TestTimeout(limit))?.map_err(self.spawn_error())?;
        Ok(Tested { status: output.status, stderr: String::from_utf8_lossy(&output.stderr).into_owned() })
    }

    /// In a process group of its own, with our standard output and error and no pipe to us: it outlives us.
    pub(crate) fn start(&self) -> Result<Identity, ApplyError> {
        let sockets = std::mem::take(&mut *self.held.lock());
        let mut command = self.command(&self.paths.conf());
        command.arg("-e").arg(self.paths.error_log()).process_group(0);
        // Its access log opens /dev/stdout again, which a socket (of a journal, say) or another user's terminal refuses.
        if let Err(error) = std::fs::OpenOptions::new().append(true).open("/dev/stdout") {
            tracing::warn!(%error, "standard output can't be opened by NGINX: an access log to it is dropped; set access-log-path to a file");
            command.stdout(Stdio::null());
        }
        if !sockets.is_empty() {
            command.env("NGINX", sockets::inherit_env(&sockets));
        }
        let child = self.spawn(command).map_err(self.spawn_error())?;
        let pid = child.id().map_or(0, |pid| pid as i32);
        *self.child.lock() = Some(child);
        // A child that was not waited for keeps its pid, so a missing identity means that it is a zombie already, or that `/proc` can't be read.
        Ok(procfs::identity(pid).unwrap_or(Identity { pid, start: 0 }))
    }

    pub(crate) fn signal(&self, id: Identity, order: Order) -> Result<(), ApplyError> {
        if !procfs::alive(id) {
            return Ok(());
        }
        let signal = order.signal();
        let sent = signal::kill(Pid::from_raw(id.pid), signal);
        sent.map_err(|errno| ApplyError::Signal { signal: signal.as_str(), pid: id.pid, source: errno.into() })
    }

    /// Whether a process is one of this NGINX, a master that has not set its title yet included.
    pub(crate) fn is_ours(&self, id: Identity) -> bool {
        let is_child = self.child.lock().as_ref().and_then(Child::id) == u32::try_from(id.pid).ok();
        is_child || procfs::is_master(id.pid, &self.binary, &self.paths.conf()) || procfs::refresh(id).is_some()
    }

    pub(crate) fn exit_status(&self) -> Option<String> {
        let mut child = self.child.lock();
        child.as_mut()?.try_wait().ok()?.map(|status| status.to_string())
    }

    pub(crate) fn masters(&self) -> Vec<Identity> {
        let conf = self.paths.conf();
        procfs::pids().into_iter().filter(|&pid| procfs::is_master(pid, &self.binary, &conf)).filter_map(procfs::identity).collect()
    }

    pub(crate) fn masterless(&self) -> Vec<Identity> {
        let groups = procfs::groups_on(&self.paths.control_socket());
        groups.into_iter().filter(|pid| procfs::identity(*pid).is_none()).map(|pid| Identity { pid, start: 0 }).collect()
    }

    pub(crate) fn hold_listeners(&self, workers: &[Worker]) -> usize {
        let found = sockets::listening(workers);
        let count = found.len();
        *self.held.lock() = found;
        count
    }
}

pub(crate) fn workers(master: Identity) -> Vec<Worker> {
    if procfs::alive(master) { procfs::workers(master.pid) } else { Vec::new() }
}

pub(crate) fn accepting(master: Identity) -> Option<usize> {
    // Nothing is known where `/proc` can't be read.
    procfs::accepting(master.pid).filter(|_| procfs::alive(master))
}

pub(crate) fn orphans(master: Identity) -> Vec<Worker> {
    let mut workers = procfs::orphans(master.pid);
    // A note from before a reboot names a number that others may bear now.
    workers.retain(|worker| worker.id.start >= master.start);
    workers
}

pub(crate) fn refresh(workers: &[Identity]) -> Vec<Worker> {
    let now = |worker: &Identity| {
        // In a container we may be the init process, which orphans become children of. For others this fails, and may.
        let _ = waitpid(Pid::from_raw(worker.pid), Some(WaitPidFlag::WNOHANG));
        procfs::refresh(*worker)
    };
    workers.iter().filter_map(now).collect()
}

pub(crate) fn listener_on(port: u16) -> Option<&'static str> {
    let is_taken = |address: SocketAddr| TcpListener::bind(address).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
    let any = [("0.0.0.0", (Ipv4Addr::UNSPECIFIED, port).into()), ("[::]", (Ipv6Addr::UNSPECIFIED, port).into())];
    any.into_iter().find(|(_, address)| is_taken(*address)).map(|(name, _)| name)
}
