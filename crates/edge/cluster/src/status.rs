//! Writes the addresses into the status of the Ingresses that are served.
//!
//! Driven by events: a new Ingress, a changed address, a status that another client changed. Only the leader writes. What is written is not waited for in the watch, and
//! never changes a snapshot: the current addresses come from [`crate::Statuses`], beside the objects. Thousands of writes occupy an API server: they make way for changes
//! that are to be served.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use imbl::OrdSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use model::ObjectKey;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

use crate::Tasks;
use crate::address::Address;
use crate::backoff::Retry;
use crate::chain::chain;
use crate::publish::{AddressSource, follow, replicas};
use crate::source::SourceHandle;
use crate::state::Statuses;

mod ledger;
mod pace;
mod pen;

use ledger::Ledger;
use pace::Pace;
pub(crate) use pen::{PARALLEL, Pen, manager};

const TASK: &str = "status writer";
/// Writes before it is looked again what is due.
const ROUND: usize = 200;
/// Longest wait for the list of replicas.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time of emptying all statuses.
const CLEAR: Duration = Duration::from_secs(30);
/// Phases of Pods that have ended.
const ENDED: [&str; 2] = ["Succeeded", "Failed"];
/// Labels that differ between the replicas of two versions of one Deployment or DaemonSet.
const VERSION_LABELS: [&str; 3] = ["pod-template-hash", "controller-revision-hash", "pod-template-generation"];

/// Options of the status writer.
#[derive(Debug, Clone)]
pub struct StatusOptions {
    /// The source of the addresses.
    pub addresses: AddressSource,
    /// The Lease of the leader: by it `narthex cleanup` knows later what this controller wrote.
    pub lease: ObjectKey,
    /// `--status-update-interval`: how soon a write that did not take effect, or that others keep changing, is repeated; how often node addresses are looked up.
    pub interval: Duration,
    /// Our own Pod, for telling on shutdown whether we are the last.
    pub pod: ObjectKey,
    /// `--update-status-on-shutdown`: the last replica empties the statuses.
    pub clear_on_shutdown: bool,
    /// Waits after failed writes.
    pub retry: Retry,
}

/// The writing of Ingress status; started by [`StatusWriter::spawn`].
#[derive(Debug)]
pub struct StatusWriter;

/// The other end of a running status writer.
#[derive(Debug)]
pub struct StatusHandle {
    stop: oneshot::Sender<oneshot::Sender<()>>,
}

impl StatusHandle {
    /// Stops writing. Empties the statuses when that is asked for, at most one address is in use, and no other Pod like ours stays. Returns when that is done.
    pub async fn stop(self) {
        let (done, finished) = oneshot::channel();
        if self.stop.send(done).is_ok() {
            // An error means that the task is gone: as good as done.
            let _ = finished.await;
        }
    }
}

impl StatusWriter {
    /// Starts to keep the statuses of the `owned` Ingresses, while `leader` is true.
    pub fn spawn(
        client: Client,
        options: StatusOptions,
        owned: watch::Receiver<OrdSet<ObjectKey>>,
        source: &SourceHandle,
        leader: watch::Receiver<bool>,
        tasks: &mut Tasks,
    ) -> StatusHandle {
        let (addresses, wanted) = watch::channel(None);
        tasks.spawn(follow(client.clone(), options.addresses.clone(), options.interval, options.retry, addresses));
        let (stop, stopped) = oneshot::channel();
        let ledger = Ledger::new(options.interval, options.retry);
        let pen = Pen::new(client, manager(&options.lease));
        let (statuses, pace) = (source.statuses.clone(), Pace::new(source.snapshots.clone()));
        tasks.spawn(Writer { pen, options, owned, statuses, leader, wanted, ledger, pace }.run(stopped));
        StatusHandle { stop }
    }
}

struct Writer {
    pen: Pen,
    options: StatusOptions,
    owned: watch::Receiver<OrdSet<ObjectKey>>,
    statuses: watch::Receiver<Statuses>,
    leader: watch::Receiver<bool>,
    wanted: watch::Receiver<Option<Arc<[Address]>>>,
    ledger: Ledger,
    pace: Pace,
}

