//! The fixed lane: starts NGINX, reloads it as rarely as possible, restarts it when it dies.
//!
//! Leading edge after a quiet time, then spaced by the reload interval. A refused text never replaces the one that serves: what asked for the part
//! that NGINX refuses ([`search`]) is quarantined, and the builder makes a model without it. Whatever else fails (a test that is killed, a full disk,
//! no descriptors) blames no object and is tried again.
//!
//! What is asked for waits for its turn as changes do, and shares the reload with those that are pending.

mod blame;
mod causes;
mod closed_ports;
mod generations;
mod kept_profiles;
mod keys;
mod pacing;
mod quarantine;
mod search;
mod state;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::dictionaries::{Dictionaries, Formers};
use model::plan::{Reason, reasons};
use model::{Built, ConfigValues, Fixed};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, error, info, warn};

use crate::arrivals::{Arrivals, Progress};
use crate::ask::Attempt;
use crate::journal::Journal;
use crate::metrics::{Metrics, Stage, Way};
use crate::port::{Adopted, Applied, ApplyError, Loss, Nginx, Reporter};
use crate::{Feedback, LiveStatus, Loaded, Locations, Pace};
use causes::Causes;
use closed_ports::ClosedPorts;
use generations::Generations;
use keys::KeySearch;
use pacing::Pacing;
pub(crate) use quarantine::Subject;
use quarantine::{HeldParts, Suspects};

