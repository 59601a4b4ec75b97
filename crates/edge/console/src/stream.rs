//! Events as they happen, by server-sent events (HTML, section 9.2).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::answers::Api;
use crate::question::Question;

/// Between two states in figures.
const PAUSE: Duration = Duration::from_secs(5);

/// A client that listens.
struct Listener {
    api: Api,
    newest: watch::Receiver<u64>,
    /// The last event that it got.
    last: u64,
    ticks: Interval,
    waiting: VecDeque<Event>,
}

/// The stream: the state in figures at once and then from time to time, and each event, from `Last-Event-ID` on if there is one.
pub(crate) async fn stream(State(api): State<Api>, headers: HeaderMap) -> Response {
    let mut newest = api.source.newest();
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let present = *newest.borrow_and_update();
    // The number of another controller says nothing.
    let last = last.filter(|last| *last <= present).unwrap_or(present);
    if last < present {
        newest.mark_changed();
    }
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let listener = Listener { api, newest, last, ticks, waiting: VecDeque::new() };
    let events = stream::unfold(listener, async |mut listener| {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    ([(header::CACHE_CONTROL, "no-store")], Sse::new(events)).into_response()
}

impl Listener {
    /// The next event. `None`: the controller ends.
    async fn next(&mut self) -> Option<Event> {
        while self.waiting.is_empty() {
            tokio::select! {
                changed = self.newest.changed() => {
                    changed.ok()?;
                    self.follow();
                }
                _ = self.ticks.tick() => {
                    if let Ok(body) = self.api.computed(Question::Now).await {
                        self.waiting.push_back(Event::default().event("now").data(String::from_utf8_lossy(&body)));
                    }
                }
            }
        }
        self.waiting.pop_front()
    }

    /// Takes the events that there are; what is left of many comes with the next turn.
    fn follow(&mut self) {
        let events = self.api.source.events(Some(self.last)).items;
        for event in events {
            self.last = event.id;
            let text = serde_json::to_string(&event).unwrap_or_default();
            self.waiting.push_back(Event::default().id(event.id.to_string()).event("change").data(text));
        }
        if self.last < *self.newest.borrow() && !self.waiting.is_empty() {
            self.newest.mark_changed();
        }
    }
}
