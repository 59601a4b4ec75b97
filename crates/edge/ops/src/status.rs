//! The status port: what ingress-nginx answers on port 10246 of the loopback address, without its writes and its private keys.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::{plain, server};

/// An answer that takes a while; the error is for people.
type Answer<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// What the status port answers from.
pub trait Status: Send + Sync {
    /// Whether NGINX answers on its control socket.
    fn alive(&self) -> Answer<'_>;
    /// Whether NGINX holds every route and endpoint; an error says why not.
    fn initialised(&self) -> Result<(), String>;
    /// NGINX's own status page.
    fn connections(&self) -> Answer<'_>;
    /// The backends that NGINX holds, as JSON of ingress-nginx.
    fn backends(&self) -> Answer<'_>;
    /// The state of NGINX, as JSON.
    fn general(&self) -> Answer<'_>;
    /// The certificates, PEM, that clients of a host get.
    fn certificate(&self, host: &str) -> Result<String, String>;
}

type Source = Arc<dyn Status>;

/// Answer to requests that write.
const READ_ONLY: &str = "is read only here: backends, certificates and settings come from the source of objects alone\n";

/// Serves for ever. `health_path`: `--health-check-path`.
pub async fn serve_status(listener: TcpListener, health_path: &str, status: Source) -> Infallible {
    let health_path = format!("/{}", health_path.trim_matches('/'));
    let mut app = Router::new()
        .route(INITIALISED, get(initialised))
        .route("/nginx_status", get(connections))
        .route("/configuration/backends", get(backends).fallback(read_only))
        .route("/configuration/general", get(general).fallback(read_only))
        .route("/configuration/certs", get(certificate).fallback(read_only))
        .route("/configuration/servers", axum::routing::any(servers));
    if !TAKEN.contains(&health_path.as_str()) {
        app = app.route(&health_path, get(alive));
    }
    server::serve_bounded(listener, app.fallback(unknown).with_state(status), "status").await
}

const INITIALISED: &str = "/is-dynamic-lb-initialized";
/// Paths that stay what they are whatever the path of health checks is.
const TAKEN: [&str; 6] =
    [INITIALISED, "/nginx_status", "/configuration/backends", "/configuration/general", "/configuration/certs", "/configuration/servers"];

async fn alive(State(status): State<Source>) -> Response {
    match status.alive().await {
        Ok(text) => plain(StatusCode::OK, text),
        Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, why + "\n"),
    }
}

async fn initialised(State(status): State<Source>) -> Response {
    match status.initialised() {
        Ok(()) => plain(StatusCode::OK, "OK".into()),
        Err(why) => plain(StatusCode::INTERNAL_SERVER_ERROR, why + "\n"),
    }
}

async fn connections(State(status): State<Source>) -> Response {
    match status.connections().await {
        Ok(text) => plain(StatusCode::OK, text),
        Err(why) => plain(StatusCode::BAD_GATEWAY, why + "\n"),
    }
}

async fn backends(State(status): State<Source>) -> Response {
    json(status.backends().await)
}

async fn general(State(status): State<Source>) -> Response {
    json(status.general().await)
}

async fn certificate(State(status): State<Source>, Query(query): Query<Vec<(String, String)>>) -> Response {
    let Some((_, host)) = query.iter().find(|(name, _)| name == "hostname") else {
        return plain(StatusCode::BAD_REQUEST, "the parameter hostname is missing, _ for the default certificate\n".into());
    };
    match status.certificate(host) {
        Ok(chain) => plain(StatusCode::OK, chain),
        Err(why) => plain(StatusCode::NOT_FOUND, why + "\n"),
    }
}

async fn servers() -> Response {
    plain(StatusCode::METHOD_NOT_ALLOWED, format!("/configuration/servers {READ_ONLY}"))
}

async fn read_only(uri: axum::http::Uri) -> Response {
    plain(StatusCode::METHOD_NOT_ALLOWED, format!("{} {READ_ONLY}", uri.path()))
}

async fn unknown() -> Response {
    plain(
        StatusCode::NOT_FOUND,
        "no such path: see /configuration/backends, /configuration/general, /configuration/certs?hostname=, /nginx_status\n".into(),
    )
}

fn json(answer: Result<String, String>) -> Response {
    match answer {
        Ok(text) => {
            (StatusCode::OK, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], text).into_response()
        }
        Err(why) => plain(StatusCode::BAD_GATEWAY, why + "\n"),
    }
}
