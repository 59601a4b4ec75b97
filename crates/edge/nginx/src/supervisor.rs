//! The public face: one work directory, one NGINX.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use render::{FileSet, Paths};

use crate::cycle::{self, Cycle, Limits};
use crate::error::{ApplyError, OpenError};
use crate::headcount::Headcount;
use crate::live::LiveClient;
use crate::process::{Nginx, Place, Process};
use crate::procfs::Identity;
use crate::state::NginxState;
use crate::store::{self, StoreError};
use crate::workdir::{self, Lock};

const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// The options of a supervisor.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where NGINX runs.
    pub place: Place,
    /// The work directory; absolute.
    pub paths: Paths,
    /// The user of the workers, as `user` or `user:group` ([`render::Capabilities::worker_user`]).
    pub worker_user: Option<String>,
    /// Longest time until the workers of a new master answer, and until `nginx -t` has judged. Default 10 s.
    pub start_timeout: Duration,
    /// Longest time of a reload until the new workers answer and the old ones accept no more. Default 10 s.
    pub confirm_timeout: Duration,
    /// A directory that an NGINX in this container can't read where the kernel lets us forbid it (Landlock), whatever its user. Default: none.
    pub hidden: Option<PathBuf>,
    /// The listen ports with the flag that sets each: looked at before a start, and named in messages. Default: none.
    pub port_flags: BTreeMap<u16, &'static str>,
}

impl Options {
    /// The defaults for a binary in this container and a work directory.
    pub fn new(binary: impl Into<PathBuf>, paths: Paths) -> Self {
        Self::at(Place::Here(binary.into()), paths)
    }

    /// The defaults for a place and a work directory.
    pub fn at(place: Place, paths: Paths) -> Self {
        Self {
            place,
            paths,
            worker_user: None,
            hidden: None,
            start_timeout: Duration::from_secs(10),
            confirm_timeout: Duration::from_secs(10),
            port_flags: BTreeMap::new(),
        }
    }
}

/// A file set that NGINX runs: its workers said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The revision.
    pub revision: String,
    /// NGINX was started; its dictionaries are empty.
    pub started: bool,
    /// NGINX was reloaded. With `started` false too, it ran this revision already.
    pub reloaded: bool,
    /// Time from the call to the confirmation.
    pub duration: Duration,
    /// Warnings of `nginx -t`.
    pub warnings: Vec<String>,
}

/// The one who starts, reloads, restarts and ends the NGINX of a work directory.
///
/// Dropping it leaves NGINX serving; the next supervisor of the directory adopts it. The futures of its methods must be
/// driven to their end: one that is dropped leaves the disk as it was, and NGINX wherever it got to.
#[derive(Debug)]
pub struct Supervisor {
    cycle: Cycle<Nginx>,
    headcount: Headcount,
    live: LiveClient,
    adopted: Option<NginxState>,
    paths: Paths,
    _lock: Lock,
}

