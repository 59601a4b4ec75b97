//! The control socket: live state in, what NGINX holds out (`docs/live-protocol.md`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use http_client::{Address, Call, Client, Method, StatusCode, escape};
use serde::Deserialize;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::connections::Connections;
use crate::error::Retry;
use crate::state::NginxState;

/// A worker applies a batch within milliseconds; it may wait behind others while the worker is busy.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A walk over everything that the dictionaries hold.
const WALK_TIMEOUT: Duration = Duration::from_secs(30);
/// Asked many times while a reload is confirmed.
const STATE_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest part of an unexpected answer that is quoted.
const QUOTED: usize = 200;

/// A line that was not applied.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordError {
    /// Number of the line in the batch, counted from 1.
    #[serde(default)]
    pub line: u32,
    /// `<letter>\t<key>`, as far as it could be read.
    #[serde(default)]
    pub key: String,
    /// The reason.
    #[serde(default)]
    pub error: String,
}

/// The name of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The letter of the table.
    pub table: char,
    /// The key in it.
    pub key: String,
}

/// Requests of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tapped {
    /// The number of the last one, for the next question.
    pub last: u64,
    /// Those between the last answer and this one that are lost.
    pub lost: u64,
    /// One JSON text each.
    pub lines: Vec<String>,
}

impl Tapped {
    fn parse(text: &str) -> Option<Self> {
        let (head, lines) = text.split_once('\n')?;
        let (last, lost) = head.split_once(' ')?;
        Some(Self { last: last.parse().ok()?, lost: lost.parse().ok()?, lines: lines.lines().map(str::to_owned).collect() })
    }
}

/// A request over the control socket failed.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No connection, or it broke; also on a new connection.
    #[error("{request}: the control socket is not answered")]
    Unreachable {
        /// Method and path.
        request: &'static str,
        /// Why.
        source: http_client::Error,
    },
    /// A dictionary is full. The other lines are applied.
    #[error("a shared dictionary of NGINX is full, {} records were not stored{}", errors.len(), first(errors))]
    Full {
        /// The state after the batch.
        state: Option<Box<NginxState>>,
        /// The lines that were not applied.
        errors: Vec<RecordError>,
    },
    /// Lines can't be read: a fault of this program.
    #[error("NGINX can't read {} of the posted records{}", errors.len(), first(errors))]
    Malformed {
        /// The state after the batch.
        state: Option<Box<NginxState>>,
        /// The lines that were not applied.
        errors: Vec<RecordError>,
    },
    /// The answer is none of the protocol.
    #[error("{request}: expected an answer of the live protocol, got {status} {body:?}")]
    Unexpected {
        /// Method and path.
        request: &'static str,
        /// Its status.
        status: u16,
        /// The beginning of its body.
        body: String,
    },
}

fn first(errors: &[RecordError]) -> String {
    errors.first().map(|error| format!(", first line {} {:?}: {}", error.line, error.key, error.error)).unwrap_or_default()
}

impl LiveError {
    /// Whether to send the same again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unreachable { .. } | Self::Unexpected { .. } => Retry::Later,
            Self::Full { .. } | Self::Malformed { .. } => Retry::Never,
        }
    }
}

/// The part of an answer beside the state where lines were not applied.
#[derive(Deserialize)]
struct Rejected {
    #[serde(default)]
    errors: Vec<RecordError>,
}

/// Names the master whose workers a request is meant for.
const MASTER: &str = "narthex-master";

/// The client of one NGINX. Clones share their connections.
#[derive(Debug, Clone)]
pub struct LiveClient {
    kept: Client,
    fresh: Client,
    /// Pid of the master whose dictionaries are meant; 0: any.
    master: Arc<AtomicI32>,
    /// Held by each request that changes what the dictionaries hold, and while they are copied.
    changes: Arc<Mutex<()>>,
}

/// As long as it lives, no client changes what the dictionaries hold.
#[derive(Debug, Default)]
pub(crate) struct Held {
    _guard: Option<OwnedMutexGuard<()>>,
}

struct Answer {
    request: &'static str,
    status: StatusCode,
    body: Vec<u8>,
}

impl Answer {
    fn unexpected(&self) -> LiveError {
        let text = String::from_utf8_lossy(&self.body);
        LiveError::Unexpected { request: self.request, status: self.status.as_u16(), body: text.chars().take(QUOTED).collect() }
    }

