//! One run at a time: triggers coalesce, and each caller that waits gets the result of a run that began after its call.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::report::ReloadReport;

/// The source of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerSource {
    /// The program has started.
    Start,
    /// Files may have changed.
    Files,
    /// A run that failed is repeated.
    Retry,
    /// A signal.
    Signal,
    /// A request.
    Http,
}

impl TriggerSource {
    /// The name in reports and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Files => "files",
            Self::Retry => "retry",
            Self::Signal => "signal",
            Self::Http => "http",
        }
    }

    /// `true` if a client or an operator asks: NGINX reloads even if nothing changed, for it also reads files that are not followed.
    pub const fn is_forced(self) -> bool {
        matches!(self, Self::Signal | Self::Http)
    }
}

/// The queue. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Queue {
    shared: Arc<Shared>,
    finished: watch::Receiver<Option<Arc<ReloadReport>>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<QueueState>,
    wanted: Notify,
    finish: watch::Sender<Option<Arc<ReloadReport>>>,
}

/// Runs are numbered from 1.
#[derive(Debug, Default)]
struct QueueState {
    begun: u64,
    wanted: u64,
    sources: Vec<TriggerSource>,
}

impl QueueState {
    /// The number of the first run that begins after now.
    fn want(&mut self, source: TriggerSource) -> u64 {
        self.wanted = self.begun + 1;
        if !self.sources.contains(&source) {
            self.sources.push(source);
        }
        self.wanted
    }

    /// The next run, if one is wanted.
    fn begin(&mut self) -> Option<(u64, Vec<TriggerSource>)> {
        (self.wanted > self.begun).then(|| {
            self.begun += 1;
            (self.begun, std::mem::take(&mut self.sources))
        })
    }
}

impl Default for Queue {
    fn default() -> Self {
        let (finish, finished) = watch::channel(None);
        Self { shared: Arc::new(Shared { state: Mutex::default(), wanted: Notify::new(), finish }), finished }
    }
}

impl Queue {
    /// Wants a run; returns its number.
    pub fn trigger(&self, source: TriggerSource) -> u64 {
        let number = self.shared.state.lock().want(source);
        self.shared.wanted.notify_one();
        number
    }

    /// Wants a run, and waits for its report.
    pub async fn run(&self, source: TriggerSource) -> Arc<ReloadReport> {
        let number = self.trigger(source);
        self.after(number).await
    }

    /// The report of this run or, when it is over already, of a later one.
    pub async fn after(&self, number: u64) -> Arc<ReloadReport> {
        let mut finished = self.finished.clone();
        let report = finished.wait_for(|report| report.as_ref().is_some_and(|report| report.run >= number)).await;
        let report = report.expect("the sender lives as long as the queue").clone();
        report.expect("it was waited for")
    }

    /// The reports, as they come.
    pub fn reports(&self) -> watch::Receiver<Option<Arc<ReloadReport>>> {
        self.finished.clone()
    }

    /// Waits until a run is wanted, and begins it: its number and what asked for it. For the task that runs.
    pub async fn next(&self) -> (u64, Vec<TriggerSource>) {
        loop {
            if let Some(begun) = self.shared.state.lock().begin() {
                return begun;
            }
            self.shared.wanted.notified().await;
        }
    }

    /// Ends a run.
    pub fn finish(&self, report: Arc<ReloadReport>) {
        self.shared.finish.send_replace(Some(report));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ReloadOutcome;

    #[test]
    fn a_trigger_during_a_run_leads_to_exactly_one_more() {
        let mut state = QueueState::default();
        assert!(state.begin().is_none());
        assert_eq!((state.want(TriggerSource::Files), state.want(TriggerSource::Http)), (1, 1));
        assert_eq!(state.begin(), Some((1, vec![TriggerSource::Files, TriggerSource::Http])));
        assert!(state.begin().is_none());
        for _ in 0..100 {
            assert_eq!(state.want(TriggerSource::Http), 2);
        }
        assert_eq!(state.begin(), Some((2, vec![TriggerSource::Http])));
        assert!(state.begin().is_none());
    }

    #[tokio::test]
    async fn a_caller_that_waits_gets_a_run_that_began_after_its_call() {
        let queue = Queue::default();
        let first = queue.trigger(TriggerSource::Files);
        let (number, _) = queue.next().await;
        assert_eq!(number, first);
        // The first run is under way: this one waits for the second.
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                let (queue, number) = (queue.clone(), queue.trigger(TriggerSource::Http));
                tokio::spawn(async move { queue.after(number).await.run })
            })
            .collect();
        queue.finish(Arc::new(ReloadReport::new(1, ReloadOutcome::Applied)));
        let (number, sources) = queue.next().await;
        assert_eq!((number, sources), (2, vec![TriggerSource::Http]));
        queue.finish(Arc::new(ReloadReport::new(2, ReloadOutcome::Applied)));
        for waiter in waiting {
            assert!(waiter.await.unwrap() >= 2);
        }
    }
}