impl Writer {
    async fn run(mut self, mut stopped: oneshot::Receiver<oneshot::Sender<()>>) -> &'static str {
        loop {
            tokio::select! {
                ended = self.turn() => if ended {
                    return TASK;
                },
                done = &mut stopped => {
                    if let Ok(done) = done {
                        self.clear().await;
                        // There is no receiver when the caller gave up.
                        let _ = done.send(());
                    }
                    return TASK;
                }
            }
        }
    }

    /// Writes a round of what is due, or waits until something may be. `true` when an input is gone.
    async fn turn(&mut self) -> bool {
        let leads = *self.leader.borrow_and_update();
        let wanted = self.wanted.borrow_and_update().clone();
        let owned = self.owned.borrow_and_update().clone();
        let statuses = self.statuses.borrow_and_update().clone();
        let mut next = None;
        if let (true, Some(wanted)) = (leads, wanted) {
            let due = self.ledger.due(&owned, &statuses, &wanted, Instant::now());
            if !due.keys.is_empty() {
                self.write(due.keys, &wanted).await;
                return false;
            }
            next = due.next;
        }
        tokio::select! {
            changed = self.leader.changed() => changed.is_err(),
            changed = self.wanted.changed() => changed.is_err(),
            changed = self.owned.changed() => changed.is_err(),
            changed = self.statuses.changed() => changed.is_err(),
            () = until(next) => false,
        }
    }

    async fn write(&mut self, due: Vec<ObjectKey>, wanted: &Arc<[Address]>) {
        let mut due = due.into_iter().take(ROUND);
        let mut writes = FuturesUnordered::new();
        loop {
            let pace = self.pace.now(Instant::now());
            // Those that are under way are finished.
            let open = if self.is_superseded() { 0 } else { pace.parallel.saturating_sub(writes.len()) };
            for key in due.by_ref().take(open) {
                let (pen, wanted) = (self.pen.clone(), wanted.clone());
                writes.push(async move {
                    let outcome = pen.write(&key, &wanted).await;
                    (key, outcome)
                });
            }
            match writes.next().await {
                None => return,
                Some((key, Ok(()))) => self.ledger.wrote(key, wanted, Instant::now()),
                Some((key, Err(error))) => {
                    tracing::warn!(ingress = %key, error, "the status can't be written");
                    self.ledger.failed(key, Instant::now());
                }
            }
            tokio::time::sleep(pace.pause).await;
        }
    }

    /// Whether others are to be written now, or none.
    fn is_superseded(&self) -> bool {
        self.leader.has_changed().unwrap_or(true) || self.wanted.has_changed().unwrap_or(true)
    }

    async fn clear(&mut self) {
        let wanted = self.wanted.borrow().clone();
        if !self.options.clear_on_shutdown || wanted.is_none_or(|wanted| wanted.len() > 1) {
            return;
        }
        match timeout(TIMEOUT, replicas(self.pen.client(), &self.options.pod, &VERSION_LABELS)).await {
            Ok(Ok(pods)) if !pods.iter().any(|pod| stays(pod, &self.options.pod.name)) => {}
            // It has the addresses from now on, or will have them.
            Ok(Ok(_)) => return,
            Ok(Err(error)) => {
                tracing::warn!(error = chain(&error), "it can't be found out whether other replicas run; Ingress status is left as it is");
                return;
            }
            Err(_) => return,
        }
        let statuses = self.statuses.borrow().clone();
        let owned = self.owned.borrow().clone();
        let filled = owned.into_iter().filter(|key| statuses.get(key).is_some_and(|addresses| !addresses.is_empty()));
        let pen = &self.pen;
        let writes = futures::stream::iter(filled).for_each_concurrent(PARALLEL, |key| async move {
            if let Err(error) = pen.write(&key, &[]).await {
                tracing::warn!(ingress = %key, error, "the status can't be emptied");
            }
        });
        if timeout(CLEAR, writes).await.is_err() {
            tracing::warn!("not every status of an Ingress could be emptied within {} s", CLEAR.as_secs());
        }
    }
}

/// Whether a Pod is another one than ours and goes on: neither ended nor about to.
fn stays(pod: &Pod, own: &str) -> bool {
    let ended = pod.status.as_ref().and_then(|status| status.phase.as_deref()).is_some_and(|phase| ENDED.contains(&phase));
    pod.metadata.name.as_deref() != Some(own) && pod.metadata.deletion_timestamp.is_none() && !ended
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
