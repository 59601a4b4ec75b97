//! A connection that carries one request after the other.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Waker};

use anyhow::Context as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream, UnixStream};

use super::head::{Framing, framing, keeps_alive, parse};
use super::{Peer, Request, Response, tls};

/// Longest head that is read.
const HEAD_LIMIT_BYTES: usize = 256 * 1024;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An open connection to one peer.
pub struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    certificates: Vec<Vec<u8>>,
    tls_version: Option<String>,
    open: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("open", &self.open).field("tls_version", &self.tls_version).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to where `request` goes, in the way it says (source address, TLS), without sending it.
    ///
    /// # Errors
    /// The peer refuses, or the handshake fails. Waits as long as the kernel does.
    pub async fn open(request: &Request) -> anyhow::Result<Self> {
        let address = match &request.peer {
            Peer::Tcp(address) => *address,
            Peer::Unix(path) => {
                let stream = UnixStream::connect(path).await.with_context(|| format!("connect to {}", path.display()))?;
                return Ok(Self::over(Box::new(stream)));
            }
        };
        let stream = tcp(address, request).await.with_context(|| format!("connect to {address}"))?;
        let Some(server_name) = &request.sni else { return Ok(Self::over(Box::new(stream))) };
        let stream = tls::connect(stream, server_name, &[], request.identity.as_ref()).await?;
        let session = stream.get_ref().1;
        let certificates = session.peer_certificates().unwrap_or_default().iter().map(|c| c.to_vec()).collect();
        let tls_version = session.protocol_version().map(|version| format!("{version:?}"));
        Ok(Self { certificates, tls_version, ..Self::over(Box::new(stream)) })
    }

    fn over(stream: Box<dyn Stream>) -> Self {
        Self { stream: BufReader::new(stream), certificates: Vec::new(), tls_version: None, open: true }
    }

    /// Whether another request can follow, as far as the last answer says.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether another request can follow: no header forbids it, and the peer has not closed meanwhile, as far as that has arrived.
    pub fn is_idle(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        self.open && Pin::new(&mut self.stream).poll_fill_buf(&mut context).is_pending()
    }

    /// Sends a request and reads its whole answer; interim answers (1xx) are passed over. Where the request goes is not looked at again.
    ///
    /// # Errors
    /// The connection ended first, or the answer is not HTTP/1. [`Unanswered`] is in the chain when not a byte of an answer came.
    pub async fn send(&mut self, request: &Request) -> anyhow::Result<Response> {
        anyhow::ensure!(self.open, "the connection is closed after its last answer");
        self.open = false;
        // A server may answer and close before it has read a large body: its answer counts, the write error doesn't.
        let sent = self.stream.write_all(&request.bytes()).await;
        let flushed = if sent.is_ok() { self.stream.flush().await } else { sent };
        let mut response = match (self.head().await, flushed) {
            (Ok(response), _) => response,
            (Err(error), Ok(())) => return Err(error),
            (Err(_), Err(error)) => return Err(anyhow::Error::new(error).context(Unanswered)),
        };
        let framing = framing(&request.method, &response)?;
        response.body = self.body(framing).await.with_context(|| format!("body of an answer {}", response.status))?;
        response.certificates.clone_from(&self.certificates);
        response.tls_version.clone_from(&self.tls_version);
        self.open = keeps_alive(framing, &response);
        Ok(response)
    }

    /// Sends bytes as they are and returns all that comes until the peer closes.
    ///
    /// # Errors
    /// Writing failed, or the peer did not close within 10 s.
    pub async fn exchange(mut self, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
        tokio::time::timeout(super::TIMEOUT, exchange(&mut self.stream, bytes)).await?.context("an exchange of bytes")
    }

    /// What the peer showed in the handshake, in DER.
    pub fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    async fn head(&mut self) -> anyhow::Result<Response> {
        loop {
            if self.stream.fill_buf().await.context(Unanswered)?.is_empty() {
                anyhow::bail!(Unanswered);
            }
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let read = self.stream.read_until(b'\n', &mut head).await.context("head of an answer")?;
                anyhow::ensure!(read > 0, "the connection ended within the head of an answer: {:?}", String::from_utf8_lossy(&head));
                anyhow::ensure!(head.len() <= HEAD_LIMIT_BYTES, "the head of an answer is longer than {HEAD_LIMIT_BYTES} bytes");
            }
            head.truncate(head.len() - 4);
            let response = parse(&String::from_utf8_lossy(&head))?;
            if response.status >= 200 || response.status == 101 {
                return Ok(response);
            }
        }
    }

    async fn body(&mut self, framing: Framing) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        match framing {
            Framing::Length(length) => {
                body.resize(length, 0);
                self.stream.read_exact(&mut body).await.with_context(|| format!("it ended before its {length} bytes"))?;
            }
            Framing::Close => {
                self.stream.read_to_end(&mut body).await?;
            }
            Framing::Chunked => loop {
                let line = self.line().await?;
                let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
                let size = size.with_context(|| format!("chunk size {line:?} is not hexadecimal"))?;
                if size == 0 {
                    while !self.line().await?.is_empty() {}
                    break;
                }
                let start = body.len();
                body.resize(start + size, 0);
                self.stream.read_exact(&mut body[start..]).await.context("it ended within a chunk")?;
                let end = self.line().await?;
                anyhow::ensure!(end.is_empty(), "a chunk of {size} bytes is followed by {end:?}");
            },
        }
        Ok(body)
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).await?;
        anyhow::ensure!(read > 0, "it ended before its last chunk");
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

