//! One kind in one part of a cluster: list in pages, then watch, for ever.
//!
//! Written over `Api::list` and `Api::watch` rather than over kube's `watcher`, because four things must be seen here that it keeps to itself: that a watch runs again after an
//! error (an idle kind sends no event for hours, and the error would stand in the status), that a server accepts watches and ends them at once (which must be slowed down),
//! the pages of a list as a whole, and how long trouble lasts (it is logged once).
//!
//! | What happens | What is done |
//! |---|---|
//! | the watch ends, by time or because the connection broke | watched again from the last version seen |
//! | the server answers an error, or not at all | the same, after a growing wait |
//! | 410: the version is too old | listed again; the receiver keeps what it has until that list is complete |
//! | an event can't be decoded (the object in it may be odd: that is its own affair) | listed again, after a growing wait |

use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use crate::backoff::{Backoff, Retry};
use crate::chain::chain;
use crate::connect::READ_TIMEOUT;

/// The time that the server may keep a watch open. A connection that died without a word is noticed a little later; resuming costs one small request.
const WATCH_SECONDS: u32 = 45;
/// Silence beyond [`WATCH_SECONDS`] after which the connection is given up.
const GRACE: Duration = Duration::from_secs(10);
/// A watch that ends sooner than this, and without an event, did not work.
const SHORT: Duration = Duration::from_secs(1);

// An idle watch ends by its own time: the client does not take it for a dead connection.
const _: () = assert!(READ_TIMEOUT.as_secs() > WATCH_SECONDS as u64 + GRACE.as_secs());

/// One step of a list and watch.
#[derive(Debug)]
pub enum Step<K> {
    /// A list begins. What is held stays until its end.
    Begin,
    /// A page of the list.
    Page(Vec<K>),
    /// The list is complete: what it did not hold is gone.
    End,
    /// An object was created or changed.
    Apply(K),
    /// An object was deleted.
    Delete(K),
    /// The server can't be asked, or refuses; asked again later.
    Failed {
        /// The error.
        error: Arc<str>,
        /// The permission is missing.
        forbidden: bool,
    },
    /// The watch runs (again).
    Running,
}

/// The receiver is gone: nothing is left to do.
#[derive(Debug)]
pub struct Closed;

/// A receiver of steps.
pub trait Sink<K>: Send {
    /// Takes the next step.
    fn take(&mut self, step: Step<K>) -> impl Future<Output = Result<(), Closed>> + Send;
}

/// The scope of a list and watch, and its options.
#[derive(Debug, Clone)]
pub struct ListWatch<K> {
    /// The endpoint.
    pub api: Api<K>,
    /// For logs: `Ingress`.
    pub kind: &'static str,
    /// For logs: `everywhere`, `in shop`.
    pub scope: String,
    /// The label selector.
    pub labels: Option<String>,
    /// The field selector.
    pub fields: Option<String>,
    /// Objects per page of a list.
    pub page: u32,
    /// The waits after errors.
    pub retry: Retry,
    /// The wait where a right is missing, if it is another one.
    pub forbidden_retry: Option<Duration>,
}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static> ListWatch<K> {
    /// Runs until the receiver is gone.
    pub async fn run(self, sink: impl Sink<K>) -> Closed {
        let backoff = Backoff::new(self.retry);
        let Err(closed) = (Running { options: self, sink, backoff, failing: None }).run().await;
        closed
    }
}

