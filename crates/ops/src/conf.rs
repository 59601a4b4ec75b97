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

/// Computes the equivalent text for a host and a path; the error is for the person who asks.
pub type ConfSource = Arc<dyn Fn(Option<&str>, Option<&str>) -> Result<String, String> + Send + Sync>;

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
    match source(value("host"), value("path")) {
        Ok(text) => crate::plain(StatusCode::OK, text),
        Err(why) => crate::plain(StatusCode::NOT_FOUND, why),
    }
}
