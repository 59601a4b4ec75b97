//! The listener, its connections, and how they end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::{Identity, Seen, answer::answer, tls};

/// A running server. Dropping it cuts every connection off.
pub struct Handle {
    address: SocketAddr,
    shared: Arc<Shared>,
    draining: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// The common parts of a server's connections.
struct Shared {
    identity: Identity,
    acceptor: Option<TlsAcceptor>,
    requests: AtomicU64,
    last: Mutex<Option<Seen>>,
}

/// Starts a server on `address`; port 0 takes a free one.
///
/// # Errors
/// The address can't be bound.
pub async fn start(address: SocketAddr, identity: Identity) -> anyhow::Result<Handle> {
    listen(address, identity, None).await
}

/// Starts a server that speaks TLS.
///
/// # Errors
/// The address can't be bound.
pub async fn start_tls(address: SocketAddr, identity: Identity, acceptor: TlsAcceptor) -> anyhow::Result<Handle> {
    listen(address, identity, Some(acceptor)).await
}

async fn listen(address: SocketAddr, identity: Identity, acceptor: Option<TlsAcceptor>) -> anyhow::Result<Handle> {
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("echo server {:?} cannot listen on {address}", identity.name))?;
    let address = listener.local_addr().context("a bound listener has an address")?;
    let shared = Arc::new(Shared { identity, acceptor, requests: AtomicU64::new(0), last: Mutex::new(None) });
    let (draining, drain) = watch::channel(false);
    let task = tokio::spawn(serve(listener, Arc::clone(&shared), drain));
    Ok(Handle { address, shared, draining, task })
}

impl Handle {
    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of requests that arrived so far.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// The request that was read last.
    pub fn last(&self) -> Option<Seen> {
        self.shared.last.lock().clone()
    }

    /// Closes the listener and idle connections, lets open requests end within `grace`, then cuts off the rest.
    pub async fn stop(mut self, grace: Duration) {
        self.draining.send_replace(true);
        // On a timeout the drop below ends what is left.
        let _ = tokio::time::timeout(grace, &mut self.task).await;
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("address", &self.address).field("requests", &self.requests()).finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, mut drain: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, client)) => {
                    connections.spawn(accept(stream, client, Arc::clone(&shared), drain.clone()));
                }
                // Out of file descriptors: the peer sees its connection wait, not fail.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
            _ = drain.changed() => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn accept(stream: TcpStream, client: SocketAddr, shared: Arc<Shared>, drain: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let Ok(address) = stream.local_addr() else { return };
    match shared.acceptor.clone() {
        None => connection(stream, (address, client), HeaderMap::new(), shared, drain).await,
        Some(acceptor) => {
            // A handshake that fails is the peer's affair.
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let handshake = tls::headers(stream.get_ref().1);
            connection(stream, (address, client), handshake, shared, drain).await;
        }
    }
}

/// `ends`: of the server and of the client. `handshake`: what it says, as headers that are added to every request.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    ends: (SocketAddr, SocketAddr),
    handshake: HeaderMap,
    shared: Arc<Shared>,
    mut drain: watch::Receiver<bool>,
) {
    let service = service_fn(|mut request: Request<Incoming>| {
        shared.requests.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        request.headers_mut().extend(handshake.clone());
        async move { answer(request, &shared.identity, ends, &shared.last).await }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let drained = async { drop(drain.wait_for(|draining| *draining).await) };
    // Errors are the peer's affair: a connection that it cut, or one that a request asked to close.
    tokio::select! {
        _ = &mut connection => return,
        () = drained => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::{Format, Seen};
    use crate::http::{Connection, Request};
    use crate::kube::mk_certificate;

    async fn server(format: Format) -> Handle {
        let identity = Identity { service: "shop".into(), namespace: "default".into(), format, ..Identity::named("shop-1") };
        start(([127, 0, 0, 1], 0).into(), identity).await.unwrap()
    }

    #[tokio::test]
    async fn answers_with_the_request_as_it_arrived() {
        let server = server(Format::Text).await;
        let request =
            Request::get(server.address(), "/a%2Fb//../c?x=%20").host("shop.example.com").header("X-One", "1").header("x-one", "2");
        let response = request.send().await.unwrap();
        let seen = Seen::read(&response.body).unwrap();
        assert_eq!((response.status, seen.request_uri.as_str(), seen.host.as_str()), (200, "/a%2Fb//../c?x=%20", "shop.example.com"));
        assert_eq!(seen.headers["x-one"], ["1", "2"]);
        assert_eq!((seen.server.as_str(), server.requests()), ("shop-1", 1));
    }

    #[tokio::test]
    async fn over_tls_the_answer_has_the_content_of_the_handshake() {
        let certificate = mk_certificate(&["shop"]).unwrap();
        let acceptor = tls::acceptor(&certificate, &[&rustls::version::TLS12], &[]).unwrap();
        let server = start_tls(([127, 0, 0, 1], 0).into(), Identity::named("shop"), acceptor).await.unwrap();
        let response = Request::get(server.address(), "/").tls("shop").host("shop").send().await.unwrap();
        assert_eq!(response.certificates, [certificate.der]);
        let seen = Seen::read(&response.body).unwrap();
        assert_eq!(
            [seen.header(tls::SERVER_NAME), seen.header(tls::VERSION), seen.header(tls::CLIENT)],
            [Some("shop"), Some("TLSv1_2"), None]
        );
    }

    #[tokio::test]
    async fn json_by_server_or_by_request() {
        let by_server = server(Format::Json).await;
        let response = Request::new("POST", by_server.address(), "/").host("a").body("hello").send().await.unwrap();
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(Seen::read(&response.body).unwrap().body_bytes, 5);
        let by_request = server(Format::Text).await;
        let response = Request::get(by_request.address(), "/").host("a").header("accept", "application/json").send().await.unwrap();
        assert_eq!(response.header("content-type"), Some("application/json"));
    }

    #[tokio::test]
    async fn does_what_the_request_wishes() {
        let server = server(Format::Text).await;
        let get = |target: &str| Request::get(server.address(), target).host("a");
        let response = get("/?status=503&size=7").header("x-echo-header", "x-more: yes").send().await.unwrap();
        assert_eq!((response.status, response.body.as_slice(), response.header("x-more")), (503, b"xxxxxxx".as_slice(), Some("yes")));
        let started = std::time::Instant::now();
        assert_eq!(get("/").header("x-echo-delay-ms", "30").send().await.unwrap().status, 200);
        assert!(started.elapsed() >= Duration::from_millis(30));
        get("/?close=1").send().await.unwrap_err();
    }

    #[tokio::test]
    async fn stopping_finishes_open_requests_and_closes_the_rest() {
        let server = server(Format::Text).await;
        let address = server.address();
        let mut idle = Connection::open(&Request::get(address, "/")).await.unwrap();
        idle.send(&Request::get(address, "/").host("a")).await.unwrap();
        let open = tokio::spawn(Request::get(address, "/?delay_ms=100").host("a").send());
        let arrived = || async {
            anyhow::ensure!(server.requests() == 2, "the request has not arrived");
            Ok(())
        };
        crate::poll(Duration::from_secs(5), arrived).await.unwrap();
        server.stop(Duration::from_secs(5)).await;
        assert_eq!(open.await.unwrap().unwrap().status, 200);
        idle.send(&Request::get(address, "/").host("a")).await.unwrap_err();
        Request::get(address, "/").send().await.unwrap_err();
    }
}