struct Running<K, S> {
    options: ListWatch<K>,
    sink: S,
    backoff: Backoff,
    /// While it fails: whether for want of a right.
    failing: Option<bool>,
}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static, S: Sink<K>> Running<K, S> {
    async fn run(mut self) -> Result<std::convert::Infallible, Closed> {
        loop {
            if let Some(version) = self.list().await? {
                self.follow(version).await?;
            }
        }
    }

    /// Reads the whole list. `None` when it failed half-way, after a wait.
    async fn list(&mut self) -> Result<Option<String>, Closed> {
        self.sink.take(Step::Begin).await?;
        let mut params = ListParams {
            label_selector: self.options.labels.clone(),
            field_selector: self.options.fields.clone(),
            limit: Some(self.options.page),
            ..ListParams::default()
        };
        loop {
            let page = match self.options.api.list(&params).await {
                Ok(page) => page,
                Err(error) => {
                    self.failed(&error).await?;
                    return Ok(None);
                }
            };
            let objects = page.items.into_iter().filter(|object| self.is_named(object)).collect();
            self.sink.take(Step::Page(objects)).await?;
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_some() {
                continue;
            }
            let Some(version) = page.metadata.resource_version.filter(|version| !version.is_empty()) else {
                self.report("the list carries no resourceVersion".into(), false).await?;
                return Ok(None);
            };
            self.sink.take(Step::End).await?;
            // The wait before the next list stays long until a watch works: a server that answers lists alone would be flooded with them.
            self.recovered();
            return Ok(Some(version));
        }
    }

    /// Watches from `version` on. Returns when the server does not know that version any more.
    async fn follow(&mut self, mut version: String) -> Result<(), Closed> {
        let params = WatchParams {
            label_selector: self.options.labels.clone(),
            field_selector: self.options.fields.clone(),
            timeout: Some(WATCH_SECONDS),
            bookmarks: true,
            send_initial_events: false,
        };
        loop {
            let started = Instant::now();
            let stream = match self.options.api.watch(&params, &version).await {
                Ok(stream) => stream,
                Err(kube::Error::Api(status)) if is_gone(&status) => return self.expired(started).await,
                Err(error) => {
                    self.failed(&error).await?;
                    continue;
                }
            };
            if self.failing.is_some() {
                self.sink.take(Step::Running).await?;
            }
            let mut stream = pin!(stream);
            let mut events = 0_u64;
            let silence = Duration::from_secs(WATCH_SECONDS.into()) + GRACE;
            // After a failure: a watch that stays open works, although the first bookmark may be a minute away.
            let mut is_new = self.failing.is_some();
            // `None`: the stream ended or fell silent; both are resumed at once.
            loop {
                let event = match timeout(if is_new { SHORT } else { silence }, stream.next()).await {
                    Ok(Some(event)) => event,
                    Err(_) if is_new => {
                        is_new = false;
                        self.works();
                        continue;
                    }
                    Ok(None) | Err(_) => break,
                };
                is_new = false;
                events += 1;
                match event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                        seen(&mut version, &object);
                        self.works();
                        if self.is_named(&object) {
                            self.sink.take(Step::Apply(object)).await?;
                        }
                    }
                    Ok(WatchEvent::Deleted(object)) => {
                        seen(&mut version, &object);
                        self.works();
                        if self.is_named(&object) {
                            self.sink.take(Step::Delete(object)).await?;
                        }
                    }
                    Ok(WatchEvent::Bookmark(bookmark)) => {
                        version = bookmark.metadata.resource_version;
                        self.works();
                    }
                    Ok(WatchEvent::Error(status)) if is_gone(&status) => return self.expired(started).await,
                    Ok(WatchEvent::Error(status)) => {
                        self.failed(&kube::Error::Api(status)).await?;
                        break;
                    }
                    Err(kube::Error::SerdeError(error)) => {
                        return self.report(format!("a watch event can't be decoded; listing again: {error}"), false).await;
                    }
                    Err(error) => {
                        self.failed(&error).await?;
                        break;
                    }
                }
            }
            match (events, started.elapsed() < SHORT) {
                (0, true) => self.report("the server ended the watch at once".into(), false).await?,
                (_, false) => self.works(),
                _ => {}
            }
        }
    }

    /// The version is too old. Waits when that came so soon that the next list would end the same way.
    async fn expired(&mut self, started: Instant) -> Result<(), Closed> {
        tracing::info!(kind = self.options.kind, scope = self.options.scope, "the watch is too far behind; listing again");
        if started.elapsed() < SHORT {
            tokio::time::sleep(self.backoff.next()).await;
        }
        Ok(())
    }

    async fn failed(&mut self, error: &kube::Error) -> Result<(), Closed> {
        let forbidden = matches!(error, kube::Error::Api(status) if status.is_forbidden());
        self.report(chain(error), forbidden).await
    }

    /// Reports a failure, and waits.
    async fn report(&mut self, error: String, forbidden: bool) -> Result<(), Closed> {
        let (kind, scope) = (self.options.kind, &self.options.scope);
        match self.failing.replace(forbidden) {
            Some(known) if known == forbidden => tracing::debug!(kind, scope, error, "still can't be watched"),
            _ if forbidden => {
                tracing::warn!(
                    kind,
                    scope,
                    error,
                    "can't be watched: the rights to list and watch are missing; what is known stays in use"
                );
            }
            _ => tracing::warn!(kind, scope, error, "can't be watched; what is known stays in use"),
        }
        self.sink.take(Step::Failed { error: error.into(), forbidden }).await?;
        let wait = self.options.forbidden_retry.filter(|_| forbidden).unwrap_or_else(|| self.backoff.next());
        tokio::time::sleep(wait).await;
        Ok(())
    }

    fn works(&mut self) {
        self.recovered();
        self.backoff.reset();
    }

    fn recovered(&mut self) {
        if self.failing.take().is_some() {
            tracing::info!(kind = self.options.kind, scope = self.options.scope, "is watched again");
        }
    }

    /// `true` if the object has a name. One without can only be reported in the log.
    fn is_named(&self, object: &K) -> bool {
        let named = object.meta().name.is_some();
        if !named {
            tracing::warn!(kind = self.options.kind, "an object without a readable name is passed over");
        }
        named
    }
}

fn seen<K: Resource>(version: &mut String, object: &K) {
    if let Some(newer) = object.meta().resource_version.as_deref().filter(|version| !version.is_empty()) {
        newer.clone_into(version);
    }
}

fn is_gone(status: &Status) -> bool {
    status.code == 410 || matches!(status.reason.as_str(), "Expired" | "Gone")
}