impl Supervisor {
    /// Takes over a work directory: makes and repairs it, locks it, and adopts the NGINX that a predecessor left.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let Options { place, paths, worker_user, hidden, start_timeout, confirm_timeout, port_flags } = options;
        let lock = take(&paths, worker_user.as_deref()).await?;
        let live = LiveClient::new(&paths.control_socket());
        let process = Nginx::new(place, paths.clone(), live.clone(), hidden.as_deref());
        let past = past(&process, &paths).await?;
        let limits = Limits { start_timeout, confirm_timeout, flags: port_flags };
        let kept_paths = paths.clone();
        let mut cycle = Cycle::new(process, paths, limits, past);
        // Without room on the disk what runs goes on, and each start tries again.
        if let Err(error) = cycle.repair() {
            tracing::warn!(error = &error as &dyn std::error::Error, "the last good configuration could not be restored on disk");
        }
        let adopted = adopt(&mut cycle).await?;
        if let Some(master) = cycle.master().await {
            live.set_master(master.pid);
            correct_pid_file(&kept_paths, master);
        }
        Ok(Self { cycle, headcount: Headcount::default(), live, adopted, paths: kept_paths, _lock: lock })
    }

    /// The state of the NGINX that was found running; `None` if none was found or it does not answer.
    pub fn adopted(&self) -> Option<&NginxState> {
        self.adopted.as_ref()
    }

    /// Applies this file set: writes, tests, starts or reloads, confirms. Nothing is signalled if it runs already.
    ///
    /// On an error the files on disk are those of before, and NGINX goes on with the configuration of before.
    pub async fn apply(&mut self, set: &FileSet) -> Result<Applied, ApplyError> {
        let applied = self.cycle.apply(set).await;
        self.confirmed(applied).await
    }

    /// As [`Self::apply`], but NGINX reads everything again even if it runs this file set already: what the files refer to may have changed.
    ///
    /// Then new workers with the same revision confirm it: those of before are leaving.
    pub async fn reload(&mut self, set: &FileSet) -> Result<Applied, ApplyError> {
        let applied = self.cycle.apply_set(set, true).await;
        self.confirmed(applied).await
    }

    /// Asks `nginx -t` about a file set, within `limit`, without any effect on what is on disk or runs. How long it took.
    pub async fn test(&mut self, set: &FileSet, limit: Duration) -> Result<Duration, ApplyError> {
        self.cycle.test(set, limit).await.map_err(ApplyError::with_holder)
    }

    /// The workers of earlier configurations, each with its pid and start time, and with how many of them no reload begins.
    pub async fn old_workers(&self) -> (Vec<(i32, u64)>, usize) {
        let (old, most) = self.cycle.old_workers().await;
        (old.into_iter().map(|worker| (worker.pid, worker.start)).collect(), most)
    }

    /// Longest test of a file set that is applied.
    pub fn patience(&self) -> Duration {
        self.cycle.patience()
    }

    /// Starts NGINX again with the file set that served last; nothing to do if it runs.
    ///
    /// Workers that a killed master left serve until the new ones do. The dictionaries start empty.
    pub async fn restart(&mut self) -> Result<Applied, ApplyError> {
        let applied = self.cycle.restart().await;
        self.confirmed(applied).await
    }

    /// Has a master that lacks workers ([`Self::workers_missing`]) start new ones, by a reload of the file set that served last.
    pub async fn replenish(&mut self) -> Result<Applied, ApplyError> {
        let applied = self.cycle.replenish().await;
        self.confirmed(applied).await
    }

    /// After what was confirmed there may be another number of workers, and the pid file is looked at.
    async fn confirmed(&self, applied: Result<Applied, ApplyError>) -> Result<Applied, ApplyError> {
        let applied = applied.map_err(ApplyError::with_holder)?;
        if applied.started || applied.reloaded {
            self.headcount.reset();
        }
        if let Some(master) = self.cycle.master().await {
            self.live.set_master(master.pid);
            correct_pid_file(&self.paths, master);
        }
        Ok(applied)
    }

    /// Resolves when the present master lacks workers, and does not start others. To be asked for again after each start.
    pub fn workers_missing(&self) -> impl Future<Output = ()> + Send + 'static {
        let (master, headcount, observer) = (self.cycle.last_master(), self.headcount.clone(), self.cycle.process.observer());
        async move {
            match master {
                Some(master) => headcount.missing(observer, master).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Resolves when the present master is gone, at once if it died before, never if there is none.
    /// To be asked for again after each start.
    pub fn exited(&self) -> impl Future<Output = ()> + Send + 'static {
        let (master, observer) = (self.cycle.last_master(), self.cycle.process.observer());
        async move {
            match master {
                Some(master) => observer.exited(master).await,
                None => std::future::pending().await,
            }
        }
    }

    /// The pid of the master, while it lives.
    pub async fn pid(&self) -> Option<i32> {
        self.cycle.master().await.map(|master| master.pid)
    }

    /// Lets NGINX finish the requests that it has begun, for as long as `drain`, and ends it.
    pub async fn quit(mut self, drain: Duration) -> Result<(), ApplyError> {
        self.cycle.quit(drain).await
    }

    /// Keeps a note in the work directory, for the next controller.
    ///
    /// # Errors
    /// When it can't be written: the earlier one stays.
    pub fn keep_note(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        store::write(&self.paths.run_dir().join(name), 0o600, content)
    }

    /// A note that was kept.
    pub fn note(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.paths.run_dir().join(name)).ok()
    }

    /// The client of the control socket. Its clones share connections.
    pub fn live(&self) -> LiveClient {
        self.live.clone()
    }
}

/// Takes the work directory; waits a moment for a predecessor that is about to end. (A process that it was starting when it
/// was killed holds its lock until `exec`.)
async fn take(paths: &Paths, worker_user: Option<&str>) -> Result<Lock, OpenError> {
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match workdir::open(paths, worker_user) {
            Err(OpenError::Locked { .. }) if Instant::now() < deadline => tokio::time::sleep(LOCK_POLL).await,
            other => return other,
        }
    }
}

/// The masters of before, as they were noted, and those of which workers have the control socket open: a note may have found no room on the disk.
async fn past(process: &Nginx, paths: &Paths) -> Result<Vec<Identity>, OpenError> {
    let mut past = cycle::recorded(paths);
    for master in process.masterless().await? {
        if past.iter().all(|known| known.pid != master.pid) {
            tracing::warn!(master = master.pid, "workers of an NGINX that no note names are running: they are replaced");
            past.push(master);
        }
    }
    Ok(past)
}

/// Takes over the master whose worker answers on the control socket, and ends all others: two generations would answer differently.
async fn adopt(cycle: &mut Cycle<Nginx>) -> Result<Option<NginxState>, OpenError> {
    let found = cycle.process.masters().await?;
    let state = cycle.process.state().await;
    let answering = match state.as_ref().and_then(|state| i32::try_from(state.pid).ok()) {
        Some(worker) => cycle.process.parent(worker).await,
        None => None,
    };
    let Some(chosen) = found.iter().copied().find(|master| Some(master.pid) == answering).or(found.last().copied()) else {
        return Ok(None);
    };
    cycle.adopt(chosen);
    cycle.end_strays().await;
    let revision = state.as_ref().map(|state| state.revision.as_str());
    tracing::info!(pid = chosen.pid, revision, "NGINX runs already: adopted");
    Ok(state)
}

/// NGINX writes the file when it starts. What another program wrote into it since would mislead `nginx -s` and scripts.
fn correct_pid_file(paths: &Paths, master: Identity) {
    let named = std::fs::read_to_string(paths.pid()).ok().and_then(|text| text.trim().parse().ok());
    if named != Some(master.pid) {
        tracing::warn!(path = %paths.pid().display(), pid = master.pid, "the pid file does not name the running NGINX: corrected");
        if let Err(error) = store::write(&paths.pid(), 0o644, format!("{}\n", master.pid).as_bytes()) {
            tracing::warn!(error = &error as &dyn std::error::Error, "the pid file could not be corrected");
        }
    }
}
