//! HTTP for operators, with bounds: the port is often open to the whole cluster, and the descriptors are shared with everything else.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

/// Connections at one time. One more ends the oldest: a probe always finds its way in.
const MOST_CONNECTIONS: usize = 64;
/// Longest time of a connection without a whole head of a request.
const IDLE: Duration = Duration::from_secs(15);
/// After an error of the listener, which a lack of descriptors is.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves for ever, with a bounded number of connections. `port`: what the port is, for the log.
pub async fn serve_bounded(listener: TcpListener, router: Router, port: &'static str) -> Infallible {
    let mut connections = JoinSet::new();
    let mut oldest: VecDeque<AbortHandle> = VecDeque::new();
    let mut is_short = false;
    loop {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                log_once(&mut is_short, port, &error);
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        is_short = false;
        oldest.retain(|connection| !connection.is_finished());
        if oldest.len() >= MOST_CONNECTIONS
            && let Some(connection) = oldest.pop_front()
        {
            connection.abort();
        }
        let service = TowerToHyperService::new(router.clone());
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(IDLE);
        // What a client does to its own connection is not for our logs.
        oldest.push_back(connections.spawn(async move { drop(builder.serve_connection(TokioIo::new(stream), service).await) }));
    }
}

fn log_once(is_short: &mut bool, port: &str, error: &io::Error) {
    if !std::mem::replace(is_short, true) {
        tracing::warn!(%error, "a connection to the {port} port could not be accepted");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn idle_connections_keep_no_probe_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve_bounded(listener, Router::new().route("/healthz", get(async || "ok")), "health"));
        let mut idle = Vec::new();
        for _ in 0..3 * MOST_CONNECTIONS {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let mut probe = TcpStream::connect(address).await.unwrap();
        probe.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        probe.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        // The oldest were ended, so that their number is bounded.
        assert_eq!(idle[0].read(&mut [0]).await.unwrap_or(0), 0);
        server.abort();
    }
}
