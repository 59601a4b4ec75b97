//! Events: what a person sees under `kubectl describe`.
//!
//! One task posts them, at a bounded rate, those of each namespace in turn. An Event has the same name on every replica and after every restart (a digest of the object, the reason and the message), so that
//! the same finding reported again is one Event seen again, not one more. Problems are handed in as the whole current set; only those that are new become Events.
//! That an Ingress was taken over or changed is said as well, by every replica and last of all: thousands of them wait while a Warning does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use imbl::OrdSet;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use model::{ObjectKey, ObjectRef, Problem, Snapshot};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::backoff::{Backoff, Retry};
use crate::chain::chain;
use crate::limit::Limiter;
use crate::{PRODUCT, Tasks};

mod backlog;
mod note;
mod scheduled;

use backlog::Backlog;
use note::Note;
use scheduled::Scheduled;

const TASK: &str = "event writer";
/// Notes that callers may have handed in without their being taken.
const QUEUE: usize = 1024;
/// Notes that wait for their turn. More are dropped.
const BACKLOG: usize = 20_000;
/// Attempts to post one.
const ATTEMPTS: u32 = 5;
/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Events whose count is remembered.
const REMEMBERED: usize = 4096;

/// Options of the writer of Events.
#[derive(Debug, Clone)]
pub struct EventWriterOptions {
    /// `source.component`, shown as "From".
    pub component: String,
    /// The replica: the Pod's name.
    pub instance: String,
    /// Events a second in the long run.
    pub rate: u32,
    /// Events at once.
    pub burst: u32,
    /// Waits after failed posts.
    pub retry: Retry,
}

impl EventWriterOptions {
    /// 20 a second, 100 at once, as `nginx-ingress-controller`.
    pub fn new(instance: impl Into<String>) -> Self {
        Self { component: "nginx-ingress-controller".into(), instance: instance.into(), rate: 20, burst: 100, retry: Retry::default() }
    }
}

/// The writing of Events; started by [`EventWriter::spawn`].
#[derive(Debug)]
pub struct EventWriter;

/// Hands in Events. Never blocks.
#[derive(Debug, Clone)]
pub struct EventSender {
    notes: mpsc::Sender<Note>,
    problems: watch::Sender<Arc<[Problem]>>,
    dropped: Arc<AtomicU64>,
}

impl EventSender {
    /// Something that a person should look at.
    pub fn warning(&self, object: ObjectRef, reason: &'static str, message: impl Into<String>) {
        self.send(Note::new(object, true, reason, message.into()));
    }

    /// Something that is as it should be.
    pub fn normal(&self, object: ObjectRef, reason: &'static str, message: impl Into<String>) {
        self.send(Note::new(object, false, reason, message.into()));
    }

    /// The whole current set of Problems. Each becomes a Warning when it appears, and again only after it was gone.
    pub fn problems(&self, problems: impl Into<Arc<[Problem]>>) {
        self.problems.send_replace(problems.into());
    }

    /// Events that could not be handed in or posted since the start.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn send(&self, note: Note) {
        if self.notes.try_send(note).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl EventWriter {
    /// Starts the writer. `snapshots` gives the uids by which `kubectl describe` finds an object's Events; that of a Pod is asked for.
    /// `owned`: the Ingresses that are ours; each gets the Event `Sync` when it is taken over, and when it changes.
    pub fn spawn(
        client: Client,
        options: EventWriterOptions,
        snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
        owned: Option<watch::Receiver<OrdSet<ObjectKey>>>,
        tasks: &mut Tasks,
    ) -> EventSender {
        let (notes, queue) = mpsc::channel(QUEUE);
        let (problems, current) = watch::channel::<Arc<[Problem]>>(Arc::default());
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            client,
            limiter: Limiter::new(options.rate, options.burst, Instant::now()),
            backoff: Backoff::new(options.retry),
            options,
            scheduled: owned.map(|owned| Scheduled::new(snapshots.clone(), owned)),
            snapshots,
            queue,
            current,
            known: BTreeSet::new(),
            backlog: Backlog::default(),
            pod: None,
            counts: BTreeMap::new(),
            paused: None,
            forbidden: false,
            dropped: dropped.clone(),
        };
        tasks.spawn(writer.run());
        EventSender { notes, problems, dropped }
    }
}

struct Writer {
    client: Client,
    options: EventWriterOptions,
    limiter: Limiter,
    backoff: Backoff,
    snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    queue: mpsc::Receiver<Note>,
    current: watch::Receiver<Arc<[Problem]>>,
    /// The Problems that were there last time.
    known: BTreeSet<Problem>,
    backlog: Backlog,
    /// Events of the lowest priority: written when the backlog is empty.
    scheduled: Option<Scheduled>,
    /// The Pod of the last Event (our own), and its uid, which no snapshot holds.
    pod: Option<(ObjectKey, String)>,
    /// Number of times that each Event was written, by name.
    counts: BTreeMap<String, i32>,
    /// The server did not take the last one; tried again then.
    paused: Option<Instant>,
    /// `true` if the missing permission to write them was logged.
    forbidden: bool,
    dropped: Arc<AtomicU64>,
}