const FIRST_RETRY: Duration = Duration::from_millis(250);
/// Short: what comes back (memory, disk, descriptors) is used soon, and a failed test costs little.
const LAST_RETRY: Duration = Duration::from_secs(4);
/// Between looks whether old workers have ended.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) async fn run<N: Nginx>(
    mut lane: Lane<N>,
    mut built: watch::Receiver<Option<Arc<Built>>>,
    mut asked: watch::Receiver<u64>,
    pace: Pace,
) -> &'static str {
    lane.adopt();
    // When to act on the newest build: nothing to do, or not before this moment.
    let mut due: Option<Instant> = None;
    let mut retry = FIRST_RETRY;
    // After a failure, not before this moment.
    let mut patient = None::<Instant>;
    let mut waits = false;
    loop {
        let started = lane.ends.loaded.borrow().starts > 0;
        let soon = |due: Option<Instant>, earliest: Option<Instant>| {
            let now = Instant::now();
            let quiet = if started { now + pace.reload_debounce } else { now };
            let spaced = earliest.map_or(quiet, |earliest| earliest.max(quiet));
            let spaced = patient.map_or(spaced, |patient| spaced.max(patient));
            // A stream of changes may not put off what is already due.
            due.map_or(spaced, |due| if due > now { due.min(spaced).max(now) } else { due })
        };
        let look = lane.held.next().into_iter().chain(lane.closed.next()).chain(lane.keys.as_ref().and_then(KeySearch::due)).min();
        tokio::select! {
            biased;
            loss = lane.nginx.lost(), if started && lane.lost.is_none() => {
                lane.lost = Some(loss);
                match loss {
                    Loss::Master => error!("the nginx master ended; it is started again with its last good configuration"),
                    Loss::Workers => error!("workers of nginx ended for good, for want of memory or descriptors; it is reloaded, so that it starts others"),
                }
                due = Some(Instant::now());
            }
            changed = built.changed() => {
                if changed.is_err() { return "fixed lane" }
                let wanted = built.borrow_and_update().clone();
                let asked = *asked.borrow() > lane.answered;
                if let Some(wanted) = &wanted {
                    lane.follow(wanted);
                    lane.arrived(wanted);
                }
                due = match &wanted {
                    Some(wanted) if asked || lane.differs(wanted) => Some(soon(due, lane.earliest(wanted))),
                    // What failed is not wanted any more.
                    Some(_) => { lane.sound(); None }
                    None => None,
                };
            }
            changed = asked.changed() => {
                if changed.is_err() { return "fixed lane" }
                asked.mark_unchanged();
                due = Some(soon(due, lane.pacing.earliest(&Causes::default(), lane.interval)));
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                let revived = lane.revive().await;
                let wanted = built.borrow().clone();
                // Requests from now on are answered by another reload.
                let number = *asked.borrow();
                let outcome = match &wanted {
                    // What has no workers is reloaded, with what is wanted or what runs.
                    Some(wanted) if revived || lane.down() || lane.changed(wanted) || number > lane.answered => lane.apply(wanted, number).await,
                    // Without a build what is asked for waits for the first one.
                    None if revived => TurnOutcome::Nothing,
                    _ => TurnOutcome::Failed,
                };
                waits = outcome == TurnOutcome::Waiting;
                match outcome {
                    TurnOutcome::Done => {
                        // The former dictionary was in the way.
                        due = wanted.filter(|wanted| lane.changed(wanted)).map(|wanted| soon(None, lane.earliest(&wanted)));
                    }
                    TurnOutcome::Nothing | TurnOutcome::Quarantined => {}
                    TurnOutcome::Waiting => due = Some(Instant::now() + LOOK),
                    // Who asks again and again waits as changes do.
                    TurnOutcome::Kept => lane.pacing.reloaded(&Causes::default(), lane.interval),
                    TurnOutcome::Failed => {
                        patient = Some(Instant::now() + retry);
                        due = patient;
                        retry = (retry * 2).min(LAST_RETRY);
                        continue;
                    }
                }
                (retry, patient) = (FIRST_RETRY, None);
            }
            () = sleep_until(look.unwrap_or_else(Instant::now)), if look.is_some() && (due.is_none() || waits) => {
                let wanted = built.borrow().clone();
                if let Some(wanted) = wanted {
                    lane.look(&wanted).await;
                    if lane.look_at_ports().await { due = Some(soon(due, lane.earliest(&wanted))) }
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnOutcome {
    Done,
    /// There is nothing to apply.
    Nothing,
    /// The builder will come with a model without what is refused.
    Quarantined,
    /// Old workers have to end first.
    Waiting,
    Failed,
    /// A requested reload failed, and nothing else is to be done.
    Kept,
}

/// The lane, and what it remembers.
pub(crate) struct Lane<N> {
    nginx: N,
    ends: Ends,
    report: Arc<dyn Reporter>,
    metrics: Metrics,
    arrivals: Arrivals,
    progress: Progress,
    /// When the oldest change was seen that needs a reload.
    waiting_since: Option<Instant>,
    /// The loss that is not repaired yet.
    lost: Option<Loss>,
    /// The values of the ConfigMap that NGINX confirmed last.
    confirmed: ConfigValues,
    /// The search for keys of it that NGINX refuses.
    keys: Option<KeySearch>,
    held: HeldParts,
    closed: ClosedPorts,
    suspects: Suspects,
    generations: Generations,
    pacing: Pacing,
    /// Shortest time between two reloads of a namespace.
    interval: Duration,
    /// The shared dictionaries of NGINX. Empty while it does not run.
    dictionaries: Dictionaries,
    /// The build that was confirmed last.
    before: Option<Arc<Built>>,
    /// Number of the last attempt.
    runs: u64,
    /// Requests up to this number have their answer.
    answered: u64,
    /// The objects that were quarantined since the last answer, for people.
    quarantined: Vec<String>,
}

/// The channels of the lane.
pub(crate) struct Ends {
    pub(crate) live: watch::Receiver<LiveStatus>,
    pub(crate) loaded: watch::Sender<Loaded>,
    pub(crate) feedback: mpsc::Sender<Feedback>,
    pub(crate) attempts: watch::Sender<Option<Arc<Attempt>>>,
    /// The reason why the wanted configuration can't be applied, for as long as it can't.
    pub(crate) fault: watch::Sender<Option<String>>,
    pub(crate) journal: Journal,
}

impl<N: Nginx> Lane<N> {
    pub(crate) fn new(
        nginx: N,
        ends: Ends,
        report: Arc<dyn Reporter>,
        metrics: Metrics,
        arrivals: Arrivals,
        confirmed: ConfigValues,
        interval: Duration,
    ) -> Self {
        let (held, closed, suspects, generations, pacing, quarantined) = Default::default();
        Self {
            nginx,
            ends,
            report,
            metrics,
            arrivals,
            progress: Progress::default(),
            waiting_since: None,
            lost: None,
            confirmed,
            keys: None,
            held,
            closed,
            suspects,
            generations,
            pacing,
            interval,
            dictionaries: Dictionaries::default(),
            before: None,
            runs: 0,
            answered: 0,
            quarantined,
        }
    }

    /// An NGINX that runs already gets its data at once, whatever becomes of the configuration; only one whose Lua reads other records gets none
    /// before it is reloaded: it would take protected routes for open ones.
    fn adopt(&mut self) {
        if let Some(adopted) = self.nginx.adopted() {
            self.metrics.running(&adopted.revision);
            let Adopted { revision, format, locations, dictionaries } = adopted;
            self.dictionaries = dictionaries;
            let reads_ours = format.as_deref() == Some(model::live::wire::format());
            if !reads_ours {
                warn!(revision, "nginx reads records of another format; it gets none before it is reloaded");
            }
            self.ends.loaded.send_replace(Loaded { starts: u64::from(reads_ours), revision, locations, ..Loaded::default() });
        }
    }

    fn differs(&self, wanted: &Built) -> bool {
        self.lost.is_some() || self.changed(wanted)
    }

    fn changed(&self, wanted: &Built) -> bool {
        let loaded = self.ends.loaded.borrow();
        loaded.fixed.as_ref().is_none_or(|running| !reasons(running, &self.placed(wanted, Formers::GiveWay)).is_empty())
    }

    /// Notes since when a change waits for a reload.
    fn arrived(&mut self, wanted: &Arc<Built>) {
        let seen = self.arrivals.since(&self.progress, wanted);
        self.arrivals.done(&mut self.progress, wanted);
        self.waiting_since = self.waiting_since.or(seen).filter(|_| self.changed(wanted));
    }

    /// Before when a reload for a build does not begin.
    fn earliest(&self, wanted: &Built) -> Option<Instant> {
        let loaded = self.ends.loaded.borrow();
        let causes = loaded.fixed.as_ref().map(|running| {
            let fixed = self.placed(wanted, Formers::GiveWay);
            Causes::of(running, &fixed, &reasons(running, &fixed), wanted, self.before.as_deref())
        });
        self.pacing.earliest(&causes.unwrap_or_default(), self.interval)
    }

    /// The wanted text, with dictionaries of another size where they have to be.
    fn placed(&self, wanted: &Built, formers: Formers) -> Fixed {
        if self.down() { wanted.model.fixed.clone() } else { self.dictionaries.place(&wanted.model.fixed, formers) }
    }

    /// Whether there is no master.
    fn down(&self) -> bool {
        self.lost == Some(Loss::Master)
    }

    /// `number`: what was asked for up to there is answered by it.
    async fn apply(&mut self, wanted: &Arc<Built>, number: u64) -> TurnOutcome {
        let loaded = self.ends.loaded.borrow().clone();
        let running = loaded.fixed.as_ref();
        let old = self.nginx.old().await;
        self.generations.see(&old, &BTreeSet::new());
        let fixed = self.placed(wanted, if old.workers.is_empty() { Formers::GiveWay } else { Formers::Stay });
        let mut reasons = match running {
            Some(running) if !self.down() => reasons(running, &fixed),
            _ => vec![Reason::Start],
        };
        let (differs, asked) = (!reasons.is_empty(), number > self.answered);
        if asked {
            reasons.push(Reason::Asked);
        } else if !differs && self.changed(wanted) {
            debug!(workers = old.workers.len(), "a shared dictionary of another size waits for the workers that use the former one");
            return TurnOutcome::Waiting;
        } else if !differs {
            self.sound();
            return TurnOutcome::Nothing;
        }
        let causes = match running {
            Some(running) => Causes::of(running, &fixed, &reasons, wanted, self.before.as_deref()),
            None => Causes { general: true, ..Causes::default() },
        };
        let serial = fixed.globals.config.enable_serial_reloads && running.is_some() && !self.down();
        if serial && !old.workers.is_empty() {
            debug!(workers = old.workers.len(), "a reload waits for the workers of the one before");
            self.metrics.waiting(true);
            return TurnOutcome::Waiting;
        }
        if let Some(message) = self.generations.wait(&causes, old.most) {
            return self.waits(&message).await;
        }
        if let Some(outcome) = self.suspect(&fixed, running, wanted).await {
            return outcome;
        }
        // A reload is due, so that those which no worker uses can go with it.
        let fixed = if old.workers.is_empty() { self.placed(wanted, Formers::Leave) } else { fixed };
        let fixed = self.with_held_profiles(fixed, running);
        let labels: Vec<&'static str> = reasons.iter().map(Reason::label).collect::<BTreeSet<_>>().into_iter().collect();
        let words: Vec<String> = reasons.iter().map(|reason| reason.explain(&wanted.behind(reason))).collect();
        let started = Instant::now();
        let applied = if asked { self.nginx.reload(&fixed).await } else { self.nginx.apply(&fixed).await };
        let old = self.nginx.old().await;
        self.generations.see(&old, &causes.namespaces);
        let result = applied.as_ref().map(|applied| applied.revision.clone()).map_err(Clone::clone);
        self.note(&applied, &words, &causes, running.is_none(), started.elapsed());
        let outcome = match applied {
            Ok(applied) => {
                self.confirmed(&applied, &labels, &causes, &words.join("; "), started.elapsed());
                self.sound();
                self.lost = None;
                if self.confirmed != *wanted.basis.values() {
                    self.confirmed = wanted.basis.values().clone();
                    self.nginx.keep(&self.confirmed);
                }
                if loaded.starts > 0 {
                    self.pacing.reloaded(&causes, self.interval);
                }
                let locations = Locations::of(&fixed);
                // What the dictionaries hold is looked at again where it was copied.
                let is_copied = self.dictionaries.move_to(&fixed);
                self.dictionaries = Dictionaries::of(&fixed);
                let starts = loaded.starts + u64::from(applied.started || loaded.starts == 0 || is_copied);
                let earlier = loaded.left_behind(&old.workers);
                self.ends.loaded.send_replace(Loaded { starts, revision: applied.revision, locations, fixed: Some(fixed), earlier });
                self.left_out(applied.closed).await;
                self.before = Some(wanted.clone());
                self.keys.iter_mut().for_each(KeySearch::begin);
                let _ = self.ends.feedback.send(Feedback::Confirmed(wanted.clone())).await;
                TurnOutcome::Done
            }
            Err(error) => {
                self.metrics.reload_failed(&labels, causes.charged());
                if differs {
                    self.blame(&fixed, running, wanted, error).await
                } else {
                    // It runs this text: no object is at fault, and the caller may ask again.
                    self.report.reload(Err(&error.to_string()));
                    error!(%error, "a reload that was asked for failed: {}", self.instead().await);
                    TurnOutcome::Kept
                }
            }
        };
        self.publish(labels, result, started.elapsed(), (outcome != TurnOutcome::Quarantined).then_some(number));
        outcome
    }

    /// Counts and reports what NGINX confirmed.
    fn confirmed(&mut self, applied: &Applied, labels: &[&'static str], causes: &Causes, words: &str, took: Duration) {
        self.metrics.stage(Stage::Reload, took);
        let since = self.waiting_since.take();
        let revision = &applied.revision;
        if applied.started {
            self.metrics.started();
            self.metrics.running(revision);
            info!(revision, seconds = took.as_secs_f64(), "nginx started");
        } else if applied.unchanged {
            self.metrics.running(revision);
            info!(revision, "nginx runs this configuration already");
        } else {
            self.metrics.reloaded(labels, causes.charged(), revision, took);
            since.into_iter().for_each(|since| self.metrics.took_effect(Way::Reload, since.elapsed()));
            info!(revision, reasons = words, seconds = applied.duration.as_secs_f64(), "Backend successfully reloaded");
            self.report.reload(Ok(words));
        }
    }

    /// Ends an attempt; `answers`: it is the answer to all that was asked for up to this number.
    fn publish(&mut self, reasons: Vec<&'static str>, result: Result<String, ApplyError>, took: Duration, answers: Option<u64>) {
        self.runs += 1;
        self.answered = answers.unwrap_or(self.answered);
        let quarantined = if answers.is_some() { std::mem::take(&mut self.quarantined) } else { self.quarantined.clone() };
        let serving = self.ends.loaded.borrow().revision.clone();
        let (run, answers, finished) = (self.runs, self.answered, SystemTime::now());
        self.ends.attempts.send_replace(Some(Arc::new(Attempt { run, answers, reasons, result, serving, quarantined, took, finished })));
    }

    /// Restores what was lost, with the configuration of before. `true` if all is there.
    async fn revive(&mut self) -> bool {
        let Some(loss) = self.lost else { return true };
        match self.nginx.restore(loss).await {
            Ok(started) => {
                self.lost = None;
                if started {
                    self.metrics.started();
                    self.ends.journal.restarted();
                    info!("nginx was started again");
                    self.ends.loaded.send_modify(|loaded| loaded.starts += 1);
                } else {
                    info!("nginx has its workers again");
                }
            }
            Err(error) => {
                let what = if self.down() { "does not start" } else { "starts no workers" };
                self.failed(&format!("nginx {what}: {error}")).await;
            }
        }
        self.lost.is_none()
    }
}

#[cfg(test)]
mod tests;
