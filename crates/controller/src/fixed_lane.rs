//! The fixed lane: starts NGINX, reloads it as rarely as possible, restarts it when it dies.
//!
//! Leading edge after a quiet time, then spaced by the reload interval. A refused text never replaces the one that serves:
//! the Ingresses behind the part that NGINX points at (or that trying each new part alone finds) are set aside, and the
//! builder makes a model without them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use model::plan::{Reason, reasons};
use model::{Built, Fixed, ObjectKey};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use crate::metrics::{Metrics, Stage};
use crate::port::{ApplyError, Culprit, Nginx, Report};
use crate::{Feedback, LiveStatus, Loaded, Pace};

const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(30);

pub(crate) async fn run<N: Nginx>(mut lane: Lane<N>, mut built: watch::Receiver<Option<Arc<Built>>>, pace: Pace) -> &'static str {
    // When to act on the newest build: nothing to do, or not before this moment.
    let mut due: Option<Instant> = None;
    let mut last = None::<Instant>;
    let mut retry = FIRST_RETRY;
    loop {
        let running = lane.loaded.borrow().starts > 0;
        tokio::select! {
            biased;
            () = lane.nginx.exited(), if running => {
                lane.revive().await;
            }
            changed = built.changed() => {
                if changed.is_err() { return "fixed lane" }
                let wanted = built.borrow_and_update().clone();
                due = wanted.filter(|wanted| lane.differs(wanted)).map(|_| {
                    let now = Instant::now();
                    let quiet = if running { now + pace.reload_debounce } else { now };
                    let spaced = last.map_or(quiet, |last: Instant| (last + pace.reload_interval).max(quiet));
                    // A stream of changes may not put off what is already due.
                    due.map_or(spaced, |due| if due > now { due.min(spaced).max(now) } else { due })
                });
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                let Some(wanted) = built.borrow().clone() else { continue };
                let first = lane.loaded.borrow().starts == 0;
                match lane.apply(&wanted).await {
                    Outcome::Done => { retry = FIRST_RETRY; if !first { last = Some(Instant::now()) } }
                    Outcome::Nothing | Outcome::SetAside => retry = FIRST_RETRY,
                    Outcome::Failed => {
                        due = Some(Instant::now() + retry);
                        retry = (retry * 2).min(LAST_RETRY);
                    }
                }
            }
        }
    }
}

enum Outcome {
    Done,
    Nothing,
    /// The builder will come with a model without the offenders.
    SetAside,
    Failed,
}

/// The lane's ends.
pub(crate) struct Lane<N> {
    pub(crate) nginx: N,
    pub(crate) live: watch::Receiver<LiveStatus>,
    pub(crate) loaded: watch::Sender<Loaded>,
    pub(crate) feedback: mpsc::Sender<Feedback>,
    pub(crate) report: Arc<dyn Report>,
    pub(crate) metrics: Metrics,
}

impl<N: Nginx> Lane<N> {
    fn differs(&self, wanted: &Built) -> bool {
        let loaded = self.loaded.borrow();
        loaded.starts == 0 || !reasons(&loaded.fixed, &pinned(&wanted.model.fixed, &loaded.fixed)).is_empty()
    }

    async fn apply(&mut self, wanted: &Arc<Built>) -> Outcome {
        let running = self.loaded.borrow().clone();
        let fixed = if running.starts == 0 { wanted.model.fixed.clone() } else { pinned(&wanted.model.fixed, &running.fixed) };
        let reasons = if running.starts == 0 { vec![Reason::Start] } else { reasons(&running.fixed, &fixed) };
        if reasons.is_empty() {
            return Outcome::Nothing;
        }
        let fixed = self.with_held_profiles(&fixed, &running.fixed);
        let labels: Vec<&'static str> = reasons.iter().map(Reason::label).collect::<BTreeSet<_>>().into_iter().collect();
        let words: Vec<String> = reasons.iter().map(|reason| explain(reason, wanted)).collect();
        let started = Instant::now();
        match self.nginx.apply(&fixed).await {
            Ok(applied) => {
                self.metrics.stage(Stage::Reload, started.elapsed());
                if applied.started {
                    self.metrics.started();
                    self.metrics.running(&applied.revision);
                    info!(revision = applied.revision, seconds = started.elapsed().as_secs_f64(), "nginx started");
                } else if applied.unchanged {
                    self.metrics.running(&applied.revision);
                    info!(revision = applied.revision, "nginx runs this configuration already");
                } else {
                    self.metrics.reloaded(&labels, &applied.revision);
                    info!(
                        revision = applied.revision,
                        reasons = words.join("; "),
                        seconds = applied.duration.as_secs_f64(),
                        "Backend successfully reloaded"
                    );
                    self.report.reload(Ok(&words.join("; ")));
                }
                let profiles = fixed.profiles.keys().cloned().collect();
                let starts = running.starts + u64::from(applied.started || running.starts == 0);
                self.loaded.send_replace(Loaded { starts, revision: applied.revision, profiles, fixed });
                let _ = self.feedback.send(Feedback::Confirmed(wanted.clone())).await;
                Outcome::Done
            }
            Err(error) => {
                self.metrics.reload_failed(&labels);
                self.report.reload(Err(&error.to_string()));
                self.blame(&fixed, &running.fixed, wanted, error).await
            }
        }
    }

    /// Finds the Ingresses behind a refusal and has them set aside.
    async fn blame(&mut self, fixed: &Fixed, running: &Fixed, wanted: &Built, error: ApplyError) -> Outcome {
        let ApplyError::Refused { message, culprit } = error else {
            error!(%error, "nginx keeps its old configuration; it is tried again");
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
            error!(message, "nginx refuses the configuration and no object is found at fault; the old configuration goes on");
            return Outcome::Failed;
        }
        for (ingress, message) in found {
            warn!(%ingress, message, "nginx refuses what this Ingress asks for; it is set aside");
            let _ = self.feedback.send(Feedback::SetAside(vec![ingress], message)).await;
        }
        Outcome::SetAside
    }

    /// Keeps profiles that NGINX's present records still use, for hosts whose new records wait for this reload.
    fn with_held_profiles(&self, wanted: &Fixed, running: &Fixed) -> Fixed {
        let mut fixed = wanted.clone();
        for id in &self.live.borrow().held_profiles {
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
        self.loaded.send_modify(|loaded| loaded.starts += 1);
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

/// A reason with the Ingress that is behind it.
fn explain(reason: &Reason, wanted: &Built) -> String {
    let who = match reason {
        Reason::ProfileAdded(id, _) => wanted.users_of_profile(id),
        Reason::Shell(host) => wanted.users_of_shell(host),
        Reason::Stream(ingress) => ingress.iter().cloned().collect(),
        Reason::Start | Reason::Globals(_) | Reason::Literal(_) => Vec::new(),
    };
    match (reason, who.as_slice()) {
        (Reason::ProfileAdded(_, what), [first, ..]) => format!("{first} is the first to use {what}"),
        (_, [first, ..]) => format!("{reason} ({first})"),
        _ => reason.to_string(),
    }
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
