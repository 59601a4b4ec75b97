//! The state machine: one file set after the other, each confirmed or taken back.

mod leaving;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use render::{FileSet, Paths};

use crate::confirm::{Expected, confirm};
use crate::error::ApplyError;
use crate::log::Tail;
use crate::orphans;
use crate::process::{Order, Process, Tested};
use crate::procfs::Identity;
use crate::state::NginxState;
use crate::store::{self, Store, StoreError};
use crate::supervisor::Applied;
use crate::verdict;

/// Longest time that a killed process may take to go.
const KILL_PATIENCE: Duration = Duration::from_secs(2);
/// Old workers for each current one that may still finish connections when a reload begins. Each holds its memory until then.
pub(crate) const MOST_OLD_WORKERS: usize = 16;

/// Waits and names that an operator sets.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) start_timeout: Duration,
    pub(crate) confirm_timeout: Duration,
    pub(crate) flags: BTreeMap<u16, &'static str>,
}

/// One NGINX and its files.
#[derive(Debug)]
pub(crate) struct Cycle<P> {
    pub(crate) process: P,
    paths: Paths,
    store: Store,
    limits: Limits,
    /// The master, as long as it is not known to be dead.
    master: Option<Identity>,
    /// Dead masters whose workers may still serve.
    past: Vec<Identity>,
    /// Orphans that finish what they have begun; looked at now and then, because they may have become our children.
    leaving: Vec<Identity>,
    /// The file set that served last.
    good: Option<FileSet>,
    /// Whether the last good set could be written when it was last kept.
    keeps: bool,
}

impl<P: Process> Cycle<P> {
    pub(crate) fn new(process: P, paths: Paths, limits: Limits, past: Vec<Identity>) -> Self {
        let store = Store::new(paths.clone());
        let good = store.last_good();
        Self { process, paths, store, limits, master: None, past, leaving: Vec::new(), good, keeps: true }
    }

    /// Makes the disk hold what served last.
    pub(crate) fn repair(&self) -> Result<(), StoreError> {
        self.good.as_ref().map_or(Ok(()), |good| self.store.restore(good))
    }

    /// Takes over a master that another process started.
    pub(crate) fn adopt(&mut self, master: Identity) {
        self.past.retain(|past| *past != master);
        self.master = Some(master);
    }

    /// The living master.
    pub(crate) async fn master(&self) -> Option<Identity> {
        let master = self.master?;
        self.process.alive(master).await.then_some(master)
    }

    /// The master, dead or alive.
    pub(crate) fn last_master(&self) -> Option<Identity> {
        self.master
    }

    /// Applies this file set.
    pub(crate) async fn apply(&mut self, set: &FileSet) -> Result<Applied, ApplyError> {
        self.apply_set(set, false).await
    }

    /// The same; `force`: by a reload even if it runs this file set already.
    pub(crate) async fn apply_set(&mut self, set: &FileSet, force: bool) -> Result<Applied, ApplyError> {
        let began = Instant::now();
        self.notice_ends().await;
        // Orphans answer too, but without a master they can't be reloaded.
        let running = if self.master.is_some() { self.process.state().await } else { None };
        if running.is_some() {
            self.retire_orphans().await;
        }
        let unchanged = !force && running.is_some_and(|state| state.revision == set.revision);
        let (how, warnings) = if unchanged {
            // What runs needs no disk: that its files are whole there is for the next start.
            let (store, files) = (self.store.clone(), set.clone());
            let restored = on_disk(move || store.restore(&files)).await;
            self.on_disk(restored);
            (How::Unchanged, Vec::new())
        } else {
            self.change(set).await?
        };
        self.retire_orphans().await;
        let before = self.good.replace(set.clone());
        let (store, files) = (self.store.clone(), set.clone());
        let remembered = on_disk(move || store.remember(&files, before.as_ref())).await;
        self.on_disk(remembered);
        Ok(Applied {
            revision: set.revision.clone(),
            started: how == How::Started,
            reloaded: how == How::Reloaded,
            duration: began.elapsed(),
            warnings,
        })
    }

