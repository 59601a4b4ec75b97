//! Prometheus metrics, `narthex_watch_*`.

use prometheus::{Histogram, HistogramOpts, IntCounterVec, IntGauge, Opts, Registry};

use crate::report::{ReloadOutcome, ReloadReport};

/// The metrics of the cycle.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    runs: IntCounterVec,
    triggers: IntCounterVec,
    good: IntGauge,
    applied_at: IntGauge,
    duration: Histogram,
    waiting: IntGauge,
}

/// A request that waits; it is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting(IntGauge);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Upper bounds of the buckets, in seconds: a test takes tens of milliseconds, a large configuration seconds.
const BUCKETS: [f64; 9] = [0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers all of them; every result and trigger is there from the beginning, as 0.
    ///
    /// # Panics
    /// Never: the names are constant and valid.
    pub fn new() -> Self {
        let registry = Registry::new();
        let valid = "constant names are valid";
        let vector = |name: &str, help: &str, label: &str| IntCounterVec::new(Opts::new(name, help), &[label]).expect(valid);
        let runs = vector("narthex_watch_runs_total", "Runs that did something or failed in a new way, by result", "result");
        let triggers = vector("narthex_watch_triggers_total", "What asked for a run", "trigger");
        let good = IntGauge::new("narthex_watch_config_good", "1 if NGINX runs what stands there, 0 if it was refused").expect(valid);
        let applied_at =
            IntGauge::new("narthex_watch_last_applied_timestamp_seconds", "When NGINX last took over a configuration").expect(valid);
        let options = HistogramOpts::new("narthex_watch_run_duration_seconds", "From the beginning of a run to confirmed new workers")
            .buckets(BUCKETS.to_vec());
        let duration = Histogram::with_opts(options).expect(valid);
        let waiting = IntGauge::new("narthex_watch_waiting_requests", "Requests that wait for a run").expect(valid);
        for outcome in ReloadOutcome::ALL {
            runs.with_label_values(&[outcome.label()]);
        }
        registry.register(Box::new(runs.clone())).expect(valid);
        registry.register(Box::new(triggers.clone())).expect(valid);
        registry.register(Box::new(good.clone())).expect(valid);
        registry.register(Box::new(applied_at.clone())).expect(valid);
        registry.register(Box::new(duration.clone())).expect(valid);
        registry.register(Box::new(waiting.clone())).expect(valid);
        Self { registry, runs, triggers, good, applied_at, duration, waiting }
    }

    /// The registry to show.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Counts a request that waits for a run.
    pub(crate) fn wait(&self) -> Waiting {
        self.waiting.inc();
        Waiting(self.waiting.clone())
    }

    /// Counts a run.
    pub(crate) fn note(&self, report: &ReloadReport, is_new: bool) {
        for trigger in &report.triggers {
            self.triggers.with_label_values(&[*trigger]).inc();
        }
        self.good.set(i64::from(report.result.is_good()));
        if is_new {
            self.runs.with_label_values(&[report.result.label()]).inc();
        }
        if report.result == ReloadOutcome::Applied {
            self.applied_at.set(jiff::Timestamp::now().as_second());
            self.duration.observe(std::time::Duration::from_millis(report.duration_ms).as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_by_result() {
        let metrics = Metrics::new();
        metrics.note(&ReloadReport { triggers: vec!["files"], ..ReloadReport::new(1, ReloadOutcome::Applied) }, true);
        metrics.note(&ReloadReport::new(2, ReloadOutcome::Unchanged), false);
        metrics.note(&ReloadReport::new(3, ReloadOutcome::Rejected), true);
        assert_eq!(metrics.runs.with_label_values(&["applied"]).get(), 1);
        assert_eq!(metrics.runs.with_label_values(&["unchanged"]).get(), 0);
        assert_eq!(metrics.triggers.with_label_values(&["files"]).get(), 1);
        assert_eq!(metrics.good.get(), 0);
        assert_eq!(metrics.registry().gather().len(), 6);
    }
}
