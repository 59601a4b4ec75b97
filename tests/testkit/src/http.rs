//! A client that sends exactly what a test says.
//!
//! The target is not parsed, normalised or escaped; headers go out in the given order and spelling, and none is added but `Host` (with
//! [`Request::host`]) and the length of a body. Redirects are not followed, and any server certificate is taken and handed back.

mod connection;
mod head;
pub(crate) mod tls;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

pub use connection::{Connection, Unanswered, raw, raw_tls};
pub(crate) use tls::connect as connect_tls;

/// Longest time of a request unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The destination of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// TCP.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<PathBuf> for Peer {
    fn from(path: PathBuf) -> Self {
        Self::Unix(path)
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The value of `Authorization` for a name and a password.
pub fn basic(user: &str, password: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = "Basic ".to_owned();
    for part in format!("{user}:{password}").as_bytes().chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(part.get(at).copied().unwrap_or(0)));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit <= part.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
    out
}

/// One HTTP/1.1 request.
#[derive(Debug, Clone)]
pub struct Request {
    peer: Peer,
    source: Option<IpAddr>,
    sni: Option<String>,
    identity: Option<(String, String)>,
    prelude: Vec<u8>,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    pub(crate) timeout: Duration,
}

impl Request {
    /// A GET. `target` is what stands in the request line: `/a%2Fb//c?d`, or `*`, or anything.
    pub fn get(peer: impl Into<Peer>, target: impl Into<String>) -> Self {
        Self::new("GET", peer, target)
    }

    /// Any method.
    pub fn new(method: impl Into<String>, peer: impl Into<Peer>, target: impl Into<String>) -> Self {
        Self {
            peer: peer.into(),
            source: None,
            sni: None,
            identity: None,
            prelude: Vec::new(),
            method: method.into(),
            target: target.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: TIMEOUT,
        }
    }

    /// The Host header. Without it none is sent.
    #[must_use]
    pub fn host(self, host: impl Into<String>) -> Self {
        self.header("Host", host)
    }

    /// One more header line, spelled so.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The body, with a `Content-Length` unless the headers frame it already.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Over TLS, with this server name (an empty one: TLS without SNI).
    #[must_use]
    pub fn tls(mut self, server_name: impl Into<String>) -> Self {
        self.sni = Some(server_name.into());
        self
    }

    /// With this certificate and key, both in PEM, if the server asks for one.
    #[must_use]
    pub fn identity(mut self, certificate_pem: &str, key_pem: &str) -> Self {
        self.identity = Some((certificate_pem.to_owned(), key_pem.to_owned()));
        self
    }

    /// Sends these bytes before anything else, TLS included: a header of the PROXY protocol.
    #[must_use]
    pub fn prelude(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.prelude = bytes.into();
        self
    }

    /// The same request from this local address.
    #[must_use]
    pub fn source(mut self, address: impl Into<IpAddr>) -> Self {
        self.source = Some(address.into());
        self
    }

    /// The same request to another address, at the port that it has.
    #[must_use]
    pub fn at(mut self, address: IpAddr) -> Self {
        if let Peer::Tcp(peer) = &mut self.peer {
            peer.set_ip(address);
        }
        self
    }

    /// Gives up after this time, 10 s unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends it over a connection of its own.
    ///
    /// # Errors
    /// Connecting, the handshake, or reading a whole answer failed, or took too long. Any status is an answer.
    pub async fn send(self) -> anyhow::Result<Response> {
        let exchange = async { Connection::open(&self).await?.send(&self).await };
        let within = tokio::time::timeout(self.timeout, exchange).await;
        let answer = within.unwrap_or_else(|_| Err(anyhow::anyhow!("no whole answer within {:?}", self.timeout)));
        answer.with_context(|| format!("{} {} to {}", self.method, self.target, self.peer))
    }

    /// The bytes that go out.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let framed =
            self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case("content-length") || n.eq_ignore_ascii_case("transfer-encoding"));
        if !self.body.is_empty() && !framed {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A whole answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: String,
    /// Header lines in the order of arrival, names as spelled.
    pub headers: Vec<(String, String)>,
    /// The body, chunks joined.
    pub body: Vec<u8>,
    /// The server's certificate chain in DER, leaf first; empty without TLS.
    pub certificates: Vec<Vec<u8>>,
    /// Negotiated TLS version such as `TLSv1_3`; `None` without TLS.
    pub tls_version: Option<String>,
}

impl Response {
    /// First value of a header, name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Every value of a header, name in any case.
    pub fn header_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that aren't UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
