//! The controller's own unix socket: answers `narthex conf`, `narthex dbg` and `narthex explain request`.

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
    /// `narthex explain request`.
    Request(RequestQuery<'a>),
}

impl<'a> Question<'a> {
    /// The path that it is asked at, without its slash.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Conf(_) => "conf",
            Self::Certificate(_) => "certificate",
            Self::Request(_) => "request",
        }
    }

    /// Its query.
    pub fn pairs(self) -> Vec<(&'static str, &'a str)> {
        let pair = |name: &'static str, value: Option<&'a str>| value.map(|value| (name, value));
        let json = |json: bool| json.then_some(("format", "json"));
        match self {
            Self::Conf(query) => [pair("host", query.host), pair("path", query.path), json(query.json)].into_iter().flatten().collect(),
            Self::Certificate(host) => vec![("host", host)],
            Self::Request(query) => {
                let one = [Some(("url", query.url)), Some(("method", query.method)), pair("client", query.client), json(query.json)];
                one.into_iter().flatten().chain(query.headers.iter().map(|header| ("header", *header))).collect()
            }
        }
    }
}

/// The query of `narthex explain request`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestQuery<'a> {
    /// URL.
    pub url: &'a str,
    /// Method.
    pub method: &'a str,
    /// Headers, each `Name: value`.
    pub headers: &'a [&'a str],
    /// Address of the client; absent: not known.
    pub client: Option<&'a str>,
    /// `true` for JSON.
    pub json: bool,
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

/// Serves these questions, and what else there is, until `shutdown` resolves.
///
/// # Errors
/// When the listener fails.
pub async fn serve_conf(
    listener: UnixListener,
    source: ConfSource,
    others: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let app =
        Router::new().route("/conf", get(conf)).route("/certificate", get(certificate)).route("/request", get(request)).with_state(source);
    axum::serve(listener, app.merge(others)).with_graceful_shutdown(shutdown).await
}

type Pairs = Query<Vec<(String, String)>>;

async fn conf(State(source): State<ConfSource>, Query(query): Pairs) -> Response {
    let asked = move || {
        let (host, path) = (value(&query, "host"), value(&query, "path"));
        source(Question::Conf(ConfQuery { host, path, json: value(&query, "format") == Some("json") }))
    };
    answer(asked).await
}

async fn certificate(State(source): State<ConfSource>, Query(query): Pairs) -> Response {
    answer(move || source(Question::Certificate(value(&query, "host").unwrap_or_default()))).await
}

async fn request(State(source): State<ConfSource>, Query(query): Pairs) -> Response {
    let asked = move || {
        let headers: Vec<&str> = query.iter().filter(|(key, _)| key == "header").map(|(_, value)| value.as_str()).collect();
        source(Question::Request(RequestQuery {
            url: value(&query, "url").unwrap_or_default(),
            method: value(&query, "method").unwrap_or("GET"),
            headers: &headers,
            client: value(&query, "client"),
            json: value(&query, "format") == Some("json"),
        }))
    };
    answer(asked).await
}

fn value<'a>(query: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    query.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str())
}

/// On a thread of its own: text of all hosts is a second's work, which the lanes are not to wait for.
async fn answer(asked: impl FnOnce() -> Result<String, String> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(asked).await {
        Ok(Ok(text)) => crate::plain(StatusCode::OK, text),
        Ok(Err(why)) => crate::plain(StatusCode::NOT_FOUND, why),
        Err(error) => crate::plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
