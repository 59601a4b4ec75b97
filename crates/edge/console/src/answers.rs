//! The API: a path and a query in, JSON out.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query as Read, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use inspect::Failure;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::question::{self, Pairs, Question, value};
use crate::{Source, stream};

/// Answers that are computed at once; others wait for them, so that those who ask never take the machine from the lanes.
const AT_ONCE: usize = 4;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The question can't be understood.
    Wrong(String),
    /// There is no such thing.
    Unknown(String),
    /// There is no answer now.
    Unavailable(String),
}

/// What answers are made of.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) source: Arc<dyn Source>,
    permits: Arc<Semaphore>,
}

/// The API, below `/api/v1`.
pub fn api(source: Arc<dyn Source>) -> Router {
    let api = Api { source, permits: Arc::new(Semaphore::new(AT_ONCE)) };
    let lists = Router::new()
        .route("/now", get(async |State(api): Asking| api.ask(Ok(Question::Now)).await))
        .route("/ingresses", get(async |State(api): Asking, query: Given| api.list(&query, Question::Ingresses).await))
        .route("/hosts", get(async |State(api): Asking, query: Given| api.list(&query, Question::Hosts).await))
        .route("/hosts/{host}", get(async |State(api): Asking, Path(host): Name| api.ask(Ok(Question::Host(host))).await))
        .route("/backends", get(async |State(api): Asking, query: Given| api.list(&query, Question::Backends).await))
        .route("/backends/{*name}", get(async |State(api): Asking, Path(name): Name| api.ask(Ok(Question::Backend(name))).await))
        .route("/certificates", get(async |State(api): Asking, query: Given| api.list(&query, Question::Certificates).await))
        .route("/problems", get(problems))
        .route("/settings", get(settings))
        .route("/budgets", get(async |State(api): Asking, query: Given| api.list(&query, Question::Budgets).await))
        .route("/revisions", get(async |State(api): Asking, query: Given| api.list(&query, Question::Revisions).await))
        .route("/revisions/diff", get(diff))
        .route("/traffic", get(traffic))
        .route(
            "/request",
            get(async |State(api): Asking, Read(pairs): Given| api.ask(question::asked(&pairs).map(Question::Request)).await),
        )
        .route("/workers", get(workers))
        .route("/events", get(events))
        .route("/stream", get(stream::stream))
        .fallback(async || refused(&Refusal::Unknown("the API has no such path".to_owned())));
    Router::new().nest("/api/v1", lists.with_state(api))
}

type Asking = State<Api>;
type Given = Read<Pairs>;
type Name = Path<String>;

impl Api {
    /// The answer, computed on a thread of its own.
    pub(crate) async fn computed(&self, question: Question) -> Result<Vec<u8>, Refusal> {
        let failed = |error: &dyn std::fmt::Display| Refusal::Unavailable(error.to_string());
        let permit = self.permits.clone().acquire_owned().await.map_err(|error| failed(&error))?;
        let source = self.source.clone();
        let computed = spawn_blocking(move || {
            let answer = source.answer(&question);
            drop(permit);
            answer
        });
        computed.await.map_err(|error| failed(&error))?
    }

    async fn ask(&self, question: Result<Question, String>) -> Response {
        match question {
            Ok(question) => respond(self.computed(question).await),
            Err(why) => refused(&Refusal::Wrong(why)),
        }
    }

    async fn list(&self, Read(pairs): &Given, question: impl Fn(inspect::Query) -> Question) -> Response {
        self.ask(question::query(pairs).map(question)).await
    }
}

async fn problems(State(api): Asking, Read(pairs): Given) -> Response {
    let kind = value(&pairs, "kind").map(str::to_owned);
    api.ask(question::query(&pairs).map(|query| Question::Problems(query, kind))).await
}

async fn settings(State(api): Asking, Read(pairs): Given) -> Response {
    let only_changed = value(&pairs, "changed") == Some("true");
    api.ask(question::query(&pairs).map(|query| Question::Settings(query, only_changed))).await
}

async fn traffic(State(api): Asking, Read(pairs): Given) -> Response {
    let question = question::query(&pairs).and_then(|query| Ok(Question::Traffic(question::traffic_by(&pairs)?, query)));
    api.ask(question).await
}

async fn diff(State(api): Asking, Read(pairs): Given) -> Response {
    let of = |name: &str| value(&pairs, name).map(str::to_owned);
    api.ask(Ok(Question::Diff(of("from"), of("to")))).await
}

async fn workers(State(api): Asking) -> Response {
    respond(api.source.workers().await.and_then(|workers| json(&workers)))
}

async fn events(State(api): Asking, Read(pairs): Given) -> Response {
    match value(&pairs, "since").map(str::parse).transpose() {
        Ok(since) => respond(json(&api.source.events(since))),
        Err(_) => refused(&Refusal::Wrong("since: expected the number of an event".to_owned())),
    }
}

/// A value as the body of an answer.
///
/// # Errors
/// It has a map whose keys are no texts: a fault of this program.
pub fn json<T: Serialize>(value: &T) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(value).map_err(|error| Refusal::Unavailable(error.to_string()))
}

fn respond(answer: Result<Vec<u8>, Refusal>) -> Response {
    match answer {
        Ok(body) => with_body(StatusCode::OK, body),
        Err(refusal) => refused(&refusal),
    }
}

/// The answer that says why there is none.
pub(crate) fn refused(refusal: &Refusal) -> Response {
    let (status, error) = match refusal {
        Refusal::Wrong(why) => (StatusCode::BAD_REQUEST, why),
        Refusal::Unknown(why) => (StatusCode::NOT_FOUND, why),
        Refusal::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
    };
    failure(status, error)
}

/// A failure with its status.
pub(crate) fn failure(status: StatusCode, error: &str) -> Response {
    with_body(status, serde_json::to_vec(&Failure { error: error.to_owned() }).unwrap_or_default())
}

fn with_body(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}
