//! Requests of which a part is sent now and the rest later: what a server begins to read, and decides about when it has changed.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::connect_tls;

/// Longest time of an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Frames of HTTP/2 (RFC 9113, 6): types and flags.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A request for `/` that lacks its end. It brings no credentials of any kind.
pub struct Half {
    stream: Box<dyn Stream>,
    rest: Vec<u8>,
    is_http2: bool,
}

impl Half {
    /// The first bytes of a request of HTTP/1.1, up to the middle of the header `Host`.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn http1(peer: SocketAddr, host: &str) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(peer).await.with_context(|| format!("connect to {peer}"))?;
        let (begin, end) = host.split_at(host.len() / 2);
        stream.write_all(format!("GET / HTTP/1.1\r\nHost: {begin}").as_bytes()).await?;
        let rest = format!("{end}\r\nConnection: close\r\n\r\n").into_bytes();
        Ok(Self { stream: Box::new(stream), rest, is_http2: false })
    }

    /// A stream of HTTP/2 whose block of headers lacks the host: the rest goes into a CONTINUATION.
    ///
    /// # Errors
    /// There is no connection, or none of HTTP/2.
    pub async fn http2(peer: SocketAddr, host: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(peer).await.with_context(|| format!("connect to {peer}"))?;
        let mut stream = connect_tls(stream, host, &[b"h2"], None).await?;
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(SETTINGS, 0, 0, &[]));
        // From the static table of HPACK: GET, /, https.
        bytes.extend(frame(HEADERS, END_STREAM, 1, &[0x82, 0x84, 0x87]));
        stream.write_all(&bytes).await?;
        let length = u8::try_from(host.len()).ok().filter(|length| *length < 0x7f).context("a short host")?;
        // A literal without indexing, its name in the static table: :authority.
        let authority = [&[0x01, length], host.as_bytes()].concat();
        Ok(Self { stream: Box::new(stream), rest: frame(CONTINUATION, END_HEADERS, 1, &authority), is_http2: true })
    }

    /// Sends the rest and waits until the answer is there, or the connection is gone.
    pub async fn finish(mut self) {
        let answer = async {
            self.stream.write_all(&self.rest).await?;
            if self.is_http2 { frames(&mut self.stream).await } else { self.stream.read_to_end(&mut Vec::new()).await.map(drop) }
        };
        // A server that ends the connection has answered, too.
        drop(tokio::time::timeout(PATIENCE, answer).await);
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Reads up to the end of the stream.
async fn frames(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<()> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).await?;
        let is_ours = head[5..] == 1_u32.to_be_bytes();
        if head[3] == GOAWAY || is_ours && (head[3] == RST_STREAM || head[3] <= HEADERS && head[4] & END_STREAM != 0) {
            return Ok(());
        }
    }
}