    /// Stages, tests, switches. On an error the files are those of before.
    async fn change(&mut self, set: &FileSet) -> Result<(How, Vec<String>), ApplyError> {
        self.has_room_for_workers().await?;
        let (store, files) = (self.store.clone(), set.clone());
        let mut staged = on_disk(move || store.stage(&files)).await?;
        let tested = self.tested(self.limits.start_timeout).await?;
        let warnings = self.judge(&tested)?;
        staged.promote()?;
        let how = self.switch(set, &mut staged).await?;
        staged.keep();
        Ok((how, warnings))
    }

    /// A reload leaves workers behind for as long as their clients stay, so it has to wait when there are many.
    async fn has_room_for_workers(&self) -> Result<(), ApplyError> {
        let (old, most) = self.old_workers().await;
        if old.len() >= most { Err(ApplyError::ManyOldWorkers { old: old.len(), most }) } else { Ok(()) }
    }

    /// The workers of earlier configurations, and with how many of them no reload begins.
    pub(crate) async fn old_workers(&self) -> (Vec<Identity>, usize) {
        let workers = match self.master {
            Some(master) => self.process.workers(master).await,
            None => Vec::new(),
        };
        let old: Vec<Identity> = workers.iter().filter(|worker| worker.leaving).map(|worker| worker.id).collect();
        let most = MOST_OLD_WORKERS * (workers.len() - old.len()).max(1);
        (old, most)
    }

    /// Longest test.
    pub(crate) fn patience(&self) -> Duration {
        self.limits.start_timeout
    }

    /// Asks NGINX whether it would accept this file set, within `limit`; the disk is as before afterwards. How long it took.
    pub(crate) async fn test(&mut self, set: &FileSet, limit: Duration) -> Result<Duration, ApplyError> {
        let (store, files) = (self.store.clone(), set.clone());
        let staged = on_disk(move || store.stage(&files)).await?;
        let began = Instant::now();
        let tested = self.tested(limit).await;
        let took = began.elapsed();
        drop(staged);
        self.judge(&tested?).map(|_| took)
    }

    /// Runs `nginx -t` on what is staged. It ends with the master, which is to be started again first: without one no worker that ends is replaced.
    async fn tested(&self, limit: Duration) -> Result<Tested, ApplyError> {
        let Some(master) = self.master else { return self.process.test(limit).await };
        tokio::select! {
            biased;
            () = self.process.exited(master) => Err(ApplyError::Exited { status: self.process.exit_status().await, log: Vec::new() }),
            tested = self.process.test(limit) => tested,
        }
    }

    /// Starts NGINX with what served last.
    pub(crate) async fn restart(&mut self) -> Result<Applied, ApplyError> {
        let began = Instant::now();
        self.notice_ends().await;
        let good = self.good.clone().ok_or(ApplyError::NothingGood)?;
        let applied = |started| Applied {
            revision: good.revision.clone(),
            started,
            reloaded: false,
            duration: began.elapsed(),
            warnings: Vec::new(),
        };
        if self.master.is_some() {
            return Ok(applied(false));
        }
        self.repair()?;
        self.start(&good.revision).await?;
        Ok(applied(true))
    }

    /// Reloads what served last, so that the master starts workers. Nothing is tested: it serves, or did.
    pub(crate) async fn replenish(&mut self) -> Result<Applied, ApplyError> {
        let began = Instant::now();
        self.notice_ends().await;
        let good = self.good.clone().ok_or(ApplyError::NothingGood)?;
        let Some(master) = self.master else {
            return self.restart().await;
        };
        self.repair()?;
        self.reload(master, &good.revision).await?;
        Ok(Applied { revision: good.revision, started: false, reloaded: true, duration: began.elapsed(), warnings: Vec::new() })
    }

