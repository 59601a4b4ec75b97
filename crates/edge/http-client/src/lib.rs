//! HTTP/1.1 to one address: the unix socket of an NGINX or of a controller, or another replica. No TLS, no proxies, no redirects.
//!
//! A connection is driven by the request that uses it: no task is left when that has ended or is dropped.

mod stream;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::header::HOST;
use hyper::{Request, http};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

pub use hyper::body::Bytes;
pub use hyper::{Method, StatusCode};
pub use stream::Stream;

/// The address of requests.
#[derive(Debug, Clone)]
pub enum Address {
    /// A unix socket, which need not exist yet.
    Unix(PathBuf),
    /// A port of an address.
    Tcp(SocketAddr),
}

/// A request.
#[derive(Debug, Clone, Default)]
pub struct Call<'a> {
    /// GET unless it says otherwise.
    pub method: Method,
    /// Path with query; values are escaped ([`escape`]).
    pub target: &'a str,
    /// Names and values besides those of the protocol.
    pub headers: Vec<(&'static str, String)>,
    /// May be empty.
    pub body: String,
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request can't be written: a target or a header has characters that can't stand there.
    #[error("not a request")]
    Invalid(#[from] http::Error),
    /// Nothing listens there.
    #[error("no connection")]
    Connect(#[source] io::Error),
    /// The connection ended before the answer did.
    #[error("the connection broke")]
    Broken(#[from] hyper::Error),
    /// The answer took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
}

/// A client of one address. Clones share the connections that are kept.
#[derive(Clone)]
pub struct Client {
    address: Address,
    kept: Arc<Mutex<Vec<Link>>>,
    most: usize,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({:?})", self.address)
    }
}

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// What reads and writes on a connection.
type Driver = Connection<TokioIo<Box<dyn Socket>>, Full<Bytes>>;

/// A connection.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    connection: Driver,
}

impl Client {
    /// A client that makes a new connection for each request.
    pub fn new(address: Address) -> Self {
        Self::keeping(address, 0)
    }

    /// A client that keeps so many idle connections.
    pub fn keeping(address: Address, most: usize) -> Self {
        Self { address, kept: Arc::default(), most }
    }

    /// Sends a request and waits for the whole answer. A kept connection that has ended meanwhile is passed over.
    ///
    /// # Errors
    /// There is no complete answer within `limit`.
    pub async fn call(&self, call: &Call<'_>, limit: Duration) -> Result<Answer, Error> {
        let exchange = async {
            let request = self.request(call)?;
            let mut link = self.link().await?;
            let (answer, stays) = link.exchange(request).await?;
            let mut kept = self.kept.lock();
            if stays && kept.len() < self.most {
                kept.push(link);
            }
            Ok(answer)
        };
        tokio::time::timeout(limit, exchange).await.unwrap_or(Err(Error::Timeout(limit)))
    }

    fn request(&self, call: &Call<'_>) -> Result<Request<Full<Bytes>>, Error> {
        let host = match &self.address {
            Address::Unix(_) => "localhost".to_owned(),
            Address::Tcp(address) => address.to_string(),
        };
        let request = Request::builder().method(&call.method).uri(call.target).header(HOST, host);
        let request = call.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        Ok(request.body(Full::from(call.body.clone()))?)
    }

    async fn link(&self) -> Result<Link, Error> {
        loop {
            let kept = self.kept.lock().pop();
            match kept {
                None => break,
                Some(mut link) => {
                    if link.is_open().await {
                        return Ok(link);
                    }
                }
            }
        }
        self.connect().await
    }

    /// A new connection.
    async fn connect(&self) -> Result<Link, Error> {
        let stream: Box<dyn Socket> = match &self.address {
            Address::Unix(path) => Box::new(UnixStream::connect(path).await.map_err(Error::Connect)?),
            Address::Tcp(address) => Box::new(TcpStream::connect(address).await.map_err(Error::Connect)?),
        };
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Link { sender, connection })
    }
}

impl Link {
    /// Whether it can take a request.
    async fn is_open(&mut self) -> bool {
        let Self { sender, connection } = self;
        tokio::select! {
            biased;
            _ = connection => false,
            ready = sender.ready() => ready.is_ok(),
        }
    }

    /// The answer, and whether the connection outlives it.
    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<(Answer, bool), hyper::Error> {
        let Self { sender, connection } = self;
        let mut answer = pin!(async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            Ok::<_, hyper::Error>(Answer { status, body: response.into_body().collect().await?.to_bytes() })
        });
        tokio::select! {
            biased;
            answer = &mut answer => Ok((answer?, true)),
            // What it has read of the answer is still there.
            _ = connection => Ok((answer.await?, false)),
        }
    }
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub fn escape(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests;
