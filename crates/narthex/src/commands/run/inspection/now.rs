//! The present state in figures.

use std::collections::BTreeMap;
use std::sync::Arc;

use inspect::{Check, CheckState, Counts, LiveProgress, Now, ReloadProgress, Reloads, RunningRevision, State};
use model::plan::reasons;
use model::{Fixed, Globals};
use ops::{Finding, ReadinessCheck};
use prometheus::proto::MetricFamily;

use super::{Inspection, LeaseView};
use crate::commands::version;

/// Reasons for a reload that are named.
const NAMED: usize = 10;

impl Inspection {
    pub(super) fn now(&self, state: &State<'_>, running: &str) -> Now {
        let build = version::build();
        let pending = pending(state);
        let status = self.handle.live.borrow().clone();
        let lease = self.lease.as_ref().map(LeaseView::show);
        let is_wanted = pending.is_empty() && state.running.is_some();
        Now {
            version: build.version,
            commit: build.commit,
            pod: self.identity.pod.clone(),
            namespace: self.identity.namespace.clone(),
            class: self.identity.class.clone(),
            started: self.started,
            now: state.time,
            nginx: self.nginx.clone(),
            source: self.source,
            ready: self.handle.ready(),
            revision: RunningRevision { running: running.to_owned(), wanted: is_wanted.then(|| running.to_owned()) },
            counts: Counts::of(state.built, state.problems()),
            live: LiveProgress {
                records: state.built.model.live.len(),
                held_hosts: status.held(),
                without_room: status.without_room(),
                error: self.journal.live_error(),
            },
            reload: ReloadProgress { waits: self.handle.fault.borrow().clone(), pending, last: self.journal.last_reload() },
            reloads: self.reloads(),
            time_to_effect: self.journal.time_to_effect(),
            leader: lease.as_ref().map(|lease| lease.leads),
            lease,
            checks: self.readiness.0.iter().map(check).collect(),
        }
    }

    /// As the metrics count them.
    fn reloads(&self) -> Reloads {
        let families = self.metrics.registry().gather();
        let of = |name: &str| families.iter().find(|family| family.name() == name);
        let of_reloads =
            |result: &str| of("narthex_reloads_total").map(|family| sums(family, "reason", Some(("result", result)))).unwrap_or_default();
        Reloads {
            done: of_reloads("success"),
            failed: of_reloads("failure"),
            avoided: of("narthex_reloads_avoided_total").map(|family| sums(family, "change", None)).unwrap_or_default(),
            mean_seconds: self.journal.mean_reload(),
        }
    }
}

fn check(check: &ReadinessCheck) -> Check {
    let (state, reason) = match (check.run)() {
        Finding::Sound => (CheckState::Sound, String::new()),
        Finding::Degraded(reason) => (CheckState::Degraded, reason),
        Finding::Failed(reason) => (CheckState::Failed, reason),
    };
    Check { name: check.name.to_owned(), state, reason }
}

/// Why there will be a reload, in words. Where dictionaries lie is the lane's business, and no reason.
fn pending(state: &State<'_>) -> Vec<String> {
    let Some(running) = state.running else { return Vec::new() };
    let wanted = &state.built.model.fixed;
    let globals = Globals { places: running.globals.places.clone(), ..(*wanted.globals).clone() };
    let wanted = Fixed { globals: Arc::new(globals), ..wanted.clone() };
    let reasons = reasons(running, &wanted);
    reasons.iter().take(NAMED).map(|reason| reason.explain(&state.built.behind(reason))).collect()
}

/// The values of a family by one label, of those with another one.
fn sums(family: &MetricFamily, label: &str, with: Option<(&str, &str)>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for metric in family.get_metric() {
        let value = |name: &str| metric.get_label().iter().find(|label| label.name() == name).map(|label| label.value());
        if with.is_none_or(|(name, wanted)| value(name) == Some(wanted)) {
            *sums.entry(value(label).unwrap_or_default().to_owned()).or_default() += metric.get_counter().get_value() as u64;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use prometheus::core::Collector;
    use prometheus::{IntCounterVec, Opts};

    use super::*;

    #[test]
    fn values_are_summed_up_over_the_other_labels() {
        let family = IntCounterVec::new(Opts::new("x", "Help."), &["namespace", "reason", "result"]).unwrap();
        for (labels, value) in [(["a", "profile", "success"], 1), (["b", "profile", "success"], 2), (["b", "profile", "failure"], 4)] {
            family.with_label_values(&labels).inc_by(value);
        }
        let family = &family.collect()[0];
        assert_eq!(sums(family, "reason", Some(("result", "success"))), [("profile".to_owned(), 3)].into());
        assert_eq!(sums(family, "namespace", None), [("a".to_owned(), 1), ("b".to_owned(), 6)].into());
    }
}