    /// Tells the master to finish and waits for it; harder after the deadline.
    pub(crate) async fn quit(&mut self, drain: Duration) -> Result<(), ApplyError> {
        self.notice_ends().await;
        let orphans = self.orphans().await;
        orphans::retire(&self.process, &orphans).await;
        let Some(master) = self.master.take() else {
            return Ok(());
        };
        for (order, patience) in [(Order::Quit, drain), (Order::Terminate, KILL_PATIENCE)] {
            self.process.signal(master, order).await?;
            if gone(&self.process, master, patience).await {
                return Ok(());
            }
            tracing::warn!(pid = master.pid, ?patience, "NGINX has not finished after {}", order.signal().as_str());
        }
        self.kill(master).await;
        Ok(())
    }

    /// Notices that the master has died, and orphans.
    async fn notice_ends(&mut self) {
        if !self.leaving.is_empty() {
            self.leaving = self.process.refresh(&self.leaving).await.iter().map(|worker| worker.id).collect();
        }
        if let Some(master) = self.master
            && !self.process.alive(master).await
        {
            self.master = None;
            self.past.push(master);
        }
    }

    /// The warnings of a test that accepts, or what its end proves.
    fn judge(&self, tested: &Tested) -> Result<Vec<String>, ApplyError> {
        verdict::judge(tested, &self.store.staged_conf(), &self.paths, &self.limits.flags)
    }

    /// Reloads or starts. On failure the files are taken back, and a master that no longer serves the old ones reads them.
    async fn switch(&mut self, set: &FileSet, staged: &mut store::Staged) -> Result<How, ApplyError> {
        if let Some(master) = self.master
            && !self.process.reachable().await
        {
            self.replace(master).await?;
        }
        let Some(master) = self.master else {
            self.start(&set.revision).await?;
            return Ok(How::Started);
        };
        // What was written to the dictionary that is copied, and after that, would be missing in the new one; or in the former one where it is taken back.
        let _held = if set.moves { Some(self.process.hold().await) } else { None };
        match self.reload(master, &set.revision).await {
            Ok(_) => Ok(How::Reloaded),
            Err(ApplyError::Unconfirmed { revision, waited, answered, log, .. }) => {
                staged.undo()?;
                let restored = self.reload_previous(master).await;
                Err(ApplyError::Unconfirmed { revision, waited, answered, log, restored })
            }
            Err(error) => Err(error),
        }
    }

    async fn reload(&self, master: Identity, revision: &str) -> Result<NginxState, ApplyError> {
        let workers = self.process.workers(master).await;
        let old = workers.into_iter().filter(|worker| !worker.leaving).map(|worker| worker.id).collect();
        let mut tail = Tail::new(&self.paths.error_log());
        // The master reads its configuration and waits for the new workers before the old ones end: time enough for busy connections to be ended by
        // their answers, and not while a request is on its way.
        self.process.announce(true).await;
        let patience = self.limits.confirm_timeout;
        let expected = Expected { master, revision, old, patient: true, patience, flags: &self.limits.flags };
        let result = match self.process.signal(master, Order::Reload).await {
            Ok(()) => confirm(&self.process, &mut tail, &expected).await,
            Err(error) => Err(error),
        };
        if result.is_err() {
            self.process.announce(false).await;
        }
        result
    }

