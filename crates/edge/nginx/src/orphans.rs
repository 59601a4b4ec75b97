//! Workers that accept connections without a master that could reload or replace them.
//!
//! They serve what they know, so they go on until the successor is about to take over, and finish the requests that they
//! have begun.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::process::{Order, Process};
use crate::procfs::{Identity, Worker};

/// A worker closes its listening sockets as soon as it is back in its event loop.
const PATIENCE: Duration = Duration::from_millis(700);
const POLL: Duration = Duration::from_millis(1);

/// Tells the workers to finish, and returns when none of them accepts any more. One that is stuck is killed: it would hold
/// the ports.
pub(crate) async fn retire<P: Process>(process: &P, workers: &[Worker]) {
    for worker in accepting(process, workers, Duration::ZERO).await {
        if let Err(error) = process.signal(worker.id, Order::Quit).await {
            tracing::warn!(%error, "an orphaned worker can't be signalled to finish");
        }
    }
    if accepting(process, workers, PATIENCE).await.is_empty() {
        return;
    }
    for worker in accepting(process, workers, Duration::ZERO).await {
        tracing::warn!(pid = worker.id.pid, "an orphaned worker does not finish: killed");
        if let Err(error) = process.signal(worker.id, Order::Kill).await {
            tracing::warn!(%error, "an orphaned worker can't be killed");
        }
    }
    accepting(process, workers, PATIENCE).await;
}

/// Waits until none of the workers accepts connections, and returns those that still do in the end.
pub(crate) async fn accepting<P: Process>(process: &P, workers: &[Worker], patience: Duration) -> Vec<Worker> {
    let deadline = Instant::now() + patience;
    let ids: Vec<Identity> = workers.iter().map(|worker| worker.id).collect();
    loop {
        let mut left = process.refresh(&ids).await;
        left.retain(|worker| !worker.leaving);
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        sleep(POLL).await;
    }
}
