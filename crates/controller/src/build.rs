//! The builder task: newest snapshot in, newest build out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use model::{Builder, Built, ObjectKey, Problem, Snapshot};
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

use crate::Feedback;
use crate::metrics::{Metrics, Stage};
use crate::port::Report;

pub(crate) async fn run(
    mut builder: Builder,
    mut snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    mut feedback: mpsc::Receiver<Feedback>,
    built: watch::Sender<Option<Arc<Built>>>,
    report: Arc<dyn Report>,
    metrics: Metrics,
) -> &'static str {
    let mut known = BTreeSet::new();
    let mut served = Vec::new();
    loop {
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return "builder" },
            message = feedback.recv() => match message {
                None => return "builder",
                Some(Feedback::Confirmed(confirmed)) => { builder.confirmed(&confirmed); continue }
                Some(Feedback::SetAside(ingresses, reason)) => for ingress in &ingresses {
                    builder.set_aside(ingress, &reason);
                },
            },
        }
        let Some(snapshot) = snapshots.borrow_and_update().clone() else { continue };
        let started = Instant::now();
        let result = builder.build(&snapshot);
        metrics.stage(Stage::Build, started.elapsed());
        tell(&result, &snapshot, &mut known, &mut served, &*report, &metrics);
        built.send_replace(Some(Arc::new(result)));
    }
}

/// Reports findings and served Ingresses when they changed.
fn tell(
    built: &Built,
    snapshot: &Snapshot,
    known: &mut BTreeSet<Problem>,
    served: &mut Vec<ObjectKey>,
    report: &dyn Report,
    metrics: &Metrics,
) {
    let problems: BTreeSet<Problem> = snapshot.problems.iter().cloned().chain(built.problems()).collect();
    if problems != *known {
        for problem in problems.difference(known) {
            warn!(object = %problem.object, field = problem.field, kind = problem.kind.label(), "{}", problem.detail);
        }
        for problem in known.difference(&problems) {
            info!(object = %problem.object, field = problem.field, kind = problem.kind.label(), "no longer a problem");
        }
        metrics.problems(&problems);
        report.problems(&problems.iter().cloned().collect::<Vec<_>>());
        *known = problems;
    }
    if !built.ingresses().eq(served.iter()) {
        *served = built.ingresses().cloned().collect();
        metrics.ingresses(served.len());
        report.served(served.clone());
    }
}
