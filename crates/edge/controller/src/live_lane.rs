//! The live lane: applies the newest build to the records that NGINX holds, a delta at a time, until each is confirmed.
//!
//! Each channel ([`Channel`]) has a task and a clock of its own, so that none waits for another: that to the shared dictionaries, and that to the
//! files which the stream block reads.
//!
//! It keeps its own picture of what NGINX holds and the digest that this must give; every answer carries NGINX's digest.
//! A difference, a failed post or a restarted NGINX leads to a full comparison: equal digests adopt what is there,
//! otherwise everything is sent again and what does not belong there is removed. Nothing is emptied in between.
//! The marker that NGINX holds everything is the format of the records.
//!
//! A record that finds no room is held back alone ([`refused`]); the version that NGINX has of it stays.
//!
//! A delta of several posts goes in the order of [`model::by_namespace`], and stops for a newer build: the small change of one namespace does not wait
//! for the large one of another.

mod batches;
mod credit;
mod refused;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::live::wire::format;
use model::{Built, Delta, HostRecord, Live, Op, Table, by_namespace};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info, warn};

use crate::arrivals::{Arrivals, Progress};
use crate::journal::{Journal, Summary};
use crate::metrics::{Metrics, Stage, Way};
use crate::port::{Channel, LiveError, LiveState, Posted};
use crate::{Loaded, Pace};
use batches::{BATCH, batches, lines};
pub(crate) use credit::Counted;
use credit::Credit;
use refused::{Refused, listed};
use status::ChannelStatus;
pub use status::LiveStatus;

const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// Time for which a delta is sent before a newer build counts.
const SLICE: Duration = Duration::from_millis(20);

/// The receivers of what the lane does, and what it shares with other channels.
#[derive(Clone)]
pub(crate) struct Observers {
    pub(crate) status: watch::Sender<LiveStatus>,
    pub(crate) metrics: Metrics,
    pub(crate) journal: Journal,
    pub(crate) arrivals: Arrivals,
    pub(crate) counted: Counted,
}

pub(crate) async fn run<C: Channel>(
    channel: C,
    mut built: watch::Receiver<Option<Arc<Built>>>,
    mut loaded: watch::Receiver<Loaded>,
    Observers { status, metrics, journal, arrivals, counted }: Observers,
    pace: Pace,
) -> &'static str {
    let (foreign, refused) = (BTreeSet::new(), Refused::default());
    let audited = Instant::now();
    let (progress, credit) = (Progress::default(), Credit::new(counted));
    let held = Live::default();
    let mut lane =
        Lane { channel, held, digest: 0, known: false, audited, foreign, refused, starts: 0, metrics, journal, arrivals, progress, credit };
    let (mut retry, mut failing) = (FIRST_RETRY, false);
    let mut next_post = Instant::now();
    loop {
        let target = built.borrow_and_update().clone();
        let now_loaded = loaded.borrow_and_update().clone();
        let outcome = match &target {
            Some(target) if now_loaded.starts > 0 || !C::LOST_WITH_NGINX => {
                sleep_until(next_post).await;
                lane.turn(target, &now_loaded, &built, &status).await
            }
            _ => Ok(()),
        };
        next_post = Instant::now() + pace.live_window;
        let wait = match outcome {
            Ok(()) => {
                if failing {
                    lane.journal.channel(C::NAME, None);
                    info!(channel = C::NAME, "live updates are confirmed again");
                }
                (retry, failing) = (FIRST_RETRY, false);
                lane.next().map(|at| at.saturating_duration_since(Instant::now()))
            }
            Err(error) => {
                lane.journal.channel(C::NAME, Some(&error.to_string()));
                if failing {
                    debug!(channel = C::NAME, %error, retry_in = ?retry, "live update failed again");
                } else {
                    warn!(channel = C::NAME, %error, retry_in = ?retry, "live update failed; it is sent again");
                }
                (failing, lane.known) = (true, false);
                let wait = retry;
                retry = (retry * 2).min(LAST_RETRY);
                Some(wait)
            }
        };
        tokio::select! {
            changed = built.changed() => if changed.is_err() { return C::NAME },
            changed = loaded.changed() => if changed.is_err() { return C::NAME },
            () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
        }
    }
}

struct Lane<C> {
    channel: C,
    /// The records that NGINX holds, as far as `known`.
    held: Live,
    digest: u64,
    /// Whether `held` is true. Not after a start, a failure, or before the first look.
    known: bool,
    /// Time of the last audit.
    audited: Instant,
    /// Names of records that NGINX holds in a version that is not known: from before this process, and with no room for the wanted one or no profile
    /// for it yet.
    foreign: BTreeSet<String>,
    refused: Refused,
    starts: u64,
    metrics: Metrics,
    journal: Journal,
    arrivals: Arrivals,
    progress: Progress,
    credit: Credit,
}

/// The part of a delta that was posted.
struct Sent {
    /// Number of its changes, from its beginning.
    records: usize,
    /// NGINX took one of them.
    accepted: bool,
}

