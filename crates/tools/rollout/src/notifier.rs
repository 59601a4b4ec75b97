//! `--webhook-url`: another program is notified of changes, and nothing is rolled out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tokio::sync::{mpsc, oneshot, watch};

use crate::Stop;
use crate::apply::Context;
use crate::kind::ContentId;
use crate::state::{ContentEvent, KnownState, StateChange};

/// Attempts for one change after the first.
const RETRIES: usize = 5;
/// Wait after the first failed attempt; doubles.
const WAIT: Duration = Duration::from_millis(500);
/// Changes that wait for their turn. More are dropped, oldest first.
const BACKLOG: usize = 1000;

/// Runs until the changes or the election end, or until it is stopped: then waiting notifications are sent.
pub(crate) async fn run(
    context: Arc<Context>,
    url: String,
    leader: watch::Receiver<bool>,
    mut changes: mpsc::Receiver<StateChange>,
    mut stop: oneshot::Receiver<Stop>,
) {
    let mut state = KnownState::new(&context.options);
    let mut backlog: VecDeque<(String, ContentId)> = VecDeque::new();
    let mut sending: Option<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>> = None;
    loop {
        if sending.is_none()
            && let Some((namespace, id)) = backlog.pop_front()
        {
            sending = Some(Box::pin(notify(context.clone(), url.clone(), namespace, id)));
        }
        tokio::select! {
            Ok(stop) = &mut stop => {
                let rest = async {
                    if let Some(sending) = sending {
                        sending.await;
                    }
                    for (namespace, id) in backlog {
                        notify(context.clone(), url.clone(), namespace, id).await;
                    }
                };
                return stop.after(rest).await;
            }
            some = changes.recv() => {
                let Some(change) = some else { return };
                let changed = state.take(change).changed;
                let rules = state.rules();
                let counts = |event: &ContentEvent| match event {
                    ContentEvent::Created => rules.on_create,
                    ContentEvent::Updated => true,
                    ContentEvent::Deleted => rules.on_delete,
                };
                for (namespace, id, event) in changed {
                    if counts(&event) && *leader.borrow() {
                        if backlog.len() >= BACKLOG {
                            backlog.pop_front();
                        }
                        backlog.push_back((namespace, id));
                    }
                }
            }
            () = async { if let Some(sending) = &mut sending { sending.await } }, if sending.is_some() => sending = None,
        }
    }
}

async fn notify(context: Arc<Context>, url: String, namespace: String, id: ContentId) {
    let attempt = async || {
        let notified = context.sender.notify(&url).await;
        context.metrics.webhook(notified.is_ok());
        notified.inspect_err(|why| tracing::warn!(namespace, object = %id, why, "changed, but the webhook could not be notified"))
    };
    if attempt.retry(ExponentialBuilder::new().with_min_delay(WAIT).with_max_times(RETRIES)).await.is_ok() {
        tracing::info!(namespace, object = %id, "changed; the webhook was notified");
    }
}