impl Writer {
    async fn run(mut self) -> &'static str {
        loop {
            let wait = self.wait();
            tokio::select! {
                note = self.queue.recv() => match note {
                    Some(note) => self.enqueue(note),
                    None => return TASK,
                },
                changed = self.current.changed() => match changed {
                    Ok(()) => self.take_problems(),
                    Err(_) => return TASK,
                },
                is_there = changed(self.scheduled.as_mut()) => match self.scheduled.as_mut().filter(|_| is_there) {
                    Some(scheduled) => scheduled.look(),
                    None => return TASK,
                },
                () = sleep(wait) => if let Some(note) = self.next() {
                    self.limiter.take(Instant::now());
                    self.post(note).await;
                },
            }
        }
    }

    /// Time until the next post; `None` when there is nothing to post.
    fn wait(&self) -> Option<Duration> {
        let now = Instant::now();
        let pause = self.paused.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let idle = self.backlog.is_empty() && self.scheduled.as_ref().is_none_or(Scheduled::is_empty);
        (!idle).then(|| pause.max(self.limiter.wait(now)))
    }

    fn next(&mut self) -> Option<Note> {
        self.backlog.pop().or_else(|| self.scheduled.as_mut()?.pop())
    }

    fn enqueue(&mut self, note: Note) {
        if self.backlog.push(note, BACKLOG) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take_problems(&mut self) {
        let current: BTreeSet<Problem> = self.current.borrow_and_update().iter().cloned().collect();
        // What is over need not be reported any more.
        let over: BTreeSet<Note> = self.known.difference(&current).map(Note::of_problem).collect();
        self.backlog.retain(|note| !over.contains(note));
        for note in current.difference(&self.known).map(Note::of_problem).collect::<Vec<_>>() {
            self.enqueue(note);
        }
        self.known = current;
    }

    async fn post(&mut self, mut note: Note) {
        let uid = match note.pod() {
            Some(pod) => self.pod_uid(pod).await,
            None => self.snapshots.borrow().as_deref().and_then(|snapshot| note.uid(snapshot)),
        };
        let event = note.event(uid, &self.options, jiff::Timestamp::now());
        match timeout(TIMEOUT, self.write(&event)).await {
            Ok(Ok(())) => {
                self.backoff.reset();
                self.paused = None;
                return;
            }
            Ok(Err(kube::Error::Api(status))) if (400..500).contains(&status.code) && status.code != 429 => {
                // Not allowed, or the namespace is being deleted: it will not be taken later either.
                if status.code == 403 && !std::mem::replace(&mut self.forbidden, true) {
                    tracing::warn!(object = %note.object, error = %status.message, "Events may not be written here; this is not said again");
                }
                tracing::debug!(object = %note.object, reason = note.reason, error = %status.message, "the event was not accepted");
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Ok(Err(error)) => tracing::debug!(object = %note.object, error = chain(&error), "the event could not be written"),
            Err(_) => tracing::debug!(object = %note.object, "writing the event took too long"),
        }
        self.paused = Some(Instant::now() + self.backoff.next());
        note.attempts += 1;
        if note.attempts < ATTEMPTS {
            self.backlog.push_front(note);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn pod_uid(&mut self, key: ObjectKey) -> Option<String> {
        if let Some((known, uid)) = &self.pod
            && *known == key
        {
            return Some(uid.clone());
        }
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &key.namespace);
        let uid = timeout(TIMEOUT, api.get_metadata(&key.name)).await.ok()?.ok()?.metadata.uid?;
        self.pod = Some((key, uid.clone()));
        Some(uid)
    }

    /// Creates the Event, or counts it up when it is there.
    async fn write(&mut self, event: &Event) -> Result<(), kube::Error> {
        let name = event.metadata.name.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), event.metadata.namespace.as_deref().unwrap_or("default"));
        if !self.counts.contains_key(&name) {
            let params = PostParams { field_manager: Some(PRODUCT.to_owned()), ..PostParams::default() };
            match api.create(&params, event).await {
                Ok(_) => {
                    self.remember(name, 1);
                    return Ok(());
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(error),
            }
        }
        let known = self.counts.get(&name).copied();
        let mut patch = json!({"lastTimestamp": event.last_timestamp});
        if let Some(count) = known {
            patch["count"] = json!(count.saturating_add(1));
        }
        let params = PatchParams { field_manager: Some(PRODUCT.to_owned()), ..PatchParams::default() };
        match api.patch(&name, &params, &Patch::Merge(&patch)).await {
            Ok(event) => {
                self.remember(name, event.count.unwrap_or(1));
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_not_found() && known.is_some() => {
                // It has aged away on the server.
                self.counts.remove(&name);
                api.create(&PostParams::default(), event).await?;
                self.remember(name, 1);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn remember(&mut self, name: String, count: i32) {
        if self.counts.len() >= REMEMBERED {
            self.counts.clear();
        }
        self.counts.insert(name, count);
    }
}

async fn changed(scheduled: Option<&mut Scheduled>) -> bool {
    match scheduled {
        Some(scheduled) => scheduled.changed().await,
        None => std::future::pending().await,
    }
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