    fn state(self) -> Result<NginxState, LiveError> {
        let state: Option<Box<NginxState>> = serde_json::from_slice(&self.body).ok();
        let errors = || serde_json::from_slice(&self.body).map_or(Vec::new(), |Rejected { errors }| errors);
        match (self.status, state) {
            (StatusCode::OK, Some(state)) => Ok(*state),
            (StatusCode::INSUFFICIENT_STORAGE, state) => Err(LiveError::Full { state, errors: errors() }),
            (StatusCode::BAD_REQUEST, state) => Err(LiveError::Malformed { state, errors: errors() }),
            _ => Err(self.unexpected()),
        }
    }

    fn text(self) -> Result<String, LiveError> {
        match String::from_utf8(self.body) {
            Ok(text) if self.status == StatusCode::OK => Ok(text),
            Ok(text) => Err(Self { body: text.into_bytes(), ..self }.unexpected()),
            Err(error) => Err(Self { body: error.into_bytes(), ..self }.unexpected()),
        }
    }
}

impl LiveClient {
    /// A client of this socket, which need not exist yet.
    pub fn new(socket: &Path) -> Self {
        let address = Address::Unix(socket.to_owned());
        // A worker that leaves closes idle connections; two are enough for a lane and its checks.
        Self { kept: Client::keeping(address.clone(), 2), fresh: Client::new(address), master: Arc::default(), changes: Arc::default() }
    }

    /// From now on this master's workers are meant. Those that a killed one left still accept connections for a moment, and have other dictionaries.
    pub(crate) fn set_master(&self, pid: i32) {
        self.master.store(pid, Ordering::Relaxed);
    }

