//! The builder task: newest snapshot in, newest build out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use model::snapshot::{Issuers, Staples};
use model::{Builder, Built, ObjectKey, ObjectRef, Problem, Refusal, Snapshot};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use crate::Feedback;
use crate::arrivals::Arrivals;
use crate::fixed_lane::Subject;
use crate::journal::Journal;
use crate::metrics::{Metrics, Stage};
use crate::port::Reporter;

const HOUR: Duration = Duration::from_secs(3600);

/// The hour that it is, in seconds since 1970: builds within one come to the same.
fn this_hour() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(since - since % HOUR.as_secs()).unwrap_or(i64::MAX)
}

/// The events that wake the builder.
pub(crate) struct Inputs {
    pub(crate) snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// The OCSP responses that are there; they are part of each snapshot.
    pub(crate) staples: watch::Receiver<Staples>,
    /// What certificate chains lack; that is a part as well.
    pub(crate) issuers: watch::Receiver<Issuers>,
    pub(crate) feedback: mpsc::Receiver<Feedback>,
    /// Numbers of reloads that are asked for.
    pub(crate) asked: watch::Receiver<u64>,
}

/// The result of a build.
pub(crate) struct Outputs {
    pub(crate) built: watch::Sender<Option<Arc<Built>>>,
    /// When what it was made of came in.
    pub(crate) arrivals: Arrivals,
    /// The numbers, once what was there before they were given out is built.
    pub(crate) passed: watch::Sender<u64>,
    /// The builder as it was after the newest build, where reviews are wanted.
    pub(crate) reviewer: Option<watch::Sender<Option<Arc<Builder>>>>,
    pub(crate) journal: Journal,
}

pub(crate) async fn run(
    mut builder: Builder,
    inputs: Inputs,
    Outputs { built, arrivals, passed, reviewer, journal }: Outputs,
    report: Arc<dyn Reporter>,
    metrics: Metrics,
) -> &'static str {
    let Inputs { mut snapshots, mut staples, mut issuers, mut feedback, mut asked } = inputs;
    // Certificates end although nothing changes.
    let mut hours = tokio::time::interval_at(tokio::time::Instant::now() + HOUR, HOUR);
    hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = BTreeSet::new();
    let mut served = Vec::new();
    let mut before: Option<Snapshot> = None;
    loop {
        let mut number = None;
        tokio::select! {
            Ok(()) = asked.changed() => number = Some(*asked.borrow_and_update()),
            changed = snapshots.changed() => if changed.is_err() { return "builder" },
            _ = hours.tick() => {},
            // Without a sender there are none.
            Ok(()) = staples.changed() => {},
            Ok(()) = issuers.changed() => {},
            message = feedback.recv() => match message {
                None => return "builder",
                Some(Feedback::Confirmed(confirmed)) => { builder.confirmed(&confirmed); continue }
                Some(Feedback::Quarantine(refused, subjects)) => for (subject, reason) in subjects {
                    match subject {
                        Subject::Ingress(ingress) => builder.quarantine(&ingress, &reason, &refused),
                        Subject::Setting(key, value) => builder.refuse_key(&key, value, Refusal::Found(reason.into())),
                        Subject::Certificate { id, .. } => builder.refuse_certificate(&id, &reason),
                    }
                },
                Some(Feedback::Closed(ports)) => builder.closed_ports(ports),
                Some(Feedback::Release(subjects)) => for subject in subjects {
                    match subject {
                        Subject::Ingress(ingress) => builder.release(&ingress),
                        Subject::Setting(key, _) => builder.release_key(&key),
                        Subject::Certificate { id, .. } => builder.release_certificate(&id),
                    }
                },
                Some(Feedback::Suspend(keys, reason)) => {
                    let reason: Arc<str> = reason.into();
                    for (key, value) in keys {
                        builder.refuse_key(&key, value, Refusal::Suspected(reason.clone()));
                    }
                },
            },
        }
        let seen = tokio::time::Instant::now();
        let newest = snapshots.borrow_and_update().clone();
        if let Some(snapshot) = newest {
            let (staples, issuers) = (staples.borrow_and_update().clone(), issuers.borrow_and_update().clone());
            let snapshot = Snapshot { time: Some(this_hour()), staples, issuers, ..(*snapshot).clone() };
            journal.changed(before.as_ref(), &snapshot);
            let started = Instant::now();
            let result = builder.build(&snapshot);
            metrics.stage(Stage::Build, started.elapsed());
            tell(&result, &snapshot, &mut known, &mut served, &*report, &metrics, &journal);
            before = Some(snapshot);
            let result = Arc::new(result);
            arrivals.add(&result, seen);
            built.send_replace(Some(result));
            if let Some(reviewer) = &reviewer {
                // It shares everything with the next one; what that changes is copied then.
                reviewer.send_replace(Some(Arc::new(builder.clone())));
            }
        }
        if let Some(number) = number {
            passed.send_replace(number);
        }
    }
}

/// The subject of a problem, whatever its text.
fn identity(problem: &Problem) -> (&ObjectRef, &str, &'static str) {
    (&problem.object, &problem.field, problem.kind.label())
}

/// The problems that are gone. Those that have another text now are not.
fn ended<'a>(known: &'a BTreeSet<Problem>, present: &BTreeSet<Problem>) -> Vec<&'a Problem> {
    let present: BTreeSet<_> = present.iter().map(identity).collect();
    known.iter().filter(|problem| !present.contains(&identity(problem))).collect()
}

/// Reports findings and served Ingresses when they changed.
fn tell(
    built: &Built,
    snapshot: &Snapshot,
    known: &mut BTreeSet<Problem>,
    served: &mut Vec<ObjectKey>,
    report: &dyn Reporter,
    metrics: &Metrics,
    journal: &Journal,
) {
    let problems: BTreeSet<Problem> = snapshot.problems.iter().cloned().chain(built.problems()).collect();
    if problems != *known {
        let (new, gone): (Vec<&Problem>, Vec<&Problem>) = (problems.difference(known).collect(), ended(known, &problems));
        journal.problems(&new, &gone);
        for problem in new {
            warn!(object = %problem.object, field = problem.field, kind = problem.kind.label(), "{}", problem.detail);
        }
        for problem in gone {
            info!(object = %problem.object, field = problem.field, kind = problem.kind.label(), "no longer a problem");
        }
        metrics.problems(&problems);
        report.problems(&problems.iter().cloned().collect::<Vec<_>>());
        *known = problems;
    }
    metrics.usage(&built.usage);
    if !built.ingresses().eq(served.iter()) {
        *served = built.ingresses().cloned().collect();
        metrics.ingresses(served.len());
        report.served(served.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_with_another_text_has_not_ended() {
        let problem = |field: &str, detail: &str| Problem {
            object: ObjectRef::ingress(&ObjectKey::new("shop", "web")),
            field: field.into(),
            kind: model::ProblemKind::InvalidValue,
            detail: detail.into(),
        };
        let known = BTreeSet::from([problem("a", "needs 38 MiB"), problem("b", "is empty")]);
        let present = BTreeSet::from([problem("a", "needs 39 MiB")]);
        assert_eq!(ended(&known, &present), [&problem("b", "is empty")]);
    }
}
