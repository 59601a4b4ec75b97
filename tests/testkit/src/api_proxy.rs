//! A proxy between a client and the API server, that can be made to fail in the ways in which networks, load balancers and API servers do.

use std::convert::Infallible;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::bed::ClusterInfo;
use crate::http::connect_tls;
use crate::ports::Ports;

/// Bytes that a slow connection passes on at once, and the time that it takes.
const CHUNK: usize = 1024;
const DELAY: Duration = Duration::from_millis(20);

/// A fault of the way to the API server, or of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// All is well.
    None,
    /// 50 KB a second in either direction.
    Slow,
    /// Connections stay open, new ones are accepted, and nothing is passed on before this ends.
    Hang,
    /// Connections are cut and new ones refused.
    Gone,
    /// Every request is answered 401, as with a token that was revoked.
    Unauthorized,
    /// Every watch is answered 410, in turn as its status and as an event; lists are answered.
    Expired,
    /// No watch gets bookmarks.
    NoBookmarks,
}

/// A running proxy, which speaks HTTP with its clients and HTTPS with the API server. Dropping it ends it, open connections included.
#[derive(Debug)]
pub struct ApiProxy {
    kubeconfig: tempfile::NamedTempFile,
    fault: watch::Sender<Fault>,
    /// Changes when all connections are to be cut.
    cut: watch::Sender<()>,
    task: JoinHandle<()>,
}

/// The common parts of all connections.
#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    fault: watch::Receiver<Fault>,
    /// Watches that were answered 410.
    expired: AtomicU64,
}

type Answer = Response<Either<Incoming, Full<Bytes>>>;

impl ApiProxy {
    /// Starts one before the API server of a bed.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(info: &ClusterInfo) -> anyhow::Result<Self> {
        let server = info.server.trim_start_matches("https://");
        let server = server.parse().with_context(|| format!("address of the API server {server:?}"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
        let listener = TcpListener::bind(address).await.with_context(|| format!("proxy on {address}"))?;
        let mut kubeconfig = tempfile::NamedTempFile::new().context("kubeconfig of the proxy")?;
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "admin", "user": {"token": info.token}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "admin"}}],
        });
        kubeconfig.write_all(config.to_string().as_bytes()).context("kubeconfig of the proxy")?;
        let (fault, receiver) = watch::channel(Fault::None);
        let (cut, cuts) = watch::channel(());
        let shared = Arc::new(Shared { server, fault: receiver, expired: AtomicU64::new(0) });
        let task = tokio::spawn(listen(listener, address, shared, cuts));
        Ok(Self { kubeconfig, fault, cut, task })
    }

    /// The kubeconfig file of an administrator who comes through this proxy.
    pub fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }

    /// Fails so from now on, in place of what was wrong before.
    pub fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
        // An open watch would not notice.
        if matches!(fault, Fault::Gone | Fault::Unauthorized | Fault::Expired | Fault::NoBookmarks) {
            self.cut();
        }
    }

    /// Closes every connection.
    pub fn cut(&self) {
        self.cut.send_replace(());
    }
}

impl Drop for ApiProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(listener: TcpListener, address: SocketAddr, shared: Arc<Shared>, cuts: watch::Receiver<()>) {
    let mut fault = shared.fault.clone();
    let mut connections = JoinSet::new();
    let mut listener = Some(listener);
    // Until the other end of the channel is gone.
    loop {
        let Some(open) = &listener else {
            if fault.wait_for(|fault| *fault != Fault::Gone).await.is_err() {
                return;
            }
            listener = TcpListener::bind(address).await.ok();
            continue;
        };
        tokio::select! {
            accepted = open.accept() => if let Ok((stream, _)) = accepted {
                let mut cuts = cuts.clone();
                cuts.mark_unchanged();
                let connection = connection(stream, Arc::clone(&shared));
                connections.spawn(async move {
                    tokio::select! {
                        () = connection => {}
                        _ = cuts.changed() => {}
                    }
                });
            },
            Some(_) = connections.join_next() => {}
            gone = fault.wait_for(|fault| *fault == Fault::Gone) => {
                if gone.is_err() {
                    return;
                }
                listener = None;
            }
        }
    }
}

/// Serves one connection: its bytes are delayed, its requests answered or passed on.
async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let (near, far) = tokio::io::duplex(CHUNK);
    let (from_client, to_client) = stream.into_split();
    let (from_http, to_http) = tokio::io::split(near);
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(shared.answer(request).await) }
    });
    let http = server::Builder::new().serve_connection(TokioIo::new(far), service);
    let relay = async {
        let (fault, other) = (shared.fault.clone(), shared.fault.clone());
        tokio::try_join!(relay(from_client, to_http, fault), relay(from_http, to_client, other))
    };
    // Either end closes the connection, with all that was passed on before.
    let _ = tokio::join!(relay, http);
}

async fn relay(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut fault: watch::Receiver<Fault>) -> io::Result<()> {
    let mut chunk = [0; CHUNK];
    loop {
        let length = from.read(&mut chunk).await?;
        let fault = *fault.wait_for(|fault| *fault != Fault::Hang).await.map_err(io::Error::other)?;
        if fault == Fault::Slow {
            tokio::time::sleep(DELAY).await;
        }
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&chunk[..length]).await?;
    }
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let is_watch = request.uri().query().is_some_and(|query| query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")));
        let fault = *self.fault.borrow();
        match fault {
            Fault::Unauthorized => status(StatusCode::UNAUTHORIZED, "Unauthorized"),
            Fault::Expired if is_watch && self.expired.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => {
                status(StatusCode::GONE, "Expired")
            }
            Fault::Expired if is_watch => {
                let event = json!({"type": "ERROR", "object": status_object(StatusCode::GONE, "Expired")});
                answer(StatusCode::OK, format!("{event}\n"))
            }
            _ => self.forward(request, fault != Fault::NoBookmarks).await.unwrap_or_else(|error| {
                tracing::debug!(error = format!("{error:#}"), "the API server behind the proxy does not answer");
                status(StatusCode::BAD_GATEWAY, "InternalError")
            }),
        }
    }

    async fn forward(&self, mut request: Request<Incoming>, bookmarks: bool) -> anyhow::Result<Answer> {
        if !bookmarks {
            let uri = request.uri().to_string().replace("allowWatchBookmarks=true", "allowWatchBookmarks=false");
            *request.uri_mut() = uri.parse().context("a target")?;
        }
        let stream = TcpStream::connect(self.server).await.context("connect")?;
        let stream = connect_tls(stream, "", &[b"http/1.1"], None).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // Ends with the answer's body, or when that is dropped.
        tokio::spawn(connection);
        Ok(sender.send_request(request).await?.map(Either::Left))
    }
}

fn status(code: StatusCode, reason: &str) -> Answer {
    answer(code, status_object(code, reason).to_string())
}

fn status_object(code: StatusCode, reason: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "message": reason, "code": code.as_u16()})
}

fn answer(code: StatusCode, body: String) -> Answer {
    let response = Response::builder().status(code).header("content-type", "application/json");
    response.body(Either::Right(Full::new(body.into()))).expect("constant headers")
}
