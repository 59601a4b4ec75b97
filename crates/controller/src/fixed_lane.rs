//! The fixed lane: starts NGINX, reloads it as rarely as possible, restarts it when it dies.
//!
//! Leading edge after a quiet time, then spaced by the reload interval. A refused text never replaces the one that serves:
//! the Ingresses behind the part that NGINX points at (or that trying each new part alone finds) are set aside, and the
//! builder makes a model without them.
//!
//! What is asked for waits for its turn as changes do, and shares the reload with those that are pending.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::plan::{Reason, reasons};
use model::{Built, Fixed, ObjectKey};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use crate::ask::Attempt;
use crate::metrics::{Metrics, Stage};
use crate::port::{Applied, ApplyError, Culprit, Nginx, Report};
use crate::{Feedback, LiveStatus, Loaded, Pace};

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);

pub(crate) async fn run<N: Nginx>(
    mut lane: Lane<N>,
    mut built: watch::Receiver<Option<Arc<Built>>>,
    mut asked: watch::Receiver<u64>,
    pace: Pace,
) -> &'static str {
    // When to act on the newest build: nothing to do, or not before this moment.
    let mut due: Option<Instant> = None;
    let mut last = None::<Instant>;
    let mut retry = FIRST_RETRY;
    loop {
        let running = lane.ends.loaded.borrow().starts > 0;
        let soon = |due: Option<Instant>| {
            let now = Instant::now();
            let quiet = if running { now + pace.reload_debounce } else { now };
            let spaced = last.map_or(quiet, |last: Instant| (last + pace.reload_interval).max(quiet));
            // A stream of changes may not put off what is already due.
            due.map_or(spaced, |due| if due > now { due.min(spaced).max(now) } else { due })
        };
        tokio::select! {
            biased;
            () = lane.nginx.exited(), if running => {
                lane.revive().await;
            }
            changed = built.changed() => {
                if changed.is_err() { return "fixed lane" }
                let wanted = built.borrow_and_update().clone();
                let asked = *asked.borrow() > lane.answered;
                due = wanted.filter(|wanted| asked || lane.differs(wanted)).map(|_| soon(due));
            }
            changed = asked.changed() => {
                if changed.is_err() { return "fixed lane" }
                asked.mark_unchanged();
                due = Some(soon(due));
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                // Without a build what is asked for waits for the first one.
                let Some(wanted) = built.borrow().clone() else { continue };
                let first = lane.ends.loaded.borrow().starts == 0;
                // Who asks from now on is answered by another reload.
                let number = *asked.borrow();
                match lane.apply(&wanted, number).await {
                    Outcome::Done => { retry = FIRST_RETRY; if !first { last = Some(Instant::now()) } }
                    Outcome::Nothing | Outcome::SetAside => retry = FIRST_RETRY,
                    // Whoever asks again and again waits as changes do.
                    Outcome::Kept => last = Some(Instant::now()),
                    Outcome::Failed => {
                        due = Some(Instant::now() + retry);
                        retry = (retry * 2).min(LAST_RETRY);
                    }
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// There is nothing to bring NGINX to.
    Nothing,
    /// The builder will come with a model without the offenders.
    SetAside,
    Failed,
    /// What was asked for failed, and nothing else is to be done.
    Kept,
}

/// The lane, and what it remembers.
pub(crate) struct Lane<N> {
    nginx: N,
    ends: Ends,
    report: Arc<dyn Report>,
    metrics: Metrics,
    /// Number of the last attempt.
    runs: u64,
    /// What was asked for up to this number has its answer.
    answered: u64,
    /// Who was set aside since the last answer.
    set_aside: Vec<String>,
}

/// The channels of the lane.
pub(crate) struct Ends {
    pub(crate) live: watch::Receiver<LiveStatus>,
    pub(crate) loaded: watch::Sender<Loaded>,
    pub(crate) feedback: mpsc::Sender<Feedback>,
    pub(crate) attempts: watch::Sender<Option<Arc<Attempt>>>,
}

impl<N: Nginx> Lane<N> {
    pub(crate) fn new(nginx: N, ends: Ends, report: Arc<dyn Report>, metrics: Metrics) -> Self {
        Self { nginx, ends, report, metrics, runs: 0, answered: 0, set_aside: Vec::new() }
    }

    fn differs(&self, wanted: &Built) -> bool {
        let loaded = self.ends.loaded.borrow();
        loaded.starts == 0 || !reasons(&loaded.fixed, &pinned(&wanted.model.fixed, &loaded.fixed)).is_empty()
    }

    /// `number`: what was asked for up to there is answered by it.
    async fn apply(&mut self, wanted: &Arc<Built>, number: u64) -> Outcome {
        let running = self.ends.loaded.borrow().clone();
        let fixed = if running.starts == 0 { wanted.model.fixed.clone() } else { pinned(&wanted.model.fixed, &running.fixed) };
        let mut reasons = if running.starts == 0 { vec![Reason::Start] } else { reasons(&running.fixed, &fixed) };
        let (differs, asked) = (!reasons.is_empty(), number > self.answered);
        if asked {
            reasons.push(Reason::Asked);
        } else if !differs {
            return Outcome::Nothing;
        }
        let fixed = self.with_held_profiles(&fixed, &running.fixed);
        let labels: Vec<&'static str> = reasons.iter().map(Reason::label).collect::<BTreeSet<_>>().into_iter().collect();
        let words: Vec<String> = reasons.iter().map(|reason| reason.explain(&wanted.behind(reason))).collect();
        let started = Instant::now();
        let applied = if asked { self.nginx.reload(&fixed).await } else { self.nginx.apply(&fixed).await };
        let result = applied.as_ref().map(|applied| applied.revision.clone()).map_err(Clone::clone);
        let outcome = match applied {
            Ok(applied) => {
                self.confirmed(&applied, &labels, &words.join("; "), started.elapsed());
                let profiles = fixed.profiles.keys().cloned().collect();
                let starts = running.starts + u64::from(applied.started || running.starts == 0);
                self.ends.loaded.send_replace(Loaded { starts, revision: applied.revision, profiles, fixed });
                let _ = self.ends.feedback.send(Feedback::Confirmed(wanted.clone())).await;
                Outcome::Done
            }
            Err(error) => {
                self.metrics.reload_failed(&labels);
                self.report.reload(Err(&error.to_string()));
                if differs {
                    self.blame(&fixed, &running.fixed, wanted, error).await
                } else {
                    // It runs this text: nobody's Ingress is at fault, and whoever asked may ask again.
                    error!(%error, "a reload that was asked for failed; nginx goes on with what it had");
                    Outcome::Kept
                }
            }
        };
        self.tell(labels, result, started.elapsed(), (outcome != Outcome::SetAside).then_some(number));
        outcome
    }

    /// Counts and tells of what NGINX confirmed.
    fn confirmed(&self, applied: &Applied, labels: &[&'static str], words: &str, took: Duration) {
        self.metrics.stage(Stage::Reload, took);
        let revision = &applied.revision;
        if applied.started {
            self.metrics.started();
            self.metrics.running(revision);
            info!(revision, seconds = took.as_secs_f64(), "nginx started");
        } else if applied.unchanged {
            self.metrics.running(revision);
            info!(revision, "nginx runs this configuration already");
        } else {
            self.metrics.reloaded(labels, revision);
            info!(revision, reasons = words, seconds = applied.duration.as_secs_f64(), "Backend successfully reloaded");
            self.report.reload(Ok(words));
        }
    }

    /// Ends an attempt; `answers`: it is the answer to all that was asked for up to this number.
    fn tell(&mut self, reasons: Vec<&'static str>, result: Result<String, ApplyError>, took: Duration, answers: Option<u64>) {
        self.runs += 1;
        self.answered = answers.unwrap_or(self.answered);
        let set_aside = if answers.is_some() { std::mem::take(&mut self.set_aside) } else { self.set_aside.clone() };
        let serving = self.ends.loaded.borrow().revision.clone();
        let (run, answers, finished) = (self.runs, self.answered, SystemTime::now());
        self.ends.attempts.send_replace(Some(Arc::new(Attempt { run, answers, reasons, result, serving, set_aside, took, finished })));
    }

    /// What holds while a configuration is not applied.
    fn instead(&self) -> &'static str {
        if self.nginx.runs() { "the last known good configuration stays active" } else { "nginx does not run, so nothing is served yet" }
    }

    /// Finds the Ingresses behind a refusal and has them set aside.
    async fn blame(&mut self, fixed: &Fixed, running: &Fixed, wanted: &Built, error: ApplyError) -> Outcome {
        let ApplyError::Refused { message, culprit } = error else {
            error!(%error, "the configuration is not applied: {}; it is tried again", self.instead());
            return Outcome::Failed;
        };
        let mut found: Vec<(ObjectKey, String)> = Vec::new();
        match culprit {
            Some(culprit) => found.extend(users(wanted, &culprit).into_iter().map(|user| (user, message.clone()))),
            None => {
                for (culprit, alone) in each_alone(fixed, running) {
                    if let Err(ApplyError::Refused { message, .. }) = self.nginx.test(&alone).await {
                        found.extend(users(wanted, &culprit).into_iter().map(|user| (user, message.clone())));
                    }
                }
            }
        }
        if found.is_empty() {
            error!(message, "nginx refuses the configuration and no object is found at fault: {}", self.instead());
            return Outcome::Failed;
        }
        for (ingress, message) in found {
            warn!(%ingress, message, "nginx refuses what this Ingress asks for; it is set aside");
            self.set_aside.push(format!("Ingress {ingress} is set aside: {message}"));
            let _ = self.ends.feedback.send(Feedback::SetAside(vec![ingress], message)).await;
        }
        Outcome::SetAside
    }

    /// Keeps profiles that NGINX's present records still use, for hosts whose new records wait for this reload.
    fn with_held_profiles(&self, wanted: &Fixed, running: &Fixed) -> Fixed {
        let mut fixed = wanted.clone();
        for id in &self.ends.live.borrow().held_profiles {
            if let (None, Some(profile)) = (fixed.profiles.get(id), running.profiles.get(id)) {
                fixed.profiles.insert(id.clone(), profile.clone());
            }
        }
        fixed
    }

    /// The master is gone: starts it again with what it ran, at once, and as often as it takes.
    async fn revive(&mut self) {
        error!("the nginx master ended; it is started again with its last good configuration");
        let mut retry = Duration::from_millis(50);
        while let Err(error) = self.nginx.restart().await {
            error!(%error, retry_in = ?retry, "nginx does not start");
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(LAST_RETRY);
        }
        self.metrics.started();
        self.ends.loaded.send_modify(|loaded| loaded.starts += 1);
    }
}

/// The wanted text with what can't change during the life of a master: a shared dictionary of another size would be a new,
/// empty one for new workers, while old workers went on with the old one and missed every update.
fn pinned(wanted: &Fixed, running: &Fixed) -> Fixed {
    let sizes = &running.globals.config.lua_shared_dicts;
    if wanted.globals.config.lua_shared_dicts == *sizes {
        return wanted.clone();
    }
    let mut globals = (*wanted.globals).clone();
    globals.config.lua_shared_dicts = sizes.clone();
    Fixed { globals: Arc::new(globals), ..wanted.clone() }
}

fn users(wanted: &Built, culprit: &Culprit) -> Vec<ObjectKey> {
    match culprit {
        Culprit::Profile(id) => wanted.users_of_profile(id),
        Culprit::Shell(host) => wanted.users_of_shell(host),
        Culprit::Stream(ingress) => vec![ingress.clone()],
    }
}

/// What runs plus one new part, for each new part.
fn each_alone(wanted: &Fixed, running: &Fixed) -> Vec<(Culprit, Fixed)> {
    // Without a running text there is nothing to add to: the wanted globals alone must do.
    let base = if running.profiles.is_empty() { Fixed { globals: wanted.globals.clone(), ..Fixed::default() } } else { running.clone() };
    let profiles = wanted.profiles.iter().filter(|(id, profile)| base.profiles.get(*id) != Some(*profile)).map(|(id, profile)| {
        let mut alone = base.clone();
        alone.profiles.insert(id.clone(), profile.clone());
        (Culprit::Profile(id.clone()), alone)
    });
    let shells = wanted.shells.iter().filter(|(host, shell)| base.shells.get(*host) != Some(*shell)).map(|(host, shell)| {
        let mut alone = base.clone();
        alone.shells.insert(host.clone(), shell.clone());
        (Culprit::Shell(host.clone()), alone)
    });
    let streams = wanted.streams.iter().filter(|stream| !base.streams.contains(stream)).map(|stream| {
        let mut alone = base.clone();
        alone.streams.push(stream.clone());
        (Culprit::Stream(stream.0.clone()), alone)
    });
    profiles.chain(shells).chain(streams).collect()
}
