//! A server of HTTP that answers each path with the bytes that it was given for it, or never.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

#[derive(Debug, Default)]
struct Content {
    /// By path; `None`: no answer comes.
    files: BTreeMap<String, Option<Bytes>>,
    requests: BTreeMap<String, u64>,
}

/// A running server. Dropping it ends it, open connections included.
#[derive(Debug)]
pub struct Files {
    address: SocketAddr,
    content: Arc<Mutex<Content>>,
    task: JoinHandle<()>,
}

impl Files {
    /// Starts one without files on `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address can't be bound.
    pub async fn start(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("files on {address}"))?;
        let address = listener.local_addr().context("a bound listener has an address")?;
        let content = Arc::new(Mutex::new(Content::default()));
        let shared = Arc::clone(&content);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                let service = service_fn(move |request| answer(Arc::clone(&shared), request));
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self { address, content, task })
    }

    /// `http://address:port` and the path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// From now on a path is answered with these bytes; `None`: never.
    pub fn put(&self, path: &str, bytes: Option<&[u8]>) {
        self.content.lock().files.insert(path.to_owned(), bytes.map(Bytes::copy_from_slice));
    }

    /// Number of requests for a path that arrived so far.
    pub fn requests(&self, path: &str) -> u64 {
        self.content.lock().requests.get(path).copied().unwrap_or_default()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(content: Arc<Mutex<Content>>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path();
    let file = {
        let mut content = content.lock();
        *content.requests.entry(path.to_owned()).or_default() += 1;
        content.files.get(path).cloned()
    };
    let mut response = Response::new(Full::default());
    match file {
        Some(Some(bytes)) => *response.body_mut() = Full::new(bytes),
        Some(None) => std::future::pending().await,
        None => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    Ok(response)
}
