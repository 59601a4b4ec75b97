//! Clients of the other tenants, all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::check::{Check, Ports};

/// Interval between the beginnings of two rounds.
const ROUND: Duration = Duration::from_millis(200);

/// Asks every host again and again. Dropping it ends it.
pub struct Watcher {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    rounds: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl Watcher {
    /// Begins.
    pub fn start(checks: Vec<Check>, ports: Ports) -> Self {
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let began = Instant::now();
            let mut tick = tokio::time::interval(ROUND);
            tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            while !own.stop.load(Ordering::Relaxed) {
                tick.tick().await;
                for check in &checks {
                    if let Err(error) = check.ask(ports).await {
                        let text = format!("after {:?}: {error:#}", began.elapsed());
                        own.wrong.lock().push(text);
                    }
                }
                own.rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { shared, task }
    }

    /// Number of requests to every host.
    pub fn rounds(&self) -> u64 {
        self.shared.rounds.load(Ordering::Relaxed)
    }

    /// # Errors
    /// There was another answer than the good one.
    pub fn is_content(&self) -> anyhow::Result<()> {
        let wrong = self.shared.wrong.lock();
        ensure!(wrong.is_empty(), "{} wrong answers, the first of them:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
        Ok(())
    }

    /// Ends after the present round.
    ///
    /// # Errors
    /// As [`Self::is_content`].
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.shared.stop.store(true, Ordering::Relaxed);
        (&mut self.task).await?;
        self.is_content()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}
