//! The controller's own unix socket: answers `narthex conf` and `narthex dbg`.

use std::future::Future;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use tokio::net::UnixListener;

/// A question to the controller.
#[derive(Debug, Clone, Copy)]
pub enum Question<'a> {
    /// `narthex conf`.
    Conf(ConfQuery<'a>),
    /// The certificates, PEM, that clients of a host get; `_`: the default ones.
    Certificate(&'a str),
}

/// The query of `narthex conf`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfQuery<'a> {
    /// A host, for what serves it; absent: the whole `nginx.conf`.
    pub host: Option<&'a str>,
    /// A path of the host, for its meaning.
    pub path: Option<&'a str>,
    /// `true` for JSON.
    pub json: bool,
}

/// Answers such a question; the error is for the operator.
pub type ConfSource = Arc<dyn Fn(Question<'_>) -> Result<String, String> + Send + Sync>;

/// Serves until `shutdown` resolves.
///
/// # Errors
/// When the listener fails.
pub async fn serve_conf(listener: UnixListener, source: ConfSource, shutdown: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let app = Router::new().route("/conf", get(conf)).route("/certificate", get(certificate)).with_state(source);
    axum::serve(listener, app).with_graceful_shutdown(shutdown).await
}

type Pairs = Query<Vec<(String, String)>>;

async fn conf(State(source): State<ConfSource>, Query(query): Pairs) -> Response {
    let host = value(&query, "host");
    let query = ConfQuery { host, path: value(&query, "path"), json: value(&query, "format") == Some("json") };
    answer(source(Question::Conf(query)))
}

async fn certificate(State(source): State<ConfSource>, Query(query): Pairs) -> Response {
    answer(source(Question::Certificate(value(&query, "host").unwrap_or_default())))
}

fn value<'a>(query: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    query.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str())
}

fn answer(answer: Result<String, String>) -> Response {
    match answer {
        Ok(text) => crate::plain(StatusCode::OK, text),
        Err(why) => crate::plain(StatusCode::NOT_FOUND, why),
    }
}