    /// What an unconfirmed master runs is unknown, so it is signalled to read the files that served.
    async fn reload_previous(&self, master: Identity) -> &'static str {
        let Some(good) = &self.good else {
            return "there is no previous configuration";
        };
        match self.reload(master, &good.revision).await {
            Ok(_) => "the previous configuration goes on",
            Err(_) => "the previous configuration is not confirmed either",
        }
    }

    /// A master whose control socket is gone, or that is about to end, can't be reloaded: another takes its place.
    ///
    /// It is killed, not asked to finish: it would close and unlink its sockets at a time of its own. Its workers go on as
    /// orphans until the new ones serve, and then finish what they have begun.
    async fn replace(&mut self, master: Identity) -> Result<(), ApplyError> {
        tracing::warn!(pid = master.pid, "NGINX does not listen on its control socket: it is replaced");
        self.process.signal(master, Order::Kill).await?;
        gone(&self.process, master, KILL_PATIENCE).await;
        self.notice_ends().await;
        Ok(())
    }

    /// Starts a master. Orphans serve until it does; where their sockets are unavailable, until just before.
    async fn start(&mut self, revision: &str) -> Result<NginxState, ApplyError> {
        self.end_strays().await;
        let orphans = self.orphans().await;
        let inherited = self.process.hold_listeners(&orphans).await;
        if inherited == 0 {
            orphans::retire(&self.process, &orphans).await;
        }
        // With `reuseport` the kernel lets two NGINX of one user share a port, and requests with it: so it is asked for first.
        for (&port, &flag) in self.limits.flags.iter().filter(|_| orphans.is_empty()) {
            if let Some(address) = self.process.listener_on(port).await {
                return Err(ApplyError::PortTaken { holder: None, address, port, flag: Some(flag) });
            }
        }
        tracing::info!(revision, orphans = orphans.len(), inherited, "starting NGINX");
        self.process.clear_sockets(true).await;
        let mut tail = Tail::new(&self.paths.error_log());
        let master = self.process.start().await?;
        // Ours from here on: no error below may leave it behind.
        self.master = Some(master);
        self.record(master);
        let (patience, flags) = (self.limits.start_timeout, &self.limits.flags);
        // Orphans that had to leave first have just closed their sockets, or are about to.
        let patient = !orphans.is_empty();
        let expected = Expected { master, revision, old: Vec::new(), patient, patience, flags };
        match confirm(&self.process, &mut tail, &expected).await {
            Ok(state) => {
                orphans::retire(&self.process, &orphans).await;
                self.finish(&orphans).await;
                self.record(master);
                Ok(state)
            }
            Err(error) => {
                self.kill(master).await;
                self.master = None;
                Err(error)
            }
        }
    }

    /// Notes the masters whose processes may be alive, the current one last. A note that can't be written is no reason to stop: the next controller
    /// looks at all processes, too.
    fn record(&mut self, master: Identity) {
        let masters: Vec<Identity> = self.past.iter().copied().chain([master]).collect();
        let text = serde_json::to_vec(&masters).expect("a list of numbers");
        let written = store::write(&self.paths.run_dir().join("masters"), 0o600, &text);
        self.on_disk(written);
    }

    /// NGINX runs what it should, and the disk may not say so: it is full, as a rule. Said once for as long as it stays so.
    fn on_disk(&mut self, kept: Result<(), StoreError>) {
        match kept {
            Err(error) if self.keeps => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the running configuration could not be kept on disk");
                self.keeps = false;
            }
            Ok(()) if !self.keeps => {
                tracing::info!("the running configuration is kept on disk again");
                self.keeps = true;
            }
            _ => {}
        }
    }

    /// Ends every master of this configuration but ours: two generations beside each other would answer differently.
    pub(crate) async fn end_strays(&self) {
        let masters = self.process.masters().await.unwrap_or_default();
        for stray in masters.into_iter().filter(|&master| Some(master) != self.master) {
            tracing::warn!(pid = stray.pid, "another NGINX runs this configuration: it is ended");
            self.kill(stray).await;
        }
    }

    /// Ends a master and its workers for good.
    async fn kill(&self, master: Identity) {
        let mut all = vec![master];
        all.extend(self.process.workers(master).await.iter().map(|worker| worker.id));
        for id in all {
            if let Err(error) = self.process.signal(id, Order::Kill).await {
                tracing::warn!(%error, "a process of NGINX can't be killed");
            }
        }
        gone(&self.process, master, KILL_PATIENCE).await;
        orphans::retire(&self.process, &self.process.orphans(master).await).await;
        self.process.exit_status().await;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Unchanged,
    Reloaded,
    Started,
}

/// Waits for the end of a process.
async fn gone<P: Process>(process: &P, id: Identity, patience: Duration) -> bool {
    let deadline = tokio::time::Instant::now() + patience;
    while process.alive(id).await {
        if tokio::time::Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    process.exit_status().await;
    true
}

/// Work that waits for a disk, away from the threads that must answer at once.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T, StoreError> + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// The masters noted by a predecessor. A damaged note is none.
pub(crate) fn recorded(paths: &Paths) -> Vec<Identity> {
    let read = std::fs::read(paths.run_dir().join("masters")).ok();
    read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
