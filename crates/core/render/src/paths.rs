//! Where things lie below the work directory. Names only; this crate never touches them.

use std::path::PathBuf;

/// The layout of the work directory: everything that Narthex and NGINX write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The work directory itself; absolute.
    pub work_dir: PathBuf,
}

impl Paths {
    /// The layout below `work_dir`.
    pub fn new(work_dir: impl Into<PathBuf>) -> Self {
        Self { work_dir: work_dir.into() }
    }

    /// The configuration that NGINX runs.
    pub fn conf(&self) -> PathBuf {
        self.work_dir.join("nginx.conf")
    }

    /// Pid file, control socket and error log of the running NGINX. Mode 0700.
    pub fn run_dir(&self) -> PathBuf {
        self.work_dir.join("run")
    }

    /// The unix socket over which live state is posted (`docs/live-protocol.md`).
    pub fn control_socket(&self) -> PathBuf {
        self.run_dir().join("control.sock")
    }

    /// What NGINX's own parts need of each other. Mode 0700, or 0710 with the group of the workers, where these have a user of their own.
    pub fn inner_dir(&self) -> PathBuf {
        self.work_dir.join("inner")
    }

    /// The unix socket on which the http block takes TLS connections from the stream block.
    pub fn https_socket(&self) -> PathBuf {
        self.inner_dir().join("https.sock")
    }

    /// The unix socket for TLS connections that are not decrypted.
    pub fn passthrough_socket(&self) -> PathBuf {
        self.inner_dir().join("pass.sock")
    }

    /// One file for each host whose TLS connections are not decrypted, and for each TCP or UDP service (`docs/live-protocol.md`).
    pub fn stream_map(&self) -> PathBuf {
        self.inner_dir().join("stream_map")
    }

    /// Where NGINX writes a line for each connection to a TCP or UDP service, for the controller.
    pub fn stream_log(&self) -> PathBuf {
        self.run_dir().join("stream.log")
    }

    /// The script that reads them.
    pub fn stream_script(&self) -> PathBuf {
        self.work_dir.join(STREAM_SCRIPT)
    }

    /// The pid of the NGINX master.
    pub fn pid(&self) -> PathBuf {
        self.run_dir().join("nginx.pid")
    }

    /// Where NGINX writes what it refuses (level `emerg`), for reading after a reload.
    pub fn error_log(&self) -> PathBuf {
        self.run_dir().join("error.log")
    }

    /// The Lua modules.
    pub fn lua_dir(&self) -> PathBuf {
        self.work_dir.join("lua")
    }

    /// Key pairs that NGINX reads itself. Mode 0700.
    pub fn certs_dir(&self) -> PathBuf {
        self.work_dir.join("certs")
    }

    /// Chain and key of the static certificate, in one PEM file of mode 0600.
    pub fn static_certificate(&self) -> PathBuf {
        self.work_dir.join(STATIC_CERTIFICATE)
    }

    /// Buffered bodies.
    pub fn temp_dir(&self) -> PathBuf {
        self.work_dir.join("tmp")
    }
}

/// Parameters of DHE, relative to the work directory.
pub(crate) const DH_PARAMETERS: &str = "certs/dhparam.pem";

/// The key of tickets with this number, relative to the work directory.
pub(crate) fn ticket_key(number: usize) -> String {
    format!("certs/tickets-{number}.key")
}

/// [`Paths::static_certificate`] relative to the work directory.
pub(crate) const STATIC_CERTIFICATE: &str = "certs/static.pem";

/// [`Paths::stream_script`] relative to the work directory.
pub(crate) const STREAM_SCRIPT: &str = "njs/stream.js";
