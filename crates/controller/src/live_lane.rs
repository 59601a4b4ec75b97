//! The live lane: brings NGINX's dictionaries to the newest build, a delta at a time, until each is confirmed.
//!
//! It keeps its own picture of what NGINX holds and the digest that this must give; every answer carries NGINX's digest.
//! A difference, a failed post or a restarted NGINX leads to a full comparison: equal digests adopt what is there,
//! otherwise everything is sent again and what does not belong there is removed. Nothing is emptied in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::{Built, Delta, Live, Op, Table};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info, warn};

use crate::metrics::{Metrics, Stage};
use crate::port::{LiveError, LiveNginx};
use crate::{LiveStatus, Loaded, Pace};

/// Records in one post: a post of 100 holds a worker for 2 ms.
const BATCH: usize = 150;
/// Bytes in one post, so that certificates don't make it large.
const BATCH_BYTES: usize = 256 * 1024;
/// Marks the content of a dictionary as complete. The format of records is part of it.
const GENERATION: &str = "narthex-1";
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(5);

pub(crate) async fn run<L: LiveNginx>(
    nginx: L,
    mut built: watch::Receiver<Option<Arc<Built>>>,
    mut loaded: watch::Receiver<Loaded>,
    status: watch::Sender<LiveStatus>,
    metrics: Metrics,
    pace: Pace,
) -> &'static str {
    let mut lane = Lane { nginx, held: Live::default(), digest: 0, known: false, starts: 0, metrics };
    let mut retry = FIRST_RETRY;
    let mut next_post = Instant::now();
    loop {
        let target = built.borrow_and_update().clone();
        let now_loaded = loaded.borrow_and_update().clone();
        let outcome = match &target {
            Some(target) if now_loaded.starts > 0 => {
                sleep_until(next_post).await;
                lane.turn(target, &now_loaded, &status).await
            }
            _ => Ok(()),
        };
        next_post = Instant::now() + pace.live_window;
        let wait = match outcome {
            Ok(()) => {
                retry = FIRST_RETRY;
                None
            }
            Err(error) => {
                warn!(%error, retry_in = ?retry, "live update failed; it is sent again");
                lane.known = false;
                let wait = retry;
                retry = (retry * 2).min(LAST_RETRY);
                Some(wait)
            }
        };
        tokio::select! {
            changed = built.changed() => if changed.is_err() { return "live lane" },
            changed = loaded.changed() => if changed.is_err() { return "live lane" },
            () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
        }
    }
}

struct Lane<L> {
    nginx: L,
    /// What NGINX holds, as far as `known`.
    held: Live,
    digest: u64,
    /// Whether `held` is true. Not after a start, a failure, or before the first look.
    known: bool,
    starts: u64,
    metrics: Metrics,
}

impl<L: LiveNginx> Lane<L> {
    /// Brings NGINX as far towards `target` as the loaded profiles allow.
    async fn turn(&mut self, target: &Built, loaded: &Loaded, status: &watch::Sender<LiveStatus>) -> Result<(), LiveError> {
        if self.starts != loaded.starts {
            self.starts = loaded.starts;
            self.known = false;
        }
        let started = Instant::now();
        let live = &target.model.live;
        if !self.known {
            self.resync(live, loaded).await?;
        }
        let delta = self.held.delta(live);
        self.metrics.stage(Stage::Plan, started.elapsed());
        let (now, later): (Delta, Delta) = delta.into_iter().partition(|op| op.needs.iter().all(|id| loaded.profiles.contains(id)));
        if !now.is_empty() {
            self.send(&now, live).await?;
            self.metrics.stage(Stage::Live, started.elapsed());
            let tables: BTreeSet<Table> = now.iter().map(|op| op.table).collect();
            for table in tables {
                self.metrics.avoided(table);
            }
            debug!(records = now.len(), seconds = started.elapsed().as_secs_f64(), "live update confirmed");
        }
        if later.is_empty() {
            self.metrics.synced();
        }
        self.metrics.held(later.len());
        let held_profiles = later.iter().filter_map(|op| self.held.hosts.get(&op.key)).flat_map(|record| record.profiles()).collect();
        let next = LiveStatus { synced: true, held: later.len(), held_profiles };
        status.send_if_modified(|old| {
            let changed = *old != next;
            *old = next;
            changed
        });
        Ok(())
    }

