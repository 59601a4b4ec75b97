//! The controller's own unix socket: answers `narthex conf`.

use std::future::Future;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use tokio::net::UnixListener;

/// The query of `narthex conf`.
#[derive(Debug, Clone, Copy)]
pub struct ConfQuery<'a> {
    /// A host, for what serves it; absent: the whole `nginx.conf`.
    pub host: Option<&'a str>,
    /// A path of the host, for its meaning.
    pub path: Option<&'a str>,
    /// `true` for JSON.
    pub json: bool,
}

/// Answers such a query; the error is for the operator.
pub type ConfSource = Arc<dyn Fn(ConfQuery<'_>) -> Result<String, String> + Send + Sync>;

/// Serves until `shutdown` resolves.
///
/// # Errors
/// When the listener fails.
pub async fn serve_conf(listener: UnixListener, source: ConfSource, shutdown: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let app = Router::new().route("/conf", get(conf)).with_state(source);
    axum::serve(listener, app).with_graceful_shutdown(shutdown).await
}

async fn conf(State(source): State<ConfSource>, Query(query): Query<Vec<(String, String)>>) -> Response {
    let value = |wanted: &str| query.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str());
    match source(ConfQuery { host: value("host"), path: value("path"), json: value("format") == Some("json") }) {
        Ok(text) => crate::plain(StatusCode::OK, text),
        Err(why) => crate::plain(StatusCode::NOT_FOUND, why),
    }
}
