//! One run: snapshot, compare by content, test, apply, confirm.
//!
//! What is applied is what was tested: the content is compared again before NGINX is signalled, and a change in between begins again. Whatever fails, NGINX goes on
//! with what it had.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ngx_proc::find::{Locator, Master, find};
use ngx_proc::generation::serving_since;
use nix::sys::signal::Signal;
use tokio::time::Instant;

use crate::apply::apply;
use crate::queue::TriggerSource;
use crate::reading::{Reading, Reads, missed};
use crate::report::{ReloadOutcome, ReloadReport, Tested};
use crate::snapshot::{Roots, Snapshot};
use crate::staging::Staging;
use crate::state::{CycleState, Known};
use crate::tester::{SnapshotVerdict, Subject, TestOptions, Tester};
use children::Children;

/// Attempts when the files change under the eyes.
const ATTEMPTS: usize = 5;
/// Clocks of file systems are this coarse, at most.
const CLOCK: Duration = Duration::from_secs(1);

/// Options of the cycle.
#[derive(Debug, Clone)]
pub struct CycleOptions {
    /// The files that are followed.
    pub roots: Roots,
    /// The NGINX that follows.
    pub locator: Locator,
    /// The signal that makes it read its configuration; only after HUP new workers are waited for.
    pub signal: Signal,
    /// Options of the test.
    pub test: TestOptions,
    /// The time that new workers may take.
    pub confirm_timeout: Duration,
    /// Test only.
    pub dry_run: bool,
    /// NGINX's configuration need not name what is followed.
    pub indirect: bool,
    /// Takes files from the (only) root and puts them elsewhere, if they are good.
    pub staging: Option<Staging>,
}

impl CycleOptions {
    /// The places where NGINX reads what is followed.
    fn places(&self) -> Vec<PathBuf> {
        self.staging.as_ref().map_or_else(|| self.roots.paths.clone(), |staging| vec![staging.to.clone()])
    }
}

/// The cycle and what it remembers.
#[derive(Debug)]
pub(crate) struct Cycle {
    options: Arc<CycleOptions>,
    tester: Tester,
    reading: Reading,
    state: CycleState,
    /// Directories with files, of the content that was good last: by root and path below it.
    populated: BTreeSet<(PathBuf, String)>,
}

/// A report, and whether it says something new.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The report of the run.
    pub report: ReloadReport,
    /// `true` if it is to be reported: something was done, or fails in a new way.
    pub is_new: bool,
    /// Time until the next attempt.
    pub retry_in: Option<Duration>,
}

impl Cycle {
    /// A cycle that knows nothing yet.
    pub(crate) fn new(options: CycleOptions, children: Children) -> Self {
        let tester = Tester::new(options.test.clone(), children);
        Self { options: Arc::new(options), tester, reading: Reading::default(), state: CycleState::default(), populated: BTreeSet::new() }
    }

    /// One run. `force`: NGINX reloads even if it runs what stands there.
    pub(crate) async fn run(&mut self, number: u64, triggers: &[TriggerSource], force: bool) -> Turn {
        let begun = Instant::now();
        let mut outcome = None;
        for _ in 0..ATTEMPTS {
            outcome = self.attempt(number, force).await;
            if outcome.is_some() {
                break;
            }
        }
        let (mut report, is_new) = outcome.unwrap_or_else(|| {
            let report = ReloadReport::new(number, ReloadOutcome::Unreadable);
            self.fail(report, "the files change faster than they can be tested: nothing is applied until they rest".to_owned())
        });
        report.serving = self.state.serving().cloned();
        // Files that can't be read are looked at again by the follower.
        let is_retried = !report.result.is_good() && report.result != ReloadOutcome::Unreadable;
        let retry_in = self.state.retry_in(Instant::now()).filter(|_| is_retried);
        report.retry_in_ms = retry_in.map(|wait| wait.as_millis().try_into().unwrap_or(u64::MAX));
        Turn { report: report.complete(triggers, begun.elapsed()), is_new, retry_in }
    }

