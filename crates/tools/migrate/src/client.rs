//! A small HTTP/1 client: one controller, any host, redirects not followed, certificates taken as they are.

mod pool;
mod tls;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable};
use http_body_util::{BodyExt, Empty};
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::answer::{self, Answer, Failure, FailureKind, RequestOutcome};
use crate::request::{Request, Scheme};
use pool::{Link, Pool, Use};

/// The user agent that backends see.
const AGENT: &str = concat!("narthex-compare/", env!("CARGO_PKG_VERSION"));
/// Bytes of a body that are read; what is beyond is not looked at, and the connection is not used again.
const BODY_LIMIT: usize = 1024 * 1024;
/// Time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(200);

/// The parts of answers that are looked at.
#[derive(Debug, Clone, Default)]
pub struct Seeing {
    /// Compare bodies.
    pub body: bool,
    /// Backends are echo servers: read the backend that answered, and the target that it saw.
    pub echo: bool,
    /// Header with the backend that answered, in lower case.
    pub backend_header: Option<String>,
}

/// Settings for requests.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Longest wait for the head of an answer, and for its body.
    pub timeout: Duration,
    /// Attempts to connect after the first.
    pub retries: u32,
    /// The parts that are looked at.
    pub seeing: Seeing,
    /// More headers, for every request.
    pub headers: Vec<(String, String)>,
}

