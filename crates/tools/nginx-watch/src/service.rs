//! Wires the cycle: triggers go to the queue, one task runs, and every result goes to the outlets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::cycle::{Cycle, CycleOptions};
use crate::follower::{FollowOptions, follow};
use crate::metrics::Metrics;
use crate::outlet::{Outlets, Writer};
use crate::queue::{Queue, TriggerSource};
use crate::report::ReloadReport;
use children::Children;

/// Options of the service.
#[derive(Debug, Clone)]
pub struct Options {
    /// The cycle.
    pub cycle: CycleOptions,
    /// Options of the follower.
    pub follow: FollowOptions,
    /// The outlets of results.
    pub outlets: Outlets,
}

/// The running cycle. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Handle {
    /// Wants runs, and waits for them.
    pub queue: Queue,
    /// The metrics.
    pub metrics: Metrics,
    /// `true` if NGINX was ever known to run what was read.
    was_good: Arc<AtomicBool>,
}

impl Handle {
    fn new() -> Self {
        Self { queue: Queue::default(), metrics: Metrics::new(), was_good: Arc::default() }
    }

    /// `Ok` if NGINX was ever known to run what was read: the last known good configuration stays active whatever happens later.
    ///
    /// # Errors
    /// When it was not; with the message of the last run.
    pub fn ready(&self) -> Result<(), String> {
        if self.was_good.load(Ordering::Relaxed) {
            return Ok(());
        }
        let last = self.reports().borrow().clone();
        Err(last.and_then(|report| report.message.clone()).unwrap_or_else(|| "the first run has not ended yet".to_owned()))
    }

    /// Reports as they come.
    pub fn reports(&self) -> watch::Receiver<Option<Arc<ReloadReport>>> {
        self.queue.reports()
    }
}

/// Starts to follow. The tasks go into `tasks`; one that ends gives its name.
pub fn spawn(options: Options, children: Children, tasks: &mut JoinSet<&'static str>) -> Handle {
    let handle = Handle::new();
    let (roots, queue) = (options.cycle.roots.clone(), handle.queue.clone());
    let following = options.follow;
    let retry = Arc::new(Notify::new());
    let retried = retry.clone();
    tasks.spawn(async move {
        follow(roots, following, queue, retried).await;
        "the follower of the files"
    });
    let runner = Runner::new(options.cycle, options.outlets, children, &handle);
    tasks.spawn(async move {
        runner.drive(&retry).await;
        "the reload task"
    });
    handle
}

/// One forced run, without following anything.
pub async fn once(options: Options, children: Children) -> ReloadReport {
    let handle = Handle::new();
    let mut runner = Runner::new(options.cycle, options.outlets, children, &handle);
    runner.run(1, &[TriggerSource::Start], true).await;
    let report = handle.reports().borrow().clone();
    report.map_or_else(|| unreachable!("a run leaves its report"), Arc::unwrap_or_clone)
}

/// The task that runs.
struct Runner {
    cycle: Cycle,
    writer: Writer,
    handle: Handle,
    retry_at: Option<Instant>,
}

impl Runner {
    fn new(cycle: CycleOptions, outlets: Outlets, children: Children, handle: &Handle) -> Self {
        Self { cycle: Cycle::new(cycle, children), writer: Writer::new(outlets), handle: handle.clone(), retry_at: None }
    }

    async fn drive(mut self, retry: &Notify) {
        let queue = self.handle.queue.clone();
        loop {
            let far = Instant::now() + std::time::Duration::from_secs(3600);
            tokio::select! {
                (number, sources) = queue.next() => {
                    let force = sources.iter().any(|source| source.is_forced());
                    self.run(number, &sources, force).await;
                }
                () = sleep_until(self.retry_at.unwrap_or(far)) => {
                    self.retry_at = None;
                    retry.notify_one();
                }
            }
        }
    }

    async fn run(&mut self, number: u64, sources: &[TriggerSource], force: bool) {
        let turn = self.cycle.run(number, sources, force).await;
        self.retry_at = turn.retry_in.map(|wait| Instant::now() + wait);
        self.handle.metrics.note(&turn.report, turn.is_new);
        self.writer.take(&turn.report, turn.is_new);
        if turn.report.result.is_good() || turn.report.serving.is_some() {
            self.handle.was_good.store(true, Ordering::Relaxed);
        }
        self.handle.queue.finish(Arc::new(turn.report));
    }
}
