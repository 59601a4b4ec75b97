//! The source: starts the feeds, owns the state, publishes snapshots.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use imbl::OrdMap;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::IngressClass;
use kube::Client;
use model::{BuildOptions, EndpointSlice, Ingress, Service, Snapshot};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::Tasks;
use crate::backoff::Retry;
use crate::feed::Feed;
use crate::fetch::{FetchAnswer, Request, fetch};
use crate::kinds::Kind;
use crate::message::Message;
use crate::state::{ClusterState, FeedChange, Statuses};
use crate::watch::{self as feeds, Wiring};

/// Messages that may wait for the owner. A page of a list is one message.
const QUEUE: usize = 256;
/// Messages that are applied before a snapshot is published, at most.
const BATCH: usize = 4096;
/// Fetches at a time.
const FETCHES: usize = 32;

/// Options of watching the cluster.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// The namespaces, and the objects that the flags refer to.
    pub settings: Arc<BuildOptions>,
    /// Waits after failed requests.
    pub retry: Retry,
    /// The wait before IngressClasses that may not be listed are tried again.
    pub forbidden_retry: Duration,
    /// The time that a snapshot waits for a Secret or ConfigMap that something newly refers to. Longer, and it is published without the newest
    /// version of the Ingress that does.
    pub patience: Duration,
    /// The time that an Ingress waits for it. Longer, and it counts as absent.
    pub longest_patience: Duration,
}

impl SourceOptions {
    /// The usual waits.
    pub fn new(settings: Arc<BuildOptions>) -> Self {
        Self {
            settings,
            retry: Retry::default(),
            forbidden_retry: Duration::from_secs(30),
            patience: Duration::from_millis(25),
            longest_patience: Duration::from_secs(2),
        }
    }
}

/// The watching of the cluster; started by [`ClusterSource::spawn`].
#[derive(Debug)]
pub struct ClusterSource;

/// The other end of a running source.
#[derive(Debug)]
pub struct SourceHandle {
    /// The newest snapshot. `None` until every store has been complete once, the referenced Secrets and ConfigMaps included; then never again.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// The progress of every feed, and its error.
    pub status: watch::Receiver<SourceStatus>,
    /// The addresses in the status of every Ingress, for the status writer.
    pub statuses: watch::Receiver<Statuses>,
    addresses: watch::Sender<OrdMap<Arc<str>, Arc<[IpAddr]>>>,
}

impl SourceHandle {
    /// Feeds in the resolved addresses of ExternalName Services; they appear in the next snapshot. The newest call wins.
    pub fn set_addresses(&self, addresses: OrdMap<Arc<str>, Arc<[IpAddr]>>) {
        self.addresses.send_replace(addresses);
    }
}

/// The state of a source, for health and debugging.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceStatus {
    /// Every feed.
    pub feeds: Vec<FeedStatus>,
    /// Secrets and ConfigMaps that are being fetched.
    pub fetching: usize,
    /// A snapshot has been published.
    pub ready: bool,
}

/// One list and watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedStatus {
    /// The kind that is watched.
    pub kind: Kind,
    /// The scope in words: `everywhere`, `in shop`, `ingress/main only`.
    pub scope: String,
    /// The first list was complete.
    pub initialised: bool,
    /// The last failure was a matter of permission.
    pub forbidden: bool,
    /// Objects of this kind that are held, by all its feeds.
    pub objects: usize,
    /// The last error; `None` while it works.
    pub error: Option<Arc<str>>,
    /// Since when it works, or does not.
    pub since: Timestamp,
}

impl ClusterSource {
    /// Starts the feeds and their owner. They run until the set is aborted or the handle's receivers are of no use any more.
    pub fn spawn(client: Client, options: SourceOptions, tasks: &mut Tasks) -> SourceHandle {
        let state = ClusterState::new(&options.settings, Timestamp::now());
        let (out, messages) = mpsc::channel(QUEUE);
        let (references_known, gate) = watch::channel(false);
        let wiring = Wiring { out, references_known: gate, retry: options.retry, forbidden_retry: options.forbidden_retry };
        for (number, feed) in state.feeds().enumerate() {
            spawn_feed(client.clone(), number, feed.clone(), wiring.clone(), tasks);
        }
        let later = LaterFeeds { wiring, tasks: Tasks::new(), handles: BTreeMap::new() };
        let (snapshots, snapshots_receiver) = watch::channel(None);
        let (status, status_receiver) = watch::channel(state.status());
        let (statuses, statuses_receiver) = watch::channel(Statuses::new());
        let (addresses, addresses_receiver) = watch::channel(OrdMap::new());
        let owner = Owner {
            client,
            options,
            state,
            messages,
            fetches: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            refused: FuturesUnordered::new(),
            later,
            references_known,
            snapshots,
            status,
            statuses,
            addresses: addresses_receiver,
        };
        tasks.spawn(owner.run());
        SourceHandle { snapshots: snapshots_receiver, status: status_receiver, statuses: statuses_receiver, addresses }
    }
}