impl<C: Channel> Lane<C> {
    /// Time of the next look although nothing has changed.
    fn next(&self) -> Option<Instant> {
        let audit = C::AUDIT_EVERY.filter(|_| self.known).map(|every| self.audited + every);
        self.refused.next().into_iter().chain(audit).min()
    }

    async fn audit(&mut self) -> Result<LiveState, LiveError> {
        self.audited = Instant::now();
        self.channel.audit().await
    }

    /// Looks from time to time whether another process changed what NGINX holds.
    async fn look(&mut self) -> Result<(), LiveError> {
        if self.known && C::AUDIT_EVERY.is_some_and(|every| self.audited.elapsed() >= every) {
            let state = self.audit().await?;
            self.known = state.digest == self.digest && state.generation.as_deref() == Some(format());
            if !self.known {
                warn!(channel = C::NAME, "nginx does not hold what was sent any more; everything is sent again");
            }
        }
        Ok(())
    }

    /// Applies as much of `target` as the loaded profiles allow.
    async fn turn(
        &mut self,
        target: &Arc<Built>,
        loaded: &Loaded,
        newer: &watch::Receiver<Option<Arc<Built>>>,
        status: &watch::Sender<LiveStatus>,
    ) -> Result<(), LiveError> {
        if C::LOST_WITH_NGINX && self.starts != loaded.starts {
            self.starts = loaded.starts;
            self.known = false;
        }
        let started = Instant::now();
        let live = &target.model.live.only(C::carries);
        self.look().await?;
        if !self.known {
            self.resync(live, loaded).await?;
        }
        let delta = self.held.delta(live);
        self.metrics.stage(Stage::Plan, started.elapsed());
        let (mut now, later): (Delta, Delta) = delta.into_iter().partition(|op| loaded.serves(op, &target.model.fixed));
        if !later.is_empty() {
            // The versions of before may refer to them.
            now.retain(|op| op.value.is_some() || !matches!(op.table, Table::Backend | Table::Users));
        }
        let mut now = self.refused.sendable(now);
        if batches(&now).nth(1).is_some() {
            now = by_namespace(now, &self.held, live);
        }
        let avoided = self.credit.of(target, loaded, &now, &later, &self.held);
        // Comparing again costs as much as it did for this turn.
        let until = Instant::now() + SLICE.max(2 * started.elapsed());
        let before = self.held.clone();
        let sent = self.send(&now, live, || newer.has_changed().unwrap_or(false) && Instant::now() >= until).await?;
        if !now.is_empty() {
            self.metrics.stage(Stage::Live, started.elapsed());
            if let Some(avoided) = avoided.filter(|avoided| sent.accepted && avoided.is_first(target)) {
                self.metrics.avoided(avoided.change, &avoided.namespaces);
            }
            let effect = self.arrivals.since(&self.progress, target).map_or_else(|| started.elapsed(), |seen| seen.elapsed());
            self.journal.posted(Summary::of(&now[..sent.records], &before, live), effect);
            debug!(records = sent.records, of = now.len(), seconds = started.elapsed().as_secs_f64(), "live update confirmed");
        }
        if sent.records == now.len() {
            if let Some(seen) = self.arrivals.since(&self.progress, target).filter(|_| sent.accepted) {
                self.metrics.took_effect(Way::Live, seen.elapsed());
            }
            self.arrivals.done(&mut self.progress, target);
        }
        self.remove_foreign(live).await?;
        self.refused.wait(now[..sent.records].iter().any(|op| op.value.is_none()));
        if later.is_empty() && sent.records == now.len() {
            self.metrics.synced();
        }
        let present = later.iter().filter_map(|op| Some((op.key.clone(), self.held.hosts.get(&op.key)?)));
        let held_profiles = present.map(|(host, record)| (host, record.profiles().into_iter().collect())).collect();
        let without_room: Vec<String> = self.refused.names().cloned().collect();
        if status.borrow().channel(C::NAME).is_none_or(|channel| channel.without_room != without_room) {
            match without_room.first() {
                Some(first) => warn!(
                    records = without_room.len(),
                    first, "nginx has no room for records, or they are too large; everything else is sent"
                ),
                None => info!("nginx has room for every record again"),
            }
        }
        if !later.is_empty() && status.borrow().channel(C::NAME).is_none_or(|channel| channel.held != later.len()) {
            self.journal.held(later.iter().map(|op| &*op.key));
        }
        let reached = ChannelStatus { synced: true, held: later.len(), held_profiles, without_room };
        status.send_if_modified(|status| status.set(C::NAME, reached));
        self.metrics.live_status(&status.borrow());
        Ok(())
    }