    /// Finds out what NGINX holds; sends everything again unless it is what is wanted.
    async fn resync(&mut self, live: &Live, loaded: &Loaded) -> Result<(), LiveError> {
        let wanted = usable(live, loaded);
        let state = self.nginx.audit().await?;
        let digest = wanted.digest();
        if state.generation.as_deref() == Some(GENERATION) && state.digest == digest && state.entries == wanted.len() as u64 {
            info!(records = state.entries, "nginx holds the newest state already");
        } else {
            let started = Instant::now();
            let keys: BTreeSet<String> = self.nginx.keys().await?.into_iter().collect();
            self.held = Live::default();
            // NGINX's digest counts what it held before; it is compared again only once everything was sent.
            for batch in batches(&Live::default().delta(&wanted)) {
                self.nginx.post(lines(batch)).await.inspect_err(|_| self.count(batch, false))?;
                self.count(batch, true);
            }
            let extra: Vec<String> = keys.into_iter().filter(|key| !wanted.holds(key)).map(|key| format!("-{key}\n")).collect();
            for batch in extra.chunks(BATCH) {
                self.nginx.post(batch.concat()).await?;
            }
            self.nginx.set_generation(GENERATION).await?;
            let state = self.nginx.audit().await?;
            if state.digest != digest {
                return Err(LiveError::Unreachable(format!(
                    "nginx holds digest {} after everything was sent, expected {digest}",
                    state.digest
                )));
            }
            info!(records = wanted.len(), removed = extra.len(), seconds = started.elapsed().as_secs_f64(), "everything was sent to nginx");
        }
        self.held = wanted;
        self.digest = digest;
        self.known = true;
        Ok(())
    }

    async fn send(&mut self, delta: &Delta, live: &Live) -> Result<(), LiveError> {
        for batch in batches(delta) {
            let state = match self.nginx.post(lines(batch)).await {
                Ok(state) => state,
                Err(error) => {
                    self.count(batch, false);
                    return Err(error);
                }
            };
            self.count(batch, true);
            for op in batch {
                self.digest = self.digest + u64::from(op.new_crc()) - u64::from(op.old_crc);
                self.held.accept(op, live);
            }
            if state.digest != self.digest {
                let (nginx, expected) = (state.digest, self.digest);
                return Err(LiveError::Unreachable(format!("nginx holds digest {nginx}, expected {expected}")));
            }
        }
        Ok(())
    }

    fn count(&self, batch: &[Op], ok: bool) {
        let mut counts: BTreeMap<Table, u64> = BTreeMap::new();
        for op in batch {
            *counts.entry(op.table).or_default() += 1;
        }
        for (table, records) in counts {
            self.metrics.live(table, ok, records);
        }
    }
}

/// The part of `live` that workers can serve with the profiles they know.
fn usable(live: &Live, loaded: &Loaded) -> Live {
    let mut usable = live.clone();
    for (host, record) in &live.hosts {
        if record.profiles().iter().any(|id| !loaded.profiles.contains(id)) {
            usable.hosts.remove(host);
        }
    }
    usable
}

fn lines(ops: &[Op]) -> String {
    ops.iter().map(|op| op.line() + "\n").collect()
}

/// Cuts a delta into batches of bounded number and size; an op is never cut.
fn batches(delta: &Delta) -> impl Iterator<Item = &[Op]> {
    let mut rest: &[Op] = delta;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = rest.iter().take(BATCH).take_while(|op| {
            bytes += op.value.as_ref().map_or(0, String::len);
            bytes <= BATCH_BYTES
        });
        let (batch, later) = rest.split_at(fits.count().max(1));
        rest = later;
        Some(batch)
    })
}