    fn fail(&mut self, mut report: ReloadReport, message: String) -> (ReloadReport, bool) {
        let (is_new, _) = self.state.failed(report.result, report.revision.clone(), &message, Instant::now());
        report.message = Some(message);
        (report, is_new)
    }

    /// `None` when the files changed meanwhile.
    async fn attempt(&mut self, number: u64, force: bool) -> Option<(ReloadReport, bool)> {
        let mut report = ReloadReport::new(number, ReloadOutcome::Applied);
        let snapshot = match self.snapshot().await {
            Ok(snapshot) => snapshot,
            Err(why) => {
                report.result = ReloadOutcome::Unreadable;
                return Some(self.fail(report, why));
            }
        };
        report.revision = Some(snapshot.revision.clone());
        let master = match find(&self.options.locator) {
            Ok(master) => master,
            Err(error) => {
                report.result = ReloadOutcome::NoTarget;
                return Some(self.fail(report, chain(&error)));
            }
        };
        report.pid = Some(master.id.pid);
        if !force && let Some(known) = self.known(&report, &master, &snapshot) {
            return Some(known);
        }
        if let Some((result, why)) = self.unfit(&master, &snapshot).await {
            report.result = result;
            return Some(self.fail(report, why));
        }
        if !force && self.has_read(&master, &snapshot) {
            tracing::info!(pid = master.id.pid, revision = %snapshot.revision, "NGINX was started with what stands there");
            self.succeeded(&master, &snapshot);
            report.result = ReloadOutcome::Unchanged;
            return Some((report, false));
        }

        if let Some(refused) = self.options.staging.as_ref().and_then(|staging| staging.refuses(&snapshot)) {
            report.result = ReloadOutcome::Rejected;
            return Some(self.fail(report, refused));
        }
        let places = self.options.places();
        let subject = Subject { snapshot: &snapshot, places: &places, in_place: self.options.staging.is_none() };
        let verdict = self.tester.test(&master, subject).await;
        if subject.in_place && !self.still(&snapshot).await {
            return None;
        }
        match verdict {
            SnapshotVerdict::Refused { tested, message } => {
                report.tested = Some(tested);
                report.result = ReloadOutcome::Rejected;
                return Some(self.fail(report, message));
            }
            SnapshotVerdict::Accepted { tested, warnings } => {
                report.tested = Some(tested);
                report.warnings = warnings;
            }
            SnapshotVerdict::Unable(_) => report.tested = Some(Tested::Not),
        }
        if self.options.dry_run {
            report.result = ReloadOutcome::Tested;
            self.state.settled();
            return Some((report, true));
        }
        Some(match self.switch(&master, &snapshot, report.tested).await {
            Ok(()) => {
                self.succeeded(&master, &snapshot);
                (report, true)
            }
            Err((result, message)) => {
                report.result = result;
                self.fail(report, message)
            }
        })
    }

    /// A result that is known without doing anything.
    fn known(&mut self, report: &ReloadReport, master: &Master, snapshot: &Snapshot) -> Option<(ReloadReport, bool)> {
        let report = |result| ReloadReport { result, ..report.clone() };
        match self.state.known(master.id, &snapshot.revision, Instant::now()) {
            Known::Runs => {
                self.state.settled();
                Some((report(ReloadOutcome::Unchanged), false))
            }
            Known::Failed(failed) => Some((ReloadReport { message: Some(failed.message), ..report(failed.outcome) }, false)),
            Known::Stranger | Known::Other => None,
        }
    }

    fn succeeded(&mut self, master: &Master, snapshot: &Snapshot) {
        self.state.succeeded(master.id, snapshot.revision.clone());
        self.populated = snapshot.directories();
    }

