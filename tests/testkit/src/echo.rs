//! A server that answers with what it saw.
//!
//! The answer is a text by default (first lines about the server, then the request line, then every header as `name=value`), or JSON when
//! the server was started so or the request says `Accept: application/json`; [`Seen`] reads both.
//!
//! A request may ask for something else, in its query or in headers:
//!
//! | query | header | effect |
//! |---|---|---|
//! | path `/status/503` | | this status, with an empty body |
//! | `status=503` | `x-echo-status: 503` | this status |
//! | `delay_ms=100` | `x-echo-delay-ms: 100` | wait before the answer |
//! | `size=N` | `x-echo-size: N` | a body of N bytes `x` instead |
//! | `close=1` | `x-echo-close: 1` | close the connection without an answer |
//! | | `x-echo-header: name: value` | one more response header, may be repeated |

mod answer;
mod seen;
mod server;
pub mod tls;

pub use seen::Seen;
pub use server::{Handle, start, start_tls};

/// The identity that a server answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name of the server: of the Pod, or any text that tells one server from another.
    pub name: String,
    /// Service it belongs to, may be empty.
    pub service: String,
    /// Namespace of the Pod, may be empty.
    pub namespace: String,
    /// The form of its answers when the request doesn't say.
    pub format: Format,
}

impl Identity {
    /// A server known by its name alone.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// The two shapes of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Lines `name=value`.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

impl std::str::FromStr for Format {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            other => anyhow::bail!("echo format {other:?} is unknown: expected \"text\" or \"json\""),
        }
    }
}
