//! Requests and answers: one JSON text and a line feed each, one request a connection.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::process::Order;
use crate::procfs::Identity;

/// Version of the protocol. Both containers have the same image, so one is all that each side knows.
pub(crate) const VERSION: u32 = 1;
/// Longest request in bytes, the line feed included.
pub(crate) const LONGEST_REQUEST: u64 = 256 << 10;
/// Longest answer.
pub(crate) const LONGEST_ANSWER: u64 = 2 << 20;
/// Most that an answer has of what `nginx -t` printed: its end.
pub(crate) const LONGEST_OUTPUT: usize = 256 << 10;

/// The version of a request, whatever else it is.
#[derive(Debug, Deserialize)]
pub(crate) struct Versioned {
    pub(crate) version: u32,
}

/// A request on the wire.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) version: u32,
    pub(crate) request: Request,
}

/// What can be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Request {
    /// The NGINX there: [`render::Capabilities`].
    Capabilities,
    /// `nginx -t` on the staged configuration, for so many milliseconds at most: [`TestEnd`].
    Test { limit_ms: u64 },
    /// Listening sockets of these workers for the next start: their number.
    HoldListeners { workers: Vec<Identity> },
    /// A master on `nginx.conf`: its identity.
    Start,
    /// A signal to a process of this NGINX.
    Signal { process: Identity, order: Order },
    /// Whether the process lives.
    Alive { process: Identity },
    /// Whether the process is gone, after it has ended or some seconds.
    Exited { process: Identity },
    /// Exit of the master that was started last, as text, or null.
    ExitStatus,
    /// The masters that run this configuration.
    Masters,
    /// Workers of a living master.
    Workers { master: Identity },
    /// Workers of a dead one.
    Orphans { master: Identity },
    /// Dead masters of which workers have the control socket open.
    Masterless,
    /// Those of the workers that live.
    Refresh { workers: Vec<Identity> },
    /// Number of workers that accept connections, or null.
    Accepting { master: Identity },
    /// The parent of a process, or null.
    Parent { pid: i32 },
    /// The address of a listener on a TCP port, or null.
    Listener { port: u16 },
    /// [`crate::Usage`], or null.
    Usage,
    /// [`crate::Processes`].
    Processes,
    /// Whether the container was asked to end.
    Ending,
}

/// An answer on the wire.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) version: u32,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// What a request came to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// The value that the request asks for; null where it asks for none.
    Ok(Value),
    /// Why there is none.
    Fault(Fault),
}

/// The reasons for which a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Fault {
    /// It is of another version.
    Version { expected: u32, found: u32 },
    /// It can't be read.
    Unreadable { why: String },
    /// The process is none of this NGINX.
    Stranger { pid: i32 },
    /// The container is ending: NGINX is not started or reloaded any more.
    Ending,
    /// `nginx -t` took longer than its limit.
    Late,
    /// NGINX can't be run.
    Spawn { binary: PathBuf, error: SystemError },
    /// The process can't be signalled.
    Signal { error: SystemError },
    /// Something else.
    Failed { why: String },
}

/// An error of the operating system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SystemError {
    number: Option<i32>,
    text: String,
}

impl From<&io::Error> for SystemError {
    fn from(error: &io::Error) -> Self {
        Self { number: error.raw_os_error(), text: error.to_string() }
    }
}

impl From<SystemError> for io::Error {
    fn from(SystemError { number, text }: SystemError) -> Self {
        number.map_or_else(|| Self::other(text), Self::from_raw_os_error)
    }
}

/// The end of an `nginx -t`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TestEnd {
    /// Its status as `wait` gives it.
    pub(crate) status: i32,
    /// What it printed, or the end of that.
    pub(crate) output: String,
}
