//! One feed: list in pages, then watch, for ever.
//!
//! Written over `Api::list` and `Api::watch` rather than over kube's `watcher`, because three things must be seen here that it keeps to itself: that a watch runs again after an
//! error (an idle kind sends no event for hours, and the error would stand in the status), that a server accepts watches and ends them at once (which must be slowed down),
//! and the pages of a list as a whole.
//!
//! | What happens | What is done |
//! |---|---|
//! | the watch ends, by time or because the connection broke | watched again from the last version seen |
//! | the server answers an error, or not at all | the same, after a growing wait |
//! | 410: the version is too old | listed again; the store keeps what it has until that list is complete |
//! | an event can't be decoded (the object in it may be odd: that is its own affair) | listed again, after a growing wait |

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::{Api, Client, Resource};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::backoff::{Backoff, Retry};
use crate::chain::chain;
use crate::decode::Fetched;
use crate::feed::Feed;
use crate::kinds::{Kind, Watched};
use crate::message::{Input, Message};

/// How long the server may keep a watch open. A connection that died without a word is noticed a little later; resuming costs one small request.
pub(crate) const WATCH_SECONDS: u32 = 45;
/// Silence beyond [`WATCH_SECONDS`] after which the connection is given up.
const GRACE: Duration = Duration::from_secs(10);
/// A watch that ends sooner than this, and without an event, did not work.
const SHORT: Duration = Duration::from_secs(1);

/// The owner of the stores is gone: nothing is left to do.
#[derive(Debug)]
pub(crate) struct Closed;

/// How a feed talks to the server and to the owner of the stores.
#[derive(Debug, Clone)]
pub(crate) struct Wiring {
    pub(crate) out: mpsc::Sender<Message>,
    /// Turns true when it is known which Secrets and ConfigMaps to keep.
    pub(crate) references_known: watch::Receiver<bool>,
    pub(crate) retry: Retry,
    /// The wait before IngressClasses that may not be listed are tried again.
    pub(crate) forbidden_retry: Duration,
}

/// Runs a feed until the owner of the stores is gone.
pub(crate) async fn run<K: Watched>(client: Client, number: usize, feed: Feed, mut wiring: Wiring) -> &'static str {
    if K::KIND.by_reference() && wiring.references_known.wait_for(|known| *known).await.is_err() {
        return K::KIND.task();
    }
    let watcher = Watcher::<K> {
        api: K::api(client, feed.scope.namespace()),
        number,
        backoff: Backoff::new(wiring.retry),
        feed,
        wiring,
        failing: false,
    };
    let Err(Closed) = watcher.run().await;
    K::KIND.task()
}

struct Watcher<K: Watched> {
    api: Api<Fetched<K>>,
    number: usize,
    feed: Feed,
    wiring: Wiring,
    backoff: Backoff,
    failing: bool,
}

impl<K: Watched> Watcher<K> {
    async fn run(mut self) -> Result<std::convert::Infallible, Closed> {
        loop {
            if let Some(version) = self.list().await? {
                self.follow(version).await?;
            }
        }
    }

    /// Reads the whole list. `None` when it failed half-way, after a wait.
    async fn list(&mut self) -> Result<Option<String>, Closed> {
        self.send(Input::Begin).await?;
        let mut params = ListParams {
            label_selector: self.feed.labels(),
            field_selector: self.feed.fields(),
            limit: Some(self.feed.page()),
            ..ListParams::default()
        };
        loop {
            let page = match self.api.list(&params).await {
                Ok(page) => page,
                Err(error) => {
                    self.failed(&error).await?;
                    return Ok(None);
                }
            };
            self.send(Input::Page(page.items.into_iter().filter(named).collect())).await?;
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_some() {
                continue;
            }
            let Some(version) = page.metadata.resource_version.filter(|version| !version.is_empty()) else {
                self.report("the list carries no resourceVersion".into(), false).await?;
                return Ok(None);
            };
            self.send(Input::End).await?;
            self.works();
            return Ok(Some(version));
        }
    }

    /// Watches from `version` on. Returns when the server does not know that version any more.
    async fn follow(&mut self, mut version: String) -> Result<(), Closed> {
        let params = WatchParams {
            label_selector: self.feed.labels(),
            field_selector: self.feed.fields(),
            timeout: Some(WATCH_SECONDS),
            bookmarks: true,
            send_initial_events: false,
        };
        loop {
            let started = Instant::now();
            let stream = match self.api.watch(&params, &version).await {
                Ok(stream) => stream,
                Err(kube::Error::Api(status)) if is_gone(&status) => return self.expired(started).await,
                Err(error) => {
                    self.failed(&error).await?;
                    continue;
                }
            };
            if self.failing {
                self.send(Input::Running).await?;
            }
            let mut stream = pin!(stream);
            let mut events = 0_u64;
            let silence = Duration::from_secs(WATCH_SECONDS.into()) + GRACE;
            // `None`: the stream ended or fell silent; both are resumed at once.
            while let Ok(Some(event)) = timeout(silence, stream.next()).await {
                events += 1;
                match event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                        seen(&mut version, &object);
                        self.works();
                        if named(&object) {
                            self.send(Input::Apply(object)).await?;
                        }
                    }
                    Ok(WatchEvent::Deleted(object)) => {
                        seen(&mut version, &object);
                        self.works();
                        if named(&object) {
                            self.send(Input::Delete(object)).await?;
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
        tracing::info!(kind = %K::KIND, scope = %self.feed.scope.describe(), "the watch is too far behind; listing again");
        if started.elapsed() < SHORT {
            tokio::time::sleep(self.backoff.next()).await;
        }
        Ok(())
    }

    async fn failed(&mut self, error: &kube::Error) -> Result<(), Closed> {
        match error {
            kube::Error::Api(status) => self.report(format!("{} (status {})", status.message, status.code), status.is_forbidden()).await,
            error => self.report(chain(error), false).await,
        }
    }

    /// Tells of a failure and waits.
    async fn report(&mut self, error: String, forbidden: bool) -> Result<(), Closed> {
        if self.failing {
            tracing::debug!(kind = %K::KIND, scope = %self.feed.scope.describe(), error, "still can't be watched");
        } else {
            tracing::warn!(kind = %K::KIND, scope = %self.feed.scope.describe(), error, "can't be watched; what is known stays in use");
        }
        self.failing = true;
        self.send(Input::Failed { error: error.into(), forbidden }).await?;
        let wait = match forbidden && K::KIND == Kind::IngressClass {
            true => self.wiring.forbidden_retry,
            false => self.backoff.next(),
        };
        tokio::time::sleep(wait).await;
        Ok(())
    }

    fn works(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::info!(kind = %K::KIND, scope = %self.feed.scope.describe(), "is watched again");
        }
        self.backoff.reset();
    }

    async fn send(&self, input: Input<K>) -> Result<(), Closed> {
        self.wiring.out.send(K::message(self.number, input)).await.map_err(|_| Closed)
    }
}

/// Whether it is known which object it is. One that is not can't be told to anybody but the log.
fn named<K: Watched>(object: &Fetched<K>) -> bool {
    let named = object.meta().name.is_some();
    if !named {
        tracing::warn!(kind = %K::KIND, "an object without a readable name is passed over");
    }
    named
}

fn seen<K: Watched>(version: &mut String, object: &Fetched<K>) {
    if let Some(newer) = object.version() {
        newer.clone_into(version);
    }
}

fn is_gone(status: &Status) -> bool {
    status.code == 410 || matches!(status.reason.as_str(), "Expired" | "Gone")
}
