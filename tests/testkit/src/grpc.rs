//! gRPC as far as a proxy sees it: unary calls over HTTP/2 whose messages are plain text.
//!
//! The server answers every call with what it saw: a line `:authority=...`, `:path=...`, then each metadata as `name=value`. A call with the
//! metadata `x-delay-ms` is answered so much later, one with `x-stream-ms` gets its message again and again for so long, and one of `/status/CODE` with this status of HTTP and nothing else.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use h2::server::SendResponse;
use hyper::body::Bytes;
use hyper::http::{HeaderMap, HeaderValue, Request, Response};
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::echo::tls;
use crate::http::connect_tls;
use crate::kube::Certificate;

/// Compressed flag and length before a message.
const PREFIX_BYTES: usize = 5;

/// Between two messages of a stream.
const PAUSE: Duration = Duration::from_millis(100);

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts one, over TLS if there is a certificate.
    ///
    /// # Errors
    /// The address can't be bound, or the certificate is not usable.
    pub async fn start(address: SocketAddr, certificate: Option<&Certificate>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("gRPC server cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        let acceptor = certificate.map(|certificate| tls::acceptor(certificate, &[&TLS12, &TLS13], &[b"h2"])).transpose()?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(accept(stream, acceptor.clone()));
            }
        });
        Ok(Self { address, task })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(stream: TcpStream, acceptor: Option<TlsAcceptor>) {
    // Errors are the peer's affair.
    let _ = match acceptor {
        None => serve(stream).await,
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => serve(stream).await,
            Err(error) => Err(error.into()),
        },
    };
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin) -> anyhow::Result<()> {
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(call) = connection.accept().await {
        let (request, respond) = call?;
        tokio::spawn(answer(request, respond));
    }
    Ok(())
}

async fn answer(request: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>) -> anyhow::Result<()> {
    let (parts, mut body) = request.into_parts();
    read(&mut body).await?;
    let time = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()?.parse().ok()).map(Duration::from_millis);
    tokio::time::sleep(time("x-delay-ms").unwrap_or_default()).await;
    if let Some(status) = parts.uri.path().strip_prefix("/status/") {
        respond.send_response(Response::builder().status(status).body(())?, true)?;
        return Ok(());
    }
    let authority = parts.uri.authority().map(|authority| authority.as_str()).or_else(|| parts.headers.get("host")?.to_str().ok());
    let mut seen = format!(":authority={}\n:path={}\n", authority.unwrap_or_default(), parts.uri.path());
    for (name, value) in &parts.headers {
        seen.push_str(&format!("{name}={}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    let head = Response::builder().header("content-type", "application/grpc").body(())?;
    let mut stream = respond.send_response(head, false)?;
    stream.send_data(message(seen.as_bytes()), false)?;
    let until = tokio::time::Instant::now() + time("x-stream-ms").unwrap_or_default();
    while tokio::time::Instant::now() < until {
        tokio::time::sleep(PAUSE).await;
        stream.send_data(message(seen.as_bytes()), false)?;
    }
    stream.send_trailers(HeaderMap::from_iter([("grpc-status".parse()?, HeaderValue::from_static("0"))]))?;
    Ok(())
}

/// Everything of a body, and what follows it.
async fn read(body: &mut h2::RecvStream) -> anyhow::Result<(Vec<u8>, Option<HeaderMap>)> {
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, body.trailers().await?))
}

fn message(content: &[u8]) -> Bytes {
    let length = u32::try_from(content.len()).expect("messages of tests are short");
    [&[0][..], &length.to_be_bytes(), content].concat().into()
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status of HTTP.
    pub status: u16,
    /// `grpc-status`, from the trailers or else the header.
    pub grpc_status: Option<String>,
    /// The first message as text.
    pub message: String,
}

/// Makes a unary call: over TLS with a server name, or else over clear text with prior knowledge.
///
/// # Errors
/// There is no answer of HTTP/2.
pub async fn call(
    peer: SocketAddr,
    server_name: Option<&str>,
    authority: &str,
    path: &str,
    metadata: &[(&str, &str)],
) -> anyhow::Result<Answer> {
    let stream = TcpStream::connect(peer).await.with_context(|| format!("connect to {peer}"))?;
    match server_name {
        None => exchange(stream, "http", authority, path, metadata).await,
        Some(name) => {
            let stream = connect_tls(stream, name, &[b"h2"], None).await?;
            ensure!(stream.get_ref().1.alpn_protocol() == Some(b"h2"), "{peer} does not speak HTTP/2");
            exchange(stream, "https", authority, path, metadata).await
        }
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    scheme: &str,
    authority: &str,
    path: &str,
    metadata: &[(&str, &str)],
) -> anyhow::Result<Answer> {
    let (client, connection) = h2::client::handshake(stream).await?;
    let driver = tokio::spawn(connection);
    let mut client = client.ready().await?;
    let request = Request::builder().method("POST").uri(format!("{scheme}://{authority}{path}"));
    let request = request.header("content-type", "application/grpc").header("te", "trailers");
    let request = metadata.iter().fold(request, |request, (name, value)| request.header(*name, *value)).body(())?;
    let (response, mut body) = client.send_request(request, false)?;
    body.send_data(message(b"hello"), true)?;
    let (head, mut body) = response.await?.into_parts();
    let (bytes, trailers) = read(&mut body).await?;
    driver.abort();
    let status = trailers.as_ref().and_then(|trailers| trailers.get("grpc-status")).or_else(|| head.headers.get("grpc-status"));
    Ok(Answer {
        status: head.status.as_u16(),
        grpc_status: status.and_then(|status| Some(status.to_str().ok()?.to_owned())),
        message: String::from_utf8_lossy(bytes.get(PREFIX_BYTES..).unwrap_or_default()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::mk_certificate;

    #[tokio::test]
    async fn a_call_is_answered_with_what_arrived() {
        let certificate = mk_certificate(&["echo"]).unwrap();
        for (certificate, name) in [(None, None), (Some(&certificate), Some("echo"))] {
            let server = Server::start(([127, 0, 0, 1], 0).into(), certificate).await.unwrap();
            let answer = call(server.address(), name, "echo", "/hello/Say", &[("x-one", "1")]).await.unwrap();
            assert_eq!((answer.status, answer.grpc_status.as_deref()), (200, Some("0")));
            for line in [":authority=echo", ":path=/hello/Say", "content-type=application/grpc", "x-one=1"] {
                assert!(answer.message.lines().any(|seen| seen == line), "{}", answer.message);
            }
        }
    }
}
