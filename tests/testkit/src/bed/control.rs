//! The control socket: how tests ask the supervisor for something.
//!
//! | request | effect |
//! |---|---|
//! | `POST /clusters` | starts a private control plane; the first line of the body describes it (or is `!` and an error), the body goes on, and the control plane with it, until the client hangs up |
//! | `POST /clusters/{version}` | the same with the API server of another version of Kubernetes, such as `1.32` |
//! | `POST /clusters/{id}/apiserver/{kill,stop,start,pause,resume}` | does that to an API server and answers when it is done |
//! | `DELETE /clusters/{id}/namespaces/{name}` | begins the deletion of a namespace |
//! | `PUT /dns/{name}` | `{"addresses": [...], "ttl": seconds}` |
//! | `DELETE /dns/{name}`, `GET /dns/{name}` | forgets the name; tells how many queries for it came |

use std::convert::Infallible;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, post, put};
use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use nix::sys::signal::Signal;
use tokio::net::UnixListener;

use super::API_SERVER;
use super::supervisor::BedState;

/// Binds the socket; the returned future serves it.
pub(super) async fn serve(socket: PathBuf, state: Arc<BedState>) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + Send> {
    let listener = UnixListener::bind(&socket).with_context(|| format!("control socket {}", socket.display()))?;
    let router = Router::new()
        .route("/clusters", post(start_private))
        .route("/clusters/{version}", post(start_private_of))
        .route("/clusters/{id}/apiserver/{action}", post(api_server))
        .route("/clusters/{id}/namespaces/{name}", delete(delete_namespace))
        .route("/dns/{name}", put(dns_set).delete(dns_remove).get(dns_queries))
        .with_state(state);
    Ok(async move { axum::serve(listener, router).await.context("control socket") })
}

/// An error as an answer: its whole chain as text.
struct Failure(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("{:#}", self.0)).into_response()
    }
}

async fn start_private(Shared(state): Shared<Arc<BedState>>) -> Response {
    hold(state, API_SERVER.to_owned())
}

async fn start_private_of(Path(version): Path<String>, Shared(state): Shared<Arc<BedState>>) -> Response {
    hold(state, format!("{API_SERVER}-{version}"))
}

/// A control plane with this program as its API server, as long as the answer is read.
fn hold(state: Arc<BedState>, api_server: String) -> Response {
    // The work happens within the body, so that it is given up when the client hangs up.
    let first = stream::once(async move {
        let started = async {
            let private = state.start_private(&api_server).await?;
            let line = serde_json::to_string(state.cluster(private.id).await?.info())?;
            anyhow::Ok((format!("{line}\n"), private))
        };
        match started.await {
            Ok((line, private)) => (line, Some(private)),
            Err(error) => (format!("!{}\n", format!("{error:#}").replace('\n', " | ")), None),
        }
    });
    let endless = first.flat_map(|(line, private)| {
        let rest = stream::once(async move {
            if let Some(private) = private {
                std::future::pending::<()>().await;
                drop(private);
            }
            Bytes::new()
        });
        stream::once(async move { Bytes::from(line) }).chain(rest)
    });
    Response::new(Body::from_stream(endless.map(Ok::<_, Infallible>)))
}

async fn api_server(Path((id, action)): Path<(u8, String)>, Shared(state): Shared<Arc<BedState>>) -> Result<(), Failure> {
    let cluster = state.cluster(id).await?;
    match action.as_str() {
        "kill" => cluster.end_api_server(true).await?,
        "stop" => cluster.end_api_server(false).await?,
        "start" => cluster.start_api_server().await?,
        "pause" => cluster.signal_api_server(Signal::SIGSTOP).await?,
        "resume" => cluster.signal_api_server(Signal::SIGCONT).await?,
        other => return Err(anyhow::anyhow!("action {other:?} is unknown: expected kill, stop, start, pause or resume").into()),
    }
    Ok(())
}

async fn delete_namespace(Path((id, name)): Path<(u8, String)>, Shared(state): Shared<Arc<BedState>>) -> Result<(), Failure> {
    let api: Api<Namespace> = Api::all(state.cluster(id).await?.client().clone());
    tokio::spawn(async move {
        if let Err(error) = api.delete(&name, &DeleteParams::background()).await {
            tracing::warn!(%name, %error, "cannot delete a namespace");
        }
    });
    Ok(())
}

async fn dns_set(Path(name): Path<String>, Shared(state): Shared<Arc<BedState>>, body: Bytes) -> Result<(), Failure> {
    state.names.set(&name, serde_json::from_slice(&body).with_context(|| format!("addresses of {name:?}"))?);
    Ok(())
}

async fn dns_remove(Path(name): Path<String>, Shared(state): Shared<Arc<BedState>>) {
    state.names.remove(&name);
}

async fn dns_queries(Path(name): Path<String>, Shared(state): Shared<Arc<BedState>>) -> String {
    state.names.queries(&name).to_string()
}
