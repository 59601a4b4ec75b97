//! Metrics: Reloader's by their names, ours with the prefix `narthex_rollout_`.

use prometheus::{IntCounterVec, IntGauge, Opts, Registry};

/// All metrics; a clone counts the same.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    executed: IntCounterVec,
    by_namespace: Option<IntCounterVec>,
    checks: IntCounterVec,
    watched: IntCounterVec,
    webhooks: IntCounterVec,
    /// Workloads whose rollout a failed check holds back.
    pub(crate) held: IntGauge,
    /// 1 while this process rolls out.
    pub(crate) leader: IntGauge,
}

impl Metrics {
    /// New ones. `by_namespace`: also the counter with the label `namespace`.
    pub fn new(by_namespace: bool) -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(name, help), labels).expect("a literal name is legal");
            registry.register(Box::new(counter.clone())).expect("every name is registered once");
            counter
        };
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help).expect("a literal name is legal");
            registry.register(Box::new(gauge.clone())).expect("every name is registered once");
            gauge
        };
        let executed = counter("reloader_reload_executed_total", "Rollouts that were begun, and attempts that failed.", &["success"]);
        let by_namespace = by_namespace.then(|| {
            let help = "Rollouts that were begun, and attempts that failed, by namespace.";
            counter("reloader_reload_executed_total_by_namespace", help, &["success", "namespace"])
        });
        let checks = counter("narthex_rollout_checks_total", "Checks of changed content.", &["result"]);
        let watched =
            counter("narthex_rollout_watched_total", "Rollouts whose first new Pods were watched, by how they ended.", &["result"]);
        let webhooks = counter("narthex_rollout_webhooks_total", "Requests to --webhook-url.", &["success"]);
        for success in ["true", "false"] {
            executed.with_label_values(&[success]);
            webhooks.with_label_values(&[success]);
        }
        for result in ["passed", "failed"] {
            checks.with_label_values(&[result]);
        }
        for result in ["complete", "failed", "unknown"] {
            watched.with_label_values(&[result]);
        }
        let held = gauge("narthex_rollout_held", "Workloads whose rollout a failed check holds back.");
        let leader = gauge("narthex_rollout_leader", "1 while this process rolls out.");
        Self { executed, by_namespace, checks, watched, webhooks, held, leader, registry }
    }

    /// The registry that the metrics port shows.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn executed(&self, success: bool, namespace: &str) {
        let success = if success { "true" } else { "false" };
        self.executed.with_label_values(&[success]).inc();
        if let Some(counter) = &self.by_namespace {
            counter.with_label_values(&[success, namespace]).inc();
        }
    }

    pub(crate) fn checked(&self, passed: bool) {
        self.checks.with_label_values(&[if passed { "passed" } else { "failed" }]).inc();
    }

    pub(crate) fn watched(&self, result: &str) {
        self.watched.with_label_values(&[result]).inc();
    }

    pub(crate) fn webhook(&self, success: bool) {
        self.webhooks.with_label_values(&[if success { "true" } else { "false" }]).inc();
    }
}