    /// Finds out what NGINX holds; sends everything again unless it is what is wanted.
    async fn resync(&mut self, live: &Live, loaded: &Loaded) -> Result<(), LiveError> {
        let wanted = usable(live, &self.held, loaded);
        let state = self.audit().await?;
        let digest = wanted.digest();
        if state.generation.as_deref() == Some(format()) && state.digest == digest && state.entries == wanted.len() as u64 {
            info!(channel = C::NAME, records = state.entries, "nginx holds the newest state already");
        } else {
            let started = Instant::now();
            let keys: BTreeSet<String> = self.channel.keys().await?.into_iter().collect();
            (self.held, self.refused, self.foreign) = (wanted.clone(), Refused::default(), BTreeSet::new());
            // NGINX's digest counts what it held before; it is compared again only once everything was sent.
            let everything = self.refused.sendable(Live::default().delta(&wanted));
            for batch in batches(&everything) {
                let posted = self.post(batch).await?;
                batch.iter().filter(|op| posted.refused.contains(&listed(op))).for_each(|op| self.refused.add(op));
            }
            let nowhere = Live::default();
            for op in Live::default().delta(&wanted).iter().filter(|op| self.refused.names().any(|name| *name == listed(op))) {
                self.held.accept(op, &nowhere);
            }
            // What NGINX has of hosts that wait for a profile or for room stays, in whatever version.
            let stays = |key: &String| self.held.holds(key) || live.holds(key);
            let (stays, extra): (BTreeSet<String>, BTreeSet<String>) = keys.into_iter().partition(stays);
            self.foreign = stays.into_iter().filter(|key| !self.held.holds(key)).collect();
            self.remove(&extra).await?;
            self.channel.set_generation(format()).await?;
            let state = self.audit().await?;
            self.digest = self.held.digest();
            if self.foreign.is_empty() && state.digest != self.digest {
                let (nginx, expected) = (state.digest, self.digest);
                return Err(LiveError::Unreachable(format!("nginx holds digest {nginx} after everything was sent, expected {expected}")));
            }
            self.digest = state.digest;
            info!(
                channel = C::NAME,
                records = state.entries,
                removed = extra.len(),
                seconds = started.elapsed().as_secs_f64(),
                "everything was sent to nginx"
            );
            self.known = true;
            return Ok(());
        }
        (self.held, self.digest, self.known) = (wanted, digest, true);
        (self.foreign, self.refused) = (BTreeSet::new(), Refused::default());
        Ok(())
    }

    /// Posts a delta until its end, or until `stop` after a post.
    async fn send(&mut self, delta: &Delta, live: &Live, stop: impl Fn() -> bool) -> Result<Sent, LiveError> {
        let mut sent = Sent { records: 0, accepted: false };
        for batch in batches(delta) {
            if sent.records > 0 && stop() {
                break;
            }
            sent.records += batch.len();
            let posted = self.post(batch).await?;
            let mut comparable = true;
            for op in batch {
                if posted.refused.contains(&listed(op)) {
                    self.refused.add(op);
                    continue;
                }
                self.refused.remove(op);
                // What a foreign version counted is not known here.
                comparable &= !self.foreign.remove(&listed(op));
                self.digest = self.digest.wrapping_add(u64::from(op.new_crc())).wrapping_sub(u64::from(op.old_crc));
                self.held.accept(op, live);
                sent.accepted = true;
            }
            let (nginx, expected) = (posted.state.digest, self.digest);
            if comparable && nginx != expected {
                return Err(LiveError::Unreachable(format!("nginx holds digest {nginx}, expected {expected}")));
            }
            self.digest = nginx;
        }
        Ok(sent)
    }

    /// Removes foreign versions of records that are not wanted any more.
    async fn remove_foreign(&mut self, live: &Live) -> Result<(), LiveError> {
        let gone: BTreeSet<String> = self.foreign.iter().filter(|key| !live.holds(key)).cloned().collect();
        if let Some(state) = self.remove(&gone).await? {
            self.digest = state.digest;
        }
        self.foreign.retain(|key| !gone.contains(key));
        Ok(())
    }

    /// Removes records by their names. The state after it, if there were any.
    async fn remove(&self, keys: &BTreeSet<String>) -> Result<Option<LiveState>, LiveError> {
        let lines: Vec<String> = keys.iter().map(|key| format!("-{key}\n")).collect();
        let mut state = None;
        for batch in lines.chunks(BATCH) {
            state = Some(self.channel.post(batch.concat()).await?.state);
        }
        Ok(state)
    }

    /// Posts some changes, and counts them.
    async fn post(&self, batch: &[Op]) -> Result<Posted, LiveError> {
        let lines = lines(batch);
        let bytes = lines.len();
        let posted = self.channel.post(lines).await;
        self.metrics.posted(bytes, posted.is_ok());
        self.count(batch, posted.is_ok());
        posted
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

/// The part of `live` that workers can serve with the profiles they know. A host that waits for another one has its version of before, if there was one.
fn usable(live: &Live, before: &Live, loaded: &Loaded) -> Live {
    let known = |host: &str, record: &HostRecord| loaded.locations.have(host, &record.profiles());
    let mut usable = live.clone();
    let mut older = false;
    for (host, _) in live.hosts.iter().filter(|(host, record)| !known(host, record)) {
        match before.hosts.get(host).filter(|record| known(host, record)) {
            Some(record) => {
                usable.hosts.insert(host.clone(), record.clone());
                older = true;
            }
            None => {
                usable.hosts.remove(host);
            }
        }
    }
    if older {
        // What they may refer to.
        usable.backends = usable.backends.union(before.backends.clone());
        usable.users = usable.users.union(before.users.clone());
    }
    usable
}

#[cfg(test)]
mod tests;
