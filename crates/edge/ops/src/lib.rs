//! The operators' HTTP port: health and metrics. Reads only; nothing here can change what is served.

mod conf;
mod exposition;
mod health;
mod process;
mod profiler;
mod readiness;
mod requests;
mod server;
mod status;
mod streams;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::Registry;
use tokio::net::TcpListener;

pub use conf::{ConfQuery, ConfSource, Question, RequestQuery, serve_conf};
pub use exposition::{Exposition, Family, Form, labels};
pub use health::{Check, Health};
pub use process::ProcessMetrics;
pub use profiler::serve_profiler;
pub use readiness::{Finding, Readiness, ReadinessCheck};
pub use requests::{Labels, NativeOptions, RequestMetrics, RequestOptions, Taken};
pub use server::serve_bounded;
pub use status::{Status, serve_status};
pub use streams::StreamMetrics;

/// Metrics that are fetched when a client asks for them.
pub trait Fetched: Send + Sync {
    /// Appends families, of other names than those in the registry.
    fn write<'a>(&'a self, out: &'a mut Exposition) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// The content of the server.
#[derive(Clone)]
pub struct Ops {
    /// `--health-check-path`.
    pub health_path: String,
    /// The checks of life.
    pub health: Arc<Health>,
    /// The checks of `/readyz`.
    pub ready: Arc<Readiness>,
    /// The metrics.
    pub registry: Registry,
    /// More of them.
    pub fetched: Vec<Arc<dyn Fetched>>,
}

/// Serves for ever, a bounded number of connections.
pub async fn serve(listener: TcpListener, ops: Ops) -> Infallible {
    let path = format!("/{}", ops.health_path.trim_matches('/'));
    let mut app = Router::new().route(&path, get(health)).route(&format!("{path}/{{check}}"), get(single)).route("/metrics", get(metrics));
    if path != READY {
        app = app.route(READY, get(ready));
    }
    server::serve_bounded(listener, app.with_state(ops), "health").await
}

/// Ticks of a second in what the kernel tells programs: the same on every architecture.
const TICKS: f64 = 100.0;

/// Readiness with its reasons.
const READY: &str = "/readyz";

/// Serves the health alone, at each of these paths, for ever.
pub async fn serve_health(listener: TcpListener, health: Arc<Health>, paths: &[&'static str]) -> Infallible {
    let mut app = Router::new();
    for &path in paths {
        let health = health.clone();
        let answer = move |Query(query): Query<Vec<(String, String)>>| std::future::ready(summary(&health, path, &query));
        app = app.route(path, get(answer));
    }
    server::serve_bounded(listener, app, "health").await
}

async fn ready(State(ops): State<Ops>) -> Response {
    let (ok, body) = ops.ready.report();
    let status = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

async fn health(State(ops): State<Ops>, Query(query): Query<Vec<(String, String)>>) -> Response {
    summary(&ops.health, &ops.health_path, &query)
}

fn summary(health: &Health, path: &str, query: &[(String, String)]) -> Response {
    let verbose = query.iter().any(|(key, _)| key == "verbose");
    let excluded: Vec<&str> = query.iter().filter(|(key, _)| key == "exclude").map(|(_, name)| name.as_str()).collect();
    let (ok, body) = health.summary(path.trim_matches('/'), verbose, &excluded);
    plain(if ok { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }, body)
}

async fn single(State(ops): State<Ops>, axum::extract::Path(name): axum::extract::Path<String>) -> Response {
    match ops.health.single(&name) {
        None => plain(StatusCode::NOT_FOUND, format!("no check is named {name:?}\n")),
        Some(Ok(())) => plain(StatusCode::OK, "ok".into()),
        Some(Err(why)) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {why}\n")),
    }
}

async fn metrics(State(ops): State<Ops>, headers: HeaderMap) -> Response {
    let accept: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let form = exposition::preferred(&accept.join(","));
    let mut out = Exposition::new(form);
    out.registered(&ops.registry.gather());
    for fetched in &ops.fetched {
        fetched.write(&mut out).await;
    }
    ([(header::CONTENT_TYPE, form.content_type()), (header::VARY, "Accept")], out.into_bytes()).into_response()
}

fn plain(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}