/// The connection ended before the first byte of an answer: on a reused one the server may just have closed it.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the connection ended without an answer")]
pub struct Unanswered;

async fn tcp(address: SocketAddr, request: &Request) -> std::io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(source) = request.source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    let mut stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&request.prelude).await?;
    Ok(stream)
}

/// Sends bytes as they are and returns all that comes until the peer closes.
///
/// # Errors
/// Connecting or writing failed, or the peer didn't close within 10 s.
pub async fn raw(address: SocketAddr, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let exchange = async { Ok(exchange(TcpStream::connect(address).await?, bytes).await?) };
    within(exchange, address).await
}

/// The same over TLS, as `server_name`.
///
/// # Errors
/// As [`raw`], or the handshake failed.
pub async fn raw_tls(address: SocketAddr, server_name: &str, bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let exchange = async {
        let stream = tls::connect(TcpStream::connect(address).await?, server_name, &[], None).await?;
        Ok(exchange(stream, bytes).await?)
    };
    within(exchange, address).await
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(bytes).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer).await {
        // TLS without a last word: what came, came.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(answer),
        end => end.map(|_| answer),
    }
}

async fn within(exchange: impl Future<Output = anyhow::Result<Vec<u8>>>, address: SocketAddr) -> anyhow::Result<Vec<u8>> {
    let within = tokio::time::timeout(super::TIMEOUT, exchange).await;
    within
        .with_context(|| format!("{address} did not close within {:?}", super::TIMEOUT))?
        .with_context(|| format!("raw bytes to {address}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// A peer that answers each connection with these bytes and closes.
    async fn peer(answer: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn chunks_and_interim_answers_are_joined() {
        let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n";
        let response = Request::get(peer(answer).await, "/").send().await.unwrap();
        assert_eq!((response.status, response.text().as_str()), (200, "abcde"));
    }

    #[tokio::test]
    async fn a_short_body_is_an_error() {
        let address = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").await;
        let error = Request::get(address, "/").send().await.unwrap_err();
        assert!(format!("{error:#}").contains("before its 9 bytes"), "{error:#}");
    }

    #[tokio::test]
    async fn no_answer_can_be_told_from_half_an_answer() {
        let error = Request::get(peer(b"").await, "/").send().await.unwrap_err();
        assert!(error.chain().any(|cause| cause.is::<Unanswered>()), "{error:#}");
        let error = Request::get(peer(b"HTTP/1.1 2").await, "/").send().await.unwrap_err();
        assert!(!error.chain().any(|cause| cause.is::<Unanswered>()), "{error:#}");
    }

    #[tokio::test]
    async fn a_connection_that_its_peer_has_closed_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut connection = Connection::open(&Request::get(listener.local_addr().unwrap(), "/")).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        assert!(connection.is_idle());
        drop(stream);
        crate::poll(std::time::Duration::from_secs(10), || {
            let idle = connection.is_idle();
            async move {
                anyhow::ensure!(!idle, "not seen");
                Ok(())
            }
        })
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn raw_bytes_come_back_raw() {
        assert_eq!(raw(peer(b"whatever").await, b"\0\r\n").await.unwrap(), b"whatever");
    }
}
