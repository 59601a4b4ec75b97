//! Errors between a file set and a confirmed NGINX.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ngx_proc::ports::{Listener, listener};

use crate::data_plane::DataPlaneError;
use crate::store::StoreError;

/// Whether the same operation can succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not with the same input: only another file set or other flags help.
    Never,
    /// Perhaps: it depends on something outside that may change. Try again with backoff.
    Later,
}

/// A work directory could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// NGINX and its workers have other working directories than we.
    #[error("work directory {0:?} is relative: an absolute path was expected")]
    Relative(PathBuf),
    /// The address of a unix socket is short.
    #[error("the control socket {path:?} has {length} bytes, a unix socket's path at most {limit}: choose a shorter --work-dir")]
    SocketPath {
        /// The control socket.
        path: PathBuf,
        /// Bytes in its path.
        length: usize,
        /// Bytes that are possible.
        limit: usize,
    },
    /// Another user could put anything into it.
    #[error("work directory {path:?} belongs to {owner}, not to {us}: choose another --work-dir")]
    Owner {
        /// The work directory.
        path: PathBuf,
        /// Its owner.
        owner: String,
        /// The user of this process.
        us: String,
    },
    /// Another controller uses the directory.
    #[error("work directory {path:?} is in use by another controller{}: stop it or choose another --work-dir", pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Locked {
        /// The work directory.
        path: PathBuf,
        /// The holder, as far as it said.
        pid: Option<u32>,
    },
    /// Something below the work directory could not be made or repaired.
    #[error("{what} {path:?} failed")]
    WorkDir {
        /// The operation: `making the directory`, ...
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The last good file set could not be put in place again.
    #[error("the last good configuration could not be restored")]
    Store(#[from] StoreError),
    /// There is another data plane on this work directory.
    #[error("another process listens on {0:?}: stop it or choose another --work-dir")]
    Served(PathBuf),
    /// What runs in the container of NGINX is unknown.
    #[error(transparent)]
    DataPlane(#[from] DataPlaneError),
}

impl OpenError {
    /// Whether to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Relative(_) | Self::SocketPath { .. } | Self::Owner { .. } => Retry::Never,
            Self::Locked { .. } | Self::WorkDir { .. } | Self::Store(_) | Self::Served(_) | Self::DataPlane(_) => Retry::Later,
        }
    }
}

/// The complaint of NGINX about a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// NGINX's words without time, pid and place.
    pub message: String,
    /// The file, relative to the work directory; `nginx.conf` unless NGINX names another.
    pub file: String,
    /// The line in it, counted from 1, where NGINX names one.
    pub line: Option<u32>,
    /// Everything that NGINX said.
    pub stderr: String,
}

impl Complaint {
    fn place(&self) -> String {
        self.line.map(|line| format!(" at {}:{line}", self.file)).unwrap_or_default()
    }
}

