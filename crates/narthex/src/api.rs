//! The inspection API of a running controller, over its socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use http_client::{Address, Call, Client, StatusCode, Stream, escape};
use inspect::{Failure, List};
use serde::de::DeserializeOwned;

use crate::commands::conf::SOCKET;

/// Longest time of an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most items in one answer.
const PAGE: usize = 1000;

/// The controller of a work directory.
pub(crate) struct Api {
    client: Client,
    socket: PathBuf,
}

/// Names and values of a query.
pub(crate) type Query<'a> = Vec<(&'static str, &'a str)>;

impl Api {
    /// The one of this work directory, which need not run.
    pub(crate) fn new(work_dir: &Path) -> Self {
        let socket = work_dir.join(SOCKET);
        Self { client: Client::keeping(Address::Unix(socket.clone()), 1), socket }
    }

    /// The answer at a path below `/api/v1/`.
    ///
    /// # Errors
    /// No controller answers, or it answers with an error.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str, query: &Query<'_>) -> anyhow::Result<T> {
        let target = target(path, query);
        let answer = self.client.call(&Call { target: &target, ..Call::default() }, PATIENCE).await.with_context(|| self.silent())?;
        if !answer.status.is_success() {
            bail!("{}", reason(answer.status, &answer.body));
        }
        serde_json::from_slice(&answer.body).with_context(|| format!("{target}: the controller is of another version"))
    }

    /// The items of a list, at most so many, and the number of those that match.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn list<T: DeserializeOwned>(&self, path: &str, query: &Query<'_>, most: usize) -> anyhow::Result<List<T>> {
        let mut whole = List { total: 0, offset: 0, items: Vec::new() };
        loop {
            let limit = most.saturating_sub(whole.items.len()).min(PAGE).to_string();
            let offset = whole.items.len().to_string();
            let page: List<T> = self.get(path, &[query.as_slice(), &[("offset", &*offset), ("limit", &*limit)]].concat()).await?;
            whole.total = page.total;
            let is_last = page.items.is_empty();
            whole.items.extend(page.items);
            if is_last || whole.items.len() >= whole.total.min(most) {
                return Ok(whole);
            }
        }
    }

    /// An answer that goes on, at a path below `/api/v1/`.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn stream(&self, path: &str, headers: Vec<(&'static str, String)>) -> anyhow::Result<Stream> {
        let target = target(path, &Vec::new());
        let mut stream =
            self.client.stream(&Call { target: &target, headers, ..Call::default() }, PATIENCE).await.with_context(|| self.silent())?;
        if !stream.status().is_success() {
            let body = stream.next().await?.unwrap_or_default();
            bail!("{}", reason(stream.status(), &body));
        }
        Ok(stream)
    }

    fn silent(&self) -> String {
        format!("no controller answers on {}: give --work-dir of the running one, or ask `narthex doctor`", self.socket.display())
    }
}

fn target(path: &str, query: &Query<'_>) -> String {
    let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    format!("/api/v1/{path}{mark}{}", pairs.join("&"))
}

/// What the controller says about an error of its own.
fn reason(status: StatusCode, body: &[u8]) -> String {
    match serde_json::from_slice::<Failure>(body) {
        Ok(failure) => failure.error,
        Err(_) if status == StatusCode::NOT_FOUND => "the controller is of another version, without this answer".to_owned(),
        Err(_) => format!("the controller answers {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_into_a_query_unharmed() {
        assert_eq!(target("hosts", &vec![("q", "*.a b"), ("limit", "5")]), "/api/v1/hosts?q=%2A.a%20b&limit=5");
        assert_eq!(target("now", &Vec::new()), "/api/v1/now");
    }

    #[test]
    fn the_reason_of_an_error_is_the_controller_s_own_words() {
        assert_eq!(reason(StatusCode::SERVICE_UNAVAILABLE, br#"{"error":"needs --enable-metrics"}"#), "needs --enable-metrics");
        assert_eq!(reason(StatusCode::NOT_FOUND, b""), "the controller is of another version, without this answer");
        assert_eq!(reason(StatusCode::BAD_GATEWAY, b"<html>"), "the controller answers 502 Bad Gateway");
    }
}
