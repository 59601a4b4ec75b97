//! Restarts workloads when the ConfigMaps and Secrets that they use change: the successor of stakater's Reloader.
//!
//! # How it works
//!
//! - `watch` lists and watches ConfigMaps, Secrets and workloads, and keeps digests, references and annotations of them (`state`).
//! - Changes of the state touch workloads; `agenda` collects for a moment, so that several changes are one rollout.
//! - `decide` compares what objects hold with what is written on the workload, as a pure function. What is written there
//!   is part of the very patch that rolls out, so the next leader neither repeats nor misses anything.
//! - `work` checks the content, patches with the version that was decided about as a precondition, notifies operators, and watches the first new Pod.

mod agenda;
mod alert;
mod apply;
mod background;
mod check;
mod complaint;
mod content;
mod decide;
mod engine;
mod jobs;
mod kind;
mod metrics;
mod notices;
mod notifier;
mod options;
mod patch;
mod policy;
mod post;
mod record;
mod rules;
mod state;
mod uses;
mod verdict;
mod watch;
mod work;
mod workload;

use std::sync::Arc;
use std::time::Duration;

use cluster::Tasks;
use kube::Client;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch as channel};
use tokio::time::Instant;

pub use agenda::Debounce;
pub use alert::{AlertOptions, Sink};
pub use kind::{ContentKind, Kind};
pub use metrics::Metrics;
pub use options::Options;
pub use rules::{Check, FIXED, Names, Rules, Strategy};

/// Changes of the state that wait to be taken.
const QUEUE: usize = 1024;

/// The reason why it can't start.
#[derive(Debug, Error)]
pub enum StartError {
    /// `ALERT_WEBHOOK_PROXY` is not a URL.
    #[error("ALERT_WEBHOOK_PROXY is not a URL")]
    Proxy(#[source] hyper::http::uri::InvalidUri),
}

/// Starts it as tasks of `tasks`. It acts while `leader` says so; a replica that does not lead knows everything and waits.
///
/// # Errors
///
/// [`StartError`]. Everything about the API server is retried for ever and shows in logs and metrics.
pub fn spawn(
    client: Client,
    options: Options,
    metrics: Metrics,
    leader: channel::Receiver<bool>,
    tasks: &mut Tasks,
) -> Result<Handle, StartError> {
    let (stop, stopped) = oneshot::channel();
    let (sender, changes) = mpsc::channel(QUEUE);
    let mut watches = tokio::task::JoinSet::new();
    watch::start(&client, &options, &sender, &mut watches);
    let webhook = options.webhook.clone();
    let context = Arc::new(apply::Context::new(client, options, metrics).map_err(StartError::Proxy)?);
    tasks.spawn(async move {
        // Held, so that the watches end with what reads them; none ends before.
        let mut watches = watches;
        let work = async {
            match webhook {
                Some(url) => notifier::run(context, url, leader, changes, stopped).await,
                None => engine::Engine::new(context, leader).run(changes, stopped).await,
            }
        };
        tokio::select! {
            () = work => "rollout",
            _ = watches.join_next() => "watch of the rollout",
        }
    });
    Ok(Handle { stop })
}

/// The other end of what [`spawn`] started.
#[derive(Debug)]
pub struct Handle {
    stop: oneshot::Sender<Stop>,
}

/// The request to end.
#[derive(Debug)]
pub(crate) struct Stop {
    /// The time after which unfinished work is left.
    deadline: Instant,
    done: oneshot::Sender<()>,
}

impl Stop {
    /// Waits for what was begun, until the deadline, and answers. Never returns: the tasks are ended from outside.
    pub(crate) async fn after(self, work: impl Future<Output = ()>) {
        if tokio::time::timeout_at(self.deadline, work).await.is_err() {
            tracing::warn!("not everything that was begun could be finished in time; the next leader rolls out what was not");
        }
        // There is no receiver when the caller gave up.
        let _ = self.done.send(());
        std::future::pending().await
    }
}

impl Handle {
    /// Begins nothing any more and finishes what was begun: rollouts that were decided, Jobs that were deleted and are to be made again,
    /// and alerts and webhooks about them. Returns when that is done, after `within` at the latest.
    pub async fn stop(self, within: Duration) {
        let (done, finished) = oneshot::channel();
        if self.stop.send(Stop { deadline: Instant::now() + within, done }).is_ok() {
            // An error means that the task is gone: as good as done.
            let _ = finished.await;
        }
    }
}
