//! An authentication service: who is asked, and what it says, stands in the path.
//!
//! | path | answer |
//! |---|---|
//! | `/basic-auth/USER/PASSWORD` | 200 if the request brings these credentials, else 401 with a challenge |
//! | `/status/CODE` | this status |
//! | `/cookie/NAME/VALUE` | 200 with this cookie |
//!
//! Every answer says in `X-Asked` which URL the request was for, and in `X-Sent` what the header `X-Send` held.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue, SET_COOKIE, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// A running service. Dropping it ends it, open connections included.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Gate {
    /// Starts one on `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address can't be bound.
    pub async fn start(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("authentication service on {address}"))?;
        let address = listener.local_addr().context("a bound listener has an address")?;
        let requests = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let counter = Arc::clone(&counter);
                let service = service_fn(move |request| {
                    counter.fetch_add(1, Ordering::Relaxed);
                    async move { Ok::<_, std::convert::Infallible>(answer(&request)) }
                });
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self { address, requests, task })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://address:port` and the path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Number of requests that arrived so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn answer(request: &Request<Incoming>) -> Response<String> {
    let mut response = Response::new(String::new());
    let words: Vec<&str> = request.uri().path().split('/').skip(1).collect();
    let headers = response.headers_mut();
    let mut status = StatusCode::OK;
    match words.as_slice() {
        ["basic-auth", user, password] if !is_user(request, user, password) => {
            status = StatusCode::UNAUTHORIZED;
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"gate\""));
        }
        ["status", code] => status = code.parse().unwrap_or(StatusCode::BAD_REQUEST),
        ["cookie", name, value] => {
            headers.insert(SET_COOKIE, HeaderValue::try_from(format!("{name}={value}")).expect("paths are visible ASCII"));
        }
        _ => {}
    }
    for (from, to) in [("x-original-url", "x-asked"), ("x-send", "x-sent")] {
        if let Some(value) = request.headers().get(from) {
            headers.insert(to, value.clone());
        }
    }
    *response.status_mut() = status;
    response
}

fn is_user(request: &Request<Incoming>, user: &str, password: &str) -> bool {
    let expected = crate::http::basic(user, password);
    request.headers().get(AUTHORIZATION).is_some_and(|given| *given == *expected)
}