fn spawn_feed(client: Client, number: usize, feed: Feed, wiring: Wiring, tasks: &mut Tasks) -> AbortHandle {
    match feed.kind {
        Kind::Ingress => tasks.spawn(feeds::run::<Ingress>(client, number, feed, wiring)),
        Kind::IngressClass => tasks.spawn(feeds::run::<IngressClass>(client, number, feed, wiring)),
        Kind::Service => tasks.spawn(feeds::run::<Service>(client, number, feed, wiring)),
        Kind::EndpointSlice => tasks.spawn(feeds::run::<EndpointSlice>(client, number, feed, wiring)),
        Kind::Secret => tasks.spawn(feeds::run::<Secret>(client, number, feed, wiring)),
        Kind::ConfigMap => tasks.spawn(feeds::run::<ConfigMap>(client, number, feed, wiring)),
        Kind::Namespace => tasks.spawn(feeds::run::<Namespace>(client, number, feed, wiring)),
    }
}

/// Feeds that are started and ended while the others run.
struct LaterFeeds {
    wiring: Wiring,
    tasks: Tasks,
    handles: BTreeMap<usize, AbortHandle>,
}

impl LaterFeeds {
    fn change(&mut self, client: &Client, change: FeedChange) {
        match change {
            FeedChange::Start(number, feed) => {
                let handle = spawn_feed(client.clone(), number, feed, self.wiring.clone(), &mut self.tasks);
                self.handles.insert(number, handle);
            }
            FeedChange::End(number) => {
                if let Some(handle) = self.handles.remove(&number) {
                    handle.abort();
                }
            }
        }
    }

    /// The name of one that ended although it should not. Waits for ever while all run.
    async fn unexpected_end(&mut self) -> &'static str {
        loop {
            match self.tasks.join_next().await {
                None => std::future::pending().await,
                Some(Ok(name)) => return name,
                Some(Err(error)) if error.is_cancelled() => {}
                Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            }
        }
    }
}

struct Owner {
    client: Client,
    options: SourceOptions,
    state: ClusterState,
    messages: mpsc::Receiver<Message>,
    fetches: FuturesUnordered<BoxFuture<'static, FetchAnswer>>,
    /// Requests beyond [`FETCHES`].
    waiting: VecDeque<Request>,
    /// Requests that were refused, each until it is tried again.
    refused: FuturesUnordered<BoxFuture<'static, Request>>,
    later: LaterFeeds,
    references_known: watch::Sender<bool>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    status: watch::Sender<SourceStatus>,
    statuses: watch::Sender<Statuses>,
    addresses: watch::Receiver<OrdMap<Arc<str>, Arc<[IpAddr]>>>,
}

impl Owner {
    async fn run(mut self) -> &'static str {
        let mut batch = Vec::new();
        let mut patience_ends: Option<Instant> = None;
        let mut longest_patience_ends: Option<Instant> = None;
        let mut resolver = true;
        loop {
            tokio::select! {
                count = self.messages.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        return "source";
                    }
                    let now = Timestamp::now();
                    for message in batch.drain(..) {
                        self.state.handle(message, now);
                    }
                }
                Some(answer) = self.fetches.next() => self.answered(answer),
                changed = self.addresses.changed(), if resolver => match changed {
                    Ok(()) => {
                        let addresses = self.addresses.borrow_and_update().clone();
                        self.state.set_addresses(addresses);
                    }
                    Err(_) => resolver = false,
                },
                Some(request) = self.refused.next() => self.waiting.push_back(request),
                ended = self.later.unexpected_end() => return ended,
                () = until(patience_ends) => self.state.wait_no_longer(),
                () = until(longest_patience_ends) => self.state.withhold_no_longer(),
            }
            for change in self.state.take_feed_changes() {
                self.later.change(&self.client, change);
            }
            self.start_fetches();
            self.publish(&mut patience_ends);
            longest_patience_ends = match self.state.is_withholding() {
                true => longest_patience_ends.or_else(|| Some(Instant::now() + self.options.longest_patience)),
                false => None,
            };
        }
    }

    fn answered(&mut self, answer: FetchAnswer) {
        let again = answer.refused();
        self.state.answer(answer, Timestamp::now());
        if let Some(request) = again.filter(|request| self.state.awaits(request)) {
            let wait = self.options.forbidden_retry;
            self.refused.push(Box::pin(async move {
                tokio::time::sleep(wait).await;
                request
            }));
        }
    }

    fn start_fetches(&mut self) {
        self.waiting.extend(self.state.take_requests());
        while self.fetches.len() < FETCHES
            && let Some(request) = self.waiting.pop_front()
        {
            if self.state.awaits(&request) {
                self.fetches.push(Box::pin(fetch(self.client.clone(), request, self.options.retry)));
            }
        }
    }

    fn publish(&mut self, patience_ends: &mut Option<Instant>) {
        if !*self.references_known.borrow() && self.state.knows_references() {
            self.references_known.send_replace(true);
        }
        if let Some(statuses) = self.state.take_statuses() {
            self.statuses.send_replace(statuses);
        }
        // Without the Secret that comes with a new Ingress, the Ingress would be served, and reported, without its certificate: that is worth a moment.
        if self.state.has_snapshot() && self.state.is_fetching() {
            patience_ends.get_or_insert(Instant::now() + self.options.patience);
        } else {
            *patience_ends = None;
            if let Some(snapshot) = self.state.take_snapshot() {
                self.snapshots.send_replace(Some(snapshot));
            }
        }
        let status = self.state.status();
        self.status.send_if_modified(|old| {
            let differs = *old != status;
            *old = status;
            differs
        });
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