    /// The reason why nothing of this may be applied, whatever it is.
    async fn unfit(&mut self, master: &Master, snapshot: &Snapshot) -> Option<(ReloadOutcome, String)> {
        let options = self.options.clone();
        let reads = if options.indirect { Reads::Yes } else { self.reading.check(&mut self.tester, master, &options.places()).await };
        if let Reads::No(why) = reads {
            return Some((ReloadOutcome::NotRead, why));
        }
        if let Some(staging) = options.staging.as_ref().filter(|staging| !options.dry_run && !staging.to.exists()) {
            let to = staging.to.display();
            if reads == Reads::Unknown {
                let why = format!("--to {to} does not exist, and it can't be checked whether NGINX reads it: make it");
                return Some((ReloadOutcome::NotRead, why));
            }
            if let Err(error) = std::fs::create_dir(&staging.to) {
                return Some((ReloadOutcome::Failed, format!("--to {to} does not exist and can't be made: {error}")));
            }
            tracing::info!(path = %to, "made, as NGINX's configuration names it");
        }
        let now = snapshot.directories();
        let gone: Vec<(&Path, &str)> = self.populated.difference(&now).map(|(root, below)| (root.as_path(), below.as_str())).collect();
        let gone: Vec<_> = gone.into_iter().filter(|(root, below)| options.staging.is_none() && !root.join(below).is_dir()).collect();
        if gone.is_empty() {
            return None;
        }
        missed(&self.tester, master, &gone).await.map(|why| (ReloadOutcome::Unreadable, why))
    }

    /// `true` if an NGINX that we know nothing of has read just these files: they are older than its workers.
    fn has_read(&self, master: &Master, snapshot: &Snapshot) -> bool {
        if !matches!(self.state.known(master.id, &snapshot.revision, Instant::now()), Known::Stranger) {
            return false;
        }
        let changed = match &self.options.staging {
            None => snapshot.changed,
            Some(staging) => match staging.installed() {
                Some(installed) if installed.revision == snapshot.revision => installed.changed,
                _ => return false,
            },
        };
        let age = SystemTime::now().duration_since(changed).unwrap_or_default();
        serving_since(master).is_some_and(|serving| age > serving + CLOCK)
    }

    async fn snapshot(&self) -> Result<Snapshot, String> {
        let options = self.options.clone();
        let taken = tokio::task::spawn_blocking(move || Snapshot::take(&options.roots)).await;
        taken.map_err(|error| error.to_string())?.map_err(|error| chain(&error))
    }

    /// `true` if what stands there is what was tested.
    async fn still(&self, tested: &Snapshot) -> bool {
        self.snapshot().await.is_ok_and(|now| now.revision == tested.revision)
    }

    /// Makes NGINX read the tested files. On failure everything is as it was.
    async fn switch(&mut self, master: &Master, snapshot: &Snapshot, tested: Option<Tested>) -> Result<(), (ReloadOutcome, String)> {
        let options = self.options.clone();
        let Some(staging) = options.staging.clone() else {
            return apply(master, options.signal, options.confirm_timeout)
                .await
                .map_err(|error| (ReloadOutcome::Failed, error.to_string()));
        };
        let failed = |message: String| (ReloadOutcome::Failed, message);
        let tree = snapshot.trees.first().cloned().ok_or_else(|| failed("nothing is followed".to_owned()))?;
        let installed = blocking(move || staging.install(&tree))
            .await
            .map_err(|why| failed(format!("the files can't be installed, and the old ones stay: {why}")))?;
        let mut result = Ok(());
        if tested == Some(Tested::Not)
            && let SnapshotVerdict::Refused { message, .. } = self.tester.in_place(master).await
        {
            result = Err((ReloadOutcome::Rejected, message));
        }
        if result.is_ok() {
            result = apply(master, options.signal, options.confirm_timeout).await.map_err(|error| failed(error.to_string()));
        }
        match result {
            Ok(()) => {
                if let Err(error) = blocking(move || installed.keep()).await {
                    tracing::warn!(error, "the backup of the old files can't be removed");
                }
                Ok(())
            }
            Err((outcome, why)) => match blocking(move || installed.roll_back()).await {
                Ok(()) => Err((outcome, format!("{why}; the old files were put back"))),
                Err(error) => Err((outcome, format!("{why}; and the old files can't be put back: {error}"))),
            },
        }
    }
}

/// Does what blocks on a thread for that.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
    done.map_err(|error| error.to_string())
}

/// An error and its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
