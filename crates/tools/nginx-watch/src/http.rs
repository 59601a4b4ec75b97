//! Reloads over HTTP: `/reload`, and `/status`, `/metrics`, `/healthz`, `/readyz` beside it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use prometheus::{Encoder, Registry, TextEncoder};
use serde_json::{Value, json};

use crate::access::{Access, Denied, Peer};
use crate::before::{BeforeHandle, Done};
use crate::everywhere::OverallResult;
use crate::lock::Wanted;
use crate::peers::{Peers, RELAYED};
use crate::queue::TriggerSource;
use crate::report::ReloadReport;
use crate::service::Handle;

/// Something that can reload and report the result. [`Handle`] is one; a process that runs NGINX by other means can be another.
pub trait Reloads: Send + Sync + 'static {
    /// Reloads, with the content of a time after the call; calls at the same time share a reload.
    fn reload(&self) -> Pin<Box<dyn Future<Output = Arc<ReloadReport>> + Send + '_>>;
    /// The last result.
    fn last(&self) -> Option<Arc<ReloadReport>>;
    /// The metrics to show here; `None`: they are elsewhere.
    fn registry(&self) -> Option<Registry>;
    /// `Ok` if NGINX is known to run what was read, now or earlier.
    ///
    /// # Errors
    /// Unknown, with the reason.
    fn ready(&self) -> Result<(), String>;
}

impl Reloads for Handle {
    fn reload(&self) -> Pin<Box<dyn Future<Output = Arc<ReloadReport>> + Send + '_>> {
        Box::pin(async {
            // Wanted before it is counted as one that waits.
            let number = self.queue.trigger(TriggerSource::Http);
            let _waiting = self.metrics.wait();
            self.queue.after(number).await
        })
    }

    fn last(&self) -> Option<Arc<ReloadReport>> {
        self.reports().borrow().clone()
    }

    fn registry(&self) -> Option<Registry> {
        Some(self.metrics.registry().clone())
    }

    fn ready(&self) -> Result<(), String> {
        Self::ready(self)
    }
}

/// The state of the HTTP server.
#[derive(Clone)]
pub struct HttpServer {
    /// The engine that reloads.
    pub reloads: Arc<dyn Reloads>,
    /// Access control of requests.
    pub access: Access,
    /// Other replicas to notify.
    pub peers: Option<Peers>,
    /// The command to run before.
    pub before: Option<BeforeHandle>,
}

/// The routes. The service has to be made with [`Peer`] as its connect info: a request without one is refused.
pub fn router(server: HttpServer) -> Router {
    let guarded = Router::new()
        .route("/reload", get(reload).post(reload))
        .route("/status", get(status))
        .layer(from_fn_with_state(server.clone(), guard));
    let open = Router::new().route("/healthz", get(async || plain(StatusCode::OK, "ok\n".to_owned()))).route("/readyz", get(ready));
    let open = if server.reloads.registry().is_some() { open.route("/metrics", get(metrics)) } else { open };
    guarded.merge(open).with_state(server)
}

async fn guard(State(server): State<HttpServer>, peer: Option<Extension<ConnectInfo<Peer>>>, request: Request, next: Next) -> Response {
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let peer = peer.map(|Extension(ConnectInfo(peer))| peer);
    match server.access.check(peer, authorization) {
        Ok(()) => next.run(request).await,
        Err(denied) => {
            let peer = peer.map(tracing::field::display);
            tracing::warn!(peer, path = request.uri().path(), why = %denied, "a request is refused");
            match denied {
                Denied::Address => problem(StatusCode::FORBIDDEN, "refused", "not from this address"),
                Denied::Machine => problem(StatusCode::FORBIDDEN, "refused", &denied.to_string()),
                Denied::Token => {
                    ([(header::WWW_AUTHENTICATE, "Bearer")], problem(StatusCode::UNAUTHORIZED, "refused", "a token is needed"))
                        .into_response()
                }
                Denied::Broken(_) => problem(StatusCode::INTERNAL_SERVER_ERROR, "refused", "the token can't be read; see the log"),
            }
        }
    }
}

async fn reload(State(server): State<HttpServer>, headers: HeaderMap) -> Response {
    let relayed = headers.contains_key(RELAYED);
    let mut extra = json!({});
    if let Some(before) = server.before.as_ref().filter(|_| !relayed) {
        match before.run(Wanted::Anyway).await {
            Ok(done) => extra["before"] = json!(if done == Done::Here { "done" } else { "done elsewhere" }),
            Err(why) => return problem(StatusCode::INTERNAL_SERVER_ERROR, "before-failed", &why),
        }
    }
    let OverallResult { status, report, extra: more } = server.everywhere(relayed).await;
    if let (Some(extra), Value::Object(more)) = (extra.as_object_mut(), more) {
        extra.extend(more);
    }
    answer(status, &report, extra)
}

async fn status(State(server): State<HttpServer>) -> Response {
    match server.reloads.last() {
        Some(report) => answer(StatusCode::OK, &report, json!({})),
        None => problem(StatusCode::OK, "none", "nothing was run yet"),
    }
}

/// For probes: a start that could never read anything is no success.
async fn ready(State(server): State<HttpServer>) -> Response {
    match server.reloads.ready() {
        Ok(()) => plain(StatusCode::OK, "ok\n".to_owned()),
        Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn metrics(State(server): State<HttpServer>) -> Response {
    let encoder = TextEncoder::new();
    let mut body = Vec::new();
    match encoder.encode(&server.reloads.registry().unwrap_or_default().gather(), &mut body) {
        Ok(()) => ([(header::CONTENT_TYPE, encoder.format_type().to_owned())], body).into_response(),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

/// The report, whether all is well, and what else is to be said.
fn answer(status: StatusCode, report: &ReloadReport, extra: Value) -> Response {
    let mut body = serde_json::to_value(report).unwrap_or_default();
    body["ok"] = json!(status.is_success() && report.result.is_good());
    if let (Some(body), Value::Object(extra)) = (body.as_object_mut(), extra) {
        body.extend(extra);
    }
    send(status, &body)
}

fn problem(status: StatusCode, result: &str, message: &str) -> Response {
    send(status, &json!({ "ok": false, "result": result, "message": message }))
}

fn send(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], format!("{body}\n")).into_response()
}

fn plain(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}