    fn master(&self) -> Option<i32> {
        Some(self.master.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    /// Waits for requests that change what the dictionaries hold, and keeps others waiting.
    pub(crate) async fn hold(&self) -> Held {
        Held { _guard: Some(self.changes.clone().lock_owned().await) }
    }

    /// The state as the worker of a kept connection sees it.
    pub async fn state(&self) -> Result<NginxState, LiveError> {
        self.request("GET /state", "/state", None, TIMEOUT).await?.state()
    }

    /// The state of whichever worker takes a new connection.
    pub async fn fresh_state(&self) -> Result<NginxState, LiveError> {
        let request = "GET /state";
        send(&self.fresh, request, &call("/state", None, None), STATE_TIMEOUT).await?.state()
    }

    /// Applies lines in order, at most 200: `=<letter>\t<key>\t<value>` sets a record, `-<letter>\t<key>` removes it.
    pub async fn post(&self, lines: String) -> Result<NginxState, LiveError> {
        let _changes = self.changes.lock().await;
        self.request("POST /live", "/live", Some(lines), TIMEOUT).await?.state()
    }

    /// Marks that everything was sent. At most 64 characters.
    pub async fn set_generation(&self, marker: &str) -> Result<NginxState, LiveError> {
        let _changes = self.changes.lock().await;
        self.request("POST /generation", "/generation", Some(marker.to_owned()), TIMEOUT).await?.state()
    }

    /// Says that a reload begins, so that connections end with their answers, or that one has failed.
    pub async fn closing(&self, begins: bool) -> Result<NginxState, LiveError> {
        let by = if begins { "1" } else { "-1" };
        self.request("POST /closing", "/closing", Some(by.to_owned()), STATE_TIMEOUT).await?.state()
    }

    /// The names of all records that NGINX holds.
    pub async fn keys(&self) -> Result<Vec<Key>, LiveError> {
        let answer = self.request("GET /keys", "/keys", None, WALK_TIMEOUT).await?;
        let text = answer.text()?;
        let key = |line: &str| {
            let (table, key) = line.split_once('\t')?;
            let mut letters = table.chars();
            let table = letters.next().filter(|_| letters.as_str().is_empty())?;
            Some(Key { table, key: key.to_owned() })
        };
        let unexpected = |line: &str| LiveError::Unexpected { request: "GET /keys", status: 200, body: line.to_owned() };
        text.lines().map(|line| key(line).ok_or_else(|| unexpected(line))).collect()
    }

    /// The state with digest and number counted again over what the dictionaries hold.
    pub async fn audit(&self) -> Result<NginxState, LiveError> {
        self.request("GET /audit", "/audit", None, WALK_TIMEOUT).await?.state()
    }

    /// One record as it was sent; `None` if there is none. Key pairs (table `c`) are refused by NGINX.
    pub async fn record(&self, table: char, key: &str) -> Result<Option<String>, LiveError> {
        let target = format!("/record?t={}&k={}", escape(&table.to_string()), escape(key));
        let answer = self.request("GET /record", &target, None, TIMEOUT).await?;
        if answer.status == StatusCode::NOT_FOUND { Ok(None) } else { answer.text().map(Some) }
    }

    /// Spans that wait for an exporter, one JSON text each, at most so many. They are gone from NGINX then.
    pub async fn spans(&self, most: u32) -> Result<Vec<String>, LiveError> {
        let text = self.request_any("GET /spans", &format!("/spans?n={most}")).await?.text()?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Request metrics that wait, as text for who adds them up; `done` is the number of the last such text that arrived. What is not
    /// acknowledged comes again.
    pub async fn requests(&self, done: &str) -> Result<String, LiveError> {
        let target = format!("/requests?done={}", escape(done));
        self.request_any("GET /requests", &target).await?.text()
    }

    /// The requests of a host since the last answer, from now on if there is none. `*.example.com`: the hosts of a wildcard; `*`: all.
    pub async fn tap(&self, host: &str, after: Option<u64>) -> Result<Tapped, LiveError> {
        let after = after.map(|number| number.to_string()).unwrap_or_default();
        let request = "POST /tap";
        let text = self.request(request, "/tap", Some(format!("{host}\n{after}")), TIMEOUT).await?.text()?;
        Tapped::parse(&text).ok_or_else(|| LiveError::Unexpected { request, status: 200, body: text.chars().take(QUOTED).collect() })
    }

    /// NGINX's stub status page.
    pub async fn status_page(&self) -> Result<String, LiveError> {
        self.request("GET /status", "/status", None, TIMEOUT).await?.text()
    }

    /// Its figures.
    pub async fn connections(&self) -> Result<Connections, LiveError> {
        let page = self.status_page().await?;
        page.parse().map_err(|()| LiveError::Unexpected { request: "GET /status", status: 200, body: page.chars().take(QUOTED).collect() })
    }

    /// A request to the present master's workers.
    async fn request(&self, request: &'static str, target: &str, body: Option<String>, timeout: Duration) -> Result<Answer, LiveError> {
        let master = self.master().map(|pid| (MASTER, pid.to_string()));
        self.exchange(request, call(target, body, master), timeout).await
    }

    /// A request to any worker: what those of a killed master have counted is wanted, too.
    async fn request_any(&self, request: &'static str, target: &str) -> Result<Answer, LiveError> {
        // What is handed over is taken out.
        let _changes = self.changes.lock().await;
        self.exchange(request, call(target, None, None), TIMEOUT).await
    }

    /// On a kept connection, and once more on a new one if that broke or leads to another master's worker: records may be applied twice without harm.
    async fn exchange(&self, request: &'static str, call: Call<'_>, timeout: Duration) -> Result<Answer, LiveError> {
        let is_late = |error: &LiveError| matches!(error, LiveError::Unreachable { source: http_client::Error::Timeout(_), .. });
        match send(&self.kept, request, &call, timeout).await {
            Ok(answer) if answer.status != StatusCode::MISDIRECTED_REQUEST => Ok(answer),
            Err(error) if is_late(&error) => Err(error),
            _ => send(&self.fresh, request, &call, timeout).await,
        }
    }
}

fn call<'a>(target: &'a str, body: Option<String>, master: Option<(&'static str, String)>) -> Call<'a> {
    let method = if body.is_some() { Method::POST } else { Method::GET };
    Call { method, target, headers: master.into_iter().collect(), body: body.unwrap_or_default() }
}

async fn send(client: &Client, request: &'static str, call: &Call<'_>, timeout: Duration) -> Result<Answer, LiveError> {
    let answer = client.call(call, timeout).await.map_err(|source| LiveError::Unreachable { request, source })?;
    Ok(Answer { request, status: answer.status, body: answer.body.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { request: "POST /live", status: StatusCode::from_u16(status).unwrap(), body: body.into() }
    }

    #[test]
    fn answers_are_classified() {
        assert_eq!(answer(200, r#"{"revision":"a","rev":7}"#).state().unwrap().rev, 7);
        let full = answer(507, r#"{"revision":"a","rev":8,"errors":[{"line":2,"key":"h\tfoo","error":"no memory"}]}"#).state().unwrap_err();
        assert!(full.to_string().contains("1 records were not stored, first line 2 \"h\\tfoo\": no memory"), "{full}");
        assert!(matches!(full, LiveError::Full { state: Some(state), .. } if state.rev == 8));
        assert!(matches!(answer(400, "").state(), Err(LiveError::Malformed { state: None, .. })));
        let other = answer(502, "<html>").state().unwrap_err();
        assert_eq!(other.to_string(), "POST /live: expected an answer of the live protocol, got 502 \"<html>\"");
        assert!(matches!(answer(200, "[]").state(), Err(LiveError::Unexpected { .. })));
    }
}
