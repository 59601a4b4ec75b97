//! Follows the files: arms the watches, waits until the writing has stopped, and wants a run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fs_watch::{Doubts, Pacing, Scan, Sight, Watcher, settle};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::queue::{Queue, TriggerSource};
use crate::snapshot::Roots;

/// Options of the follower.
#[derive(Debug, Clone)]
pub struct FollowOptions {
    /// Waiting times.
    pub pacing: Pacing,
    /// Interval of looks where changes can't be seen.
    pub poll_interval: Duration,
    /// Look every [`Self::poll_interval`], and use no events at all.
    pub no_events: bool,
}

impl Default for FollowOptions {
    /// A run 250 ms after the last event and 2 s after the first one at the latest.
    fn default() -> Self {
        let pacing = Pacing { quiet: Duration::from_millis(250), bound: Duration::from_secs(2), ..Pacing::default() };
        Self { pacing, poll_interval: Duration::from_secs(2), no_events: false }
    }
}

/// The state between two looks.
struct Looker {
    roots: Roots,
    options: FollowOptions,
    watcher: Option<Watcher>,
    /// One for each root.
    believed: Vec<Believed>,
}

/// A root as it was last believed.
#[derive(Default)]
struct Believed {
    sight: Sight,
    doubts: Doubts,
    failure: Option<String>,
}

/// The result of a look.
struct Look {
    /// The scan can be acted upon.
    believe: bool,
    /// Look again after this time even if nothing wakes.
    again: Duration,
}

/// Follows until the process ends. The first look wants a run, too, and so does one that `retry` asks for: what is seen then has to be believed as well.
pub(crate) async fn follow(roots: Roots, options: FollowOptions, queue: Queue, retry: Arc<Notify>) {
    // More wakes than fit say nothing new.
    let (wake, mut wakes) = mpsc::channel(256);
    let open = || Watcher::open("the configuration", roots.names(), wake.clone());
    let watcher = if options.no_events {
        None
    } else {
        open().inspect_err(|error| tracing::warn!(%error, "inotify can't be used: the files are polled")).ok()
    };
    let believed = roots.paths.iter().map(|_| Believed::default()).collect();
    let pacing = options.pacing;
    let mut looker = Some(Looker { roots: roots.clone(), options, watcher, believed });
    let never = Notify::new();
    let mut source = TriggerSource::Start;
    while let Some(mut looking) = looker.take() {
        let looked = tokio::task::spawn_blocking(move || {
            let look = looking.look();
            (looking, look)
        });
        let look = match looked.await {
            Ok((back, look)) => {
                looker = Some(back);
                look
            }
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down.
                Err(_) => return,
            },
        };
        if look.believe {
            queue.trigger(source);
            source = TriggerSource::Files;
        }
        tokio::select! {
            wake = wakes.recv() => {
                let Some(wake) = wake else { return };
                settle(&pacing, wake, &mut wakes, &never).await;
            }
            () = retry.notified() => source = TriggerSource::Retry,
            () = sleep_until(Instant::now() + look.again) => {}
        }
    }
}

impl Looker {
    fn look(&mut self) -> Look {
        loop {
            let scans: Vec<Result<Scan, String>> =
                self.roots.paths.iter().map(|root| self.roots.scan(root).map_err(|error| error.to_string())).collect();
            let armed = self.watcher.as_mut().map(|watcher| {
                let roots: Vec<_> =
                    self.roots.paths.iter().map(PathBuf::as_path).zip(scans.iter().map(|scan| scan.as_ref().ok())).collect();
                watcher.arm(&roots)
            });
            // What changed before the watch was set went unseen.
            if armed.is_some_and(|armed| armed.added) {
                continue;
            }
            let complete = armed.is_some_and(|armed| armed.complete) && scans.iter().all(Result::is_ok);
            let again = if complete { self.options.pacing.safety } else { self.options.poll_interval };
            return self.judge(&scans, again);
        }
    }

    fn judge(&mut self, scans: &[Result<Scan, String>], again: Duration) -> Look {
        let mut wait: Option<Duration> = None;
        let pacing = self.options.pacing;
        for ((believed, scan), root) in self.believed.iter_mut().zip(scans).zip(&self.roots.paths) {
            let failure = scan.as_ref().err().cloned();
            if believed.failure != failure {
                match &failure {
                    Some(error) => {
                        tracing::warn!(path = %root.display(), error, "can't be read: the last known good configuration stays active")
                    }
                    None => tracing::info!(path = %root.display(), "is back"),
                }
                believed.failure = failure;
            }
            if let Ok(scan) = scan {
                wait = wait.max(believed.doubts.wait(&pacing, &believed.sight, scan, Instant::now()));
            }
        }
        if let Some(wait) = wait {
            return Look { believe: false, again: wait.min(again) };
        }
        for (believed, scan) in self.believed.iter_mut().zip(scans) {
            if let Ok(scan) = scan {
                believed.doubts.clear();
                believed.sight = Sight::of(scan);
            }
        }
        // While one of them is gone, the run says so; it applies nothing.
        Look { believe: true, again }
    }
}

/// For messages at the start: mounts that never change, or send no events.
pub fn warn_of_mounts(roots: &Roots, poll_interval: Duration) {
    let mut reported: Vec<String> = Vec::new();
    for hazard in roots.paths.iter().flat_map(|root| fs_watch::mounts::look(root)) {
        let text = hazard.to_string();
        if !reported.contains(&text) {
            tracing::warn!(poll_interval_ms = poll_interval.as_millis(), "{text}");
            reported.push(text);
        }
    }
}