/// A file set is not what NGINX runs. The files on disk are those of before, and the last known good configuration stays active.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// NGINX doesn't accept the text of the configuration, and won't at another time.
    #[error("NGINX refuses the configuration{}: {}", .0.place(), .0.message)]
    Refused(Complaint),
    /// NGINX doesn't accept the configuration, for something that may lie outside of it: only a test of another one beside it shows.
    #[error("NGINX does not accept the configuration{}: {}", .0.place(), .0.message)]
    Doubtful(Complaint),
    /// `nginx -t` came to no result.
    #[error("the test of the configuration {0}")]
    TestFailed(String),
    /// The master does not take a configuration that passed its test: what it needs beside the text is missing.
    #[error("NGINX does not take the configuration: {0}")]
    NotTaken(String),
    /// A listen port belongs to another process.
    #[error("port {port} on {address}{} is taken by {}", by_flag(*flag), who(holder.as_ref()))]
    PortTaken {
        /// The process, where it is known.
        holder: Option<Listener>,
        /// The address: `0.0.0.0`, `[::]`, ...
        address: String,
        /// The port.
        port: u16,
        /// The flag that sets it.
        flag: Option<&'static str>,
    },
    /// A listen port needs a privilege.
    #[error("port {port} on {address} may not be opened by this user{}: use a port above 1023, root, or CAP_NET_BIND_SERVICE", by_flag(*flag))]
    PortDenied {
        /// The address: `0.0.0.0`, `[::]`, ...
        address: String,
        /// The port.
        port: u16,
        /// The flag that sets it.
        flag: Option<&'static str>,
    },
    /// No worker reported the revision in time.
    #[error("revision {revision} was not confirmed within {waited:.1?}, workers answer {}; {restored}{}", answered.as_deref().unwrap_or("nothing"), said(log))]
    Unconfirmed {
        /// The revision that was expected.
        revision: String,
        /// Time that was waited for it.
        waited: Duration,
        /// The revision that was answered last.
        answered: Option<String>,
        /// The fate of the previous configuration.
        restored: &'static str,
        /// Messages of NGINX in the meantime.
        log: Vec<String>,
    },
    /// The master ended before it answered, or while a configuration was tested beside it.
    #[error("NGINX exited before it served{}{}", status.as_deref().map(|status| format!(" ({status})")).unwrap_or_default(), said(log))]
    Exited {
        /// Its exit, where it is known.
        status: Option<String>,
        /// Its messages.
        log: Vec<String>,
    },
    /// `nginx -t` takes too long: of the text, or the machine is starved.
    #[error("the test of the configuration took longer than {0:?}")]
    TestTimeout(Duration),
    /// The binary could not be run.
    #[error("{binary:?} could not be run")]
    Spawn {
        /// The binary.
        binary: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The master could not be signalled.
    #[error("{signal} could not be sent to NGINX (pid {pid})")]
    Signal {
        /// Its name.
        signal: &'static str,
        /// The master.
        pid: i32,
        /// Why.
        source: io::Error,
    },
    /// The files could not be written or read.
    #[error("the configuration could not be written")]
    Store(#[from] StoreError),
    /// Workers of earlier configurations still finish connections, and another reload would add to them.
    #[error(
        "{old} old workers still finish connections, and a reload begins with fewer than {most} ({} for each current one): it waits until some have ended, at the latest after worker-shutdown-timeout",
        crate::cycle::MOST_OLD_WORKERS
    )]
    ManyOldWorkers {
        /// Number of them.
        old: usize,
        /// The number that is too many.
        most: usize,
    },
    /// The container of NGINX did nothing.
    #[error(transparent)]
    DataPlane(DataPlaneError),
    /// There is no configuration that ever served.
    #[error("no configuration has been confirmed yet: there is nothing to start again")]
    NothingGood,
}

fn by_flag(flag: Option<&str>) -> String {
    flag.map(|flag| format!(" ({flag} sets it)")).unwrap_or_default()
}

fn who(holder: Option<&Listener>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |holder| format!("{} (pid {})", holder.name, holder.pid))
}

fn said(log: &[String]) -> String {
    log.last().map(|line| format!("; its last words: {line}")).unwrap_or_default()
}

impl ApplyError {
    /// The same error, with the process that has a port which is taken.
    pub(crate) fn with_holder(self) -> Self {
        match self {
            Self::PortTaken { address, port, flag, .. } => Self::PortTaken { holder: listener(port), address, port, flag },
            other => other,
        }
    }

    /// Whether to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Refused(_) | Self::PortDenied { .. } | Self::NothingGood => Retry::Never,
            Self::Store(error) => error.retry(),
            _ => Retry::Later,
        }
    }

    /// The value of a metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Doubtful(_) => "doubtful",
            Self::TestFailed(_) => "test_failed",
            Self::NotTaken(_) => "not_taken",
            Self::PortTaken { .. } => "port_taken",
            Self::PortDenied { .. } => "port_denied",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::Exited { .. } => "exited",
            Self::TestTimeout(_) => "test_timeout",
            Self::Spawn { .. } => "spawn",
            Self::Signal { .. } => "signal",
            Self::Store(_) => "store",
            Self::ManyOldWorkers { .. } => "many_old_workers",
            Self::DataPlane(_) => "data_plane",
            Self::NothingGood => "nothing_good",
        }
    }
}