/// A client for one controller.
pub struct Client {
    address: Address,
    settings: Settings,
    tls: Arc<ClientConfig>,
    pool: Pool,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

/// TLS can't be set up in this process.
#[derive(Debug, thiserror::Error)]
#[error("TLS can't be set up")]
pub struct NoTls(#[from] rustls::Error);

impl Client {
    /// A client without connections.
    ///
    /// # Errors
    /// [`NoTls`].
    pub fn new(address: Address, settings: Settings) -> Result<Self, NoTls> {
        Ok(Self { address, settings, tls: tls::configuration()?, pool: Pool::default() })
    }

    /// Sends a request and reads the answer. Only a connection that can't be made, or one that had been idle and was found closed, is tried again.
    pub async fn ask(&self, request: &Request) -> RequestOutcome {
        let deadline = Instant::now() + self.settings.timeout;
        let wanted: Use = (request.scheme, request.host.clone());
        // What may have been received once is not sent twice, unless that does no harm.
        let repeatable = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        if repeatable && let Some(link) = self.pool.take(&wanted) {
            match self.exchange(link, request, deadline).await {
                Err(failure) if failure.kind == FailureKind::Broken => {}
                outcome => return outcome,
            }
        }
        let link = self.connect(&wanted).await?;
        self.exchange(link, request, Instant::now() + self.settings.timeout).await
    }

    /// `true` if something listens that speaks the scheme. A refused handshake is fine: another name may be served.
    pub(crate) async fn reach(&self, scheme: Scheme, host: &str) -> Result<(), Failure> {
        let wanted: Use = (scheme, host.to_owned());
        match self.connect(&wanted).await {
            Ok(link) => self.pool.put(wanted, link),
            Err(failure) if matches!(failure.kind, FailureKind::Connect | FailureKind::Timeout | FailureKind::NoTls) => {
                return Err(failure);
            }
            Err(_) => {}
        }
        Ok(())
    }

    async fn connect(&self, wanted: &Use) -> Result<Link, Failure> {
        let attempt = async || {
            let opened = timeout(self.settings.timeout, self.open(wanted)).await;
            opened.unwrap_or_else(|_| Err(failure(FailureKind::Timeout, format!("connecting to {}", self.address))))
        };
        let pauses = ConstantBuilder::new().with_delay(PAUSE).with_max_times(self.settings.retries as usize);
        attempt.retry(pauses).when(|failure: &Failure| failure.kind == FailureKind::Connect).await
    }

    async fn open(&self, (scheme, host): &Use) -> Result<Link, Failure> {
        let Some(port) = self.address.port(*scheme) else {
            return Err(failure(FailureKind::Connect, format!("{} has no port for {}", self.address, scheme.label())));
        };
        let stream = TcpStream::connect((self.address.host.as_str(), port)).await;
        let stream = stream.map_err(|error| failure(FailureKind::Connect, format!("{} port {port}: {error}", self.address.host)))?;
        // Small requests wait for nothing; a socket that refuses the option works all the same.
        let _ = stream.set_nodelay(true);
        if *scheme == Scheme::Http {
            return handshake(stream, None).await;
        }
        let name =
            ServerName::try_from(host.clone()).map_err(|_| failure(FailureKind::Unsendable, format!("{host:?} is no name for TLS")))?;
        let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await;
        let stream = stream.map_err(|error| failure(tls::kind(&error), error.to_string()))?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first()).map(|leaf| tls::shown(leaf));
        handshake(stream, certificate).await
    }

    async fn exchange(&self, mut link: Link, request: &Request, deadline: Instant) -> RequestOutcome {
        let message = self.message(request)?;
        let broken = |error: hyper::Error| failure(FailureKind::Broken, error.to_string());
        let sent = async {
            link.sender.ready().await.map_err(broken)?;
            link.sender.send_request(message).await.map_err(broken)
        };
        let response = timeout_at(deadline, sent).await.unwrap_or_else(|_| Err(failure(FailureKind::Timeout, self.address.to_string())))?;
        let certificate = link.certificate.clone();
        let (mut answer, body) = self.head(response);
        answer.certificate = certificate;
        let whole = timeout_at(deadline, read(body)).await;
        let (bytes, ended) = whole.unwrap_or_default();
        self.body(&mut answer, &bytes, ended);
        if ended && link.sender.ready().await.is_ok() {
            self.pool.put((request.scheme, request.host.clone()), link);
        }
        Ok(answer)
    }

    fn message(&self, request: &Request) -> Result<hyper::Request<Empty<Bytes>>, Failure> {
        let mut builder = hyper::Request::builder().method(request.method.as_str()).uri(request.target.as_str());
        builder = builder.header("host", &request.host).header("user-agent", AGENT).header("accept", "*/*");
        for (name, value) in self.settings.headers.iter().chain(&request.headers) {
            builder = builder.header(name, value);
        }
        builder.body(Empty::new()).map_err(|error| failure(FailureKind::Unsendable, error.to_string()))
    }

    fn head(&self, response: Response<Incoming>) -> (Answer, Incoming) {
        let (parts, body) = response.into_parts();
        let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let raw: Vec<(String, String)> = parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
        let first = |name: &str| raw.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        let backend_header = self.settings.seeing.backend_header.clone();
        let answer = Answer {
            status: parts.status.as_u16(),
            location: first("location").map(|text| answer::location(&text, &self.address)),
            backend: backend_header.as_deref().and_then(first),
            headers: answer::headers(
                raw.iter().map(|(name, value)| (name.as_str(), value.as_str())),
                &backend_header.into_iter().collect::<BTreeSet<_>>(),
            ),
            ..Answer::default()
        };
        (answer, body)
    }

    fn body(&self, answer: &mut Answer, bytes: &[u8], ended: bool) {
        if self.settings.seeing.echo {
            let echoed = crate::echo::read(bytes);
            answer.backend = answer.backend.take().or(echoed.backend);
            answer.target = echoed.target;
        }
        if self.settings.seeing.body && ended {
            answer.body = Some(const_hex::encode(Sha256::digest(bytes)));
        }
    }
}

fn failure(kind: FailureKind, detail: String) -> Failure {
    Failure { kind, detail }
}

async fn handshake<S>(stream: S, certificate: Option<answer::Shown>) -> Result<Link, Failure>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| failure(FailureKind::Broken, error.to_string()))?;
    let driver = tokio::spawn(async move {
        // What ends a connection shows in the request that was on it.
        let _ = connection.await;
    });
    Ok(Link { sender, driver, certificate })
}

/// The beginning of a body, and whether that is all of it.
async fn read(mut body: Incoming) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return (bytes, false) };
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(data);
            if bytes.len() > BODY_LIMIT {
                return (bytes, false);
            }
        }
    }
    (bytes, true)
}

#[cfg(test)]
mod tests;
