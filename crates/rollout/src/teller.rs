//! `--webhook-url`: somebody else is told of changes, and nothing is rolled out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tokio::sync::{mpsc, oneshot, watch};

use crate::Stop;
use crate::apply::Hands;
use crate::kind::ContentId;
use crate::state::{Event, News, State};

/// Attempts for one change after the first.
const RETRIES: usize = 5;
/// Wait after the first failed attempt; doubles.
const WAIT: Duration = Duration::from_millis(500);
/// Changes that wait for their turn. More are dropped, oldest first.
const BACKLOG: usize = 1000;

/// Runs until the news or the election end, or until it is stopped: then what waits is told.
pub(crate) async fn run(
    hands: Arc<Hands>,
    url: String,
    leader: watch::Receiver<bool>,
    mut news: mpsc::Receiver<News>,
    mut stop: oneshot::Receiver<Stop>,
) {
    let mut state = State::new(&hands.options);
    let mut backlog: VecDeque<(String, ContentId)> = VecDeque::new();
    let mut telling: Option<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>> = None;
    loop {
        if telling.is_none()
            && let Some((namespace, id)) = backlog.pop_front()
        {
            telling = Some(Box::pin(tell(hands.clone(), url.clone(), namespace, id)));
        }
        tokio::select! {
            Ok(stop) = &mut stop => {
                let rest = async {
                    if let Some(telling) = telling {
                        telling.await;
                    }
                    for (namespace, id) in backlog {
                        tell(hands.clone(), url.clone(), namespace, id).await;
                    }
                };
                return stop.after(rest).await;
            }
            some = news.recv() => {
                let Some(news) = some else { return };
                let changed = state.take(news).changed;
                let rules = state.rules();
                let counts = |event: &Event| match event {
                    Event::Created => rules.on_create,
                    Event::Updated => true,
                    Event::Deleted => rules.on_delete,
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
            () = async { if let Some(telling) = &mut telling { telling.await } }, if telling.is_some() => telling = None,
        }
    }
}

async fn tell(hands: Arc<Hands>, url: String, namespace: String, id: ContentId) {
    let attempt = async || {
        let told = hands.sender.tell(&url).await;
        hands.metrics.webhook(told.is_ok());
        told.inspect_err(|why| tracing::warn!(namespace, object = %id, why, "changed, but the webhook could not be told"))
    };
    if attempt.retry(ExponentialBuilder::new().with_min_delay(WAIT).with_max_times(RETRIES)).await.is_ok() {
        tracing::info!(namespace, object = %id, "changed; the webhook was told");
    }
}
