//! The controller's metrics. `nginx_ingress_controller_*` are the predecessor's, with its constant labels; `narthex_*` are ours.

mod namespaces;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::{Problem, ProblemKind, Resource, Table, Usage, Weight};
use prometheus::core::{AtomicU64, Collector, GenericCounterVec};
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
};

use crate::LiveStatus;
use namespaces::Namespaces;

/// Constant labels of the predecessor's metrics.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// `POD_NAMESPACE`.
    pub namespace: String,
    /// `--controller-class`.
    pub class: String,
    /// `POD_NAME`.
    pub pod: String,
}

/// Where this program comes from.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// Its version.
    pub version: String,
    /// The commit that it was built from; empty where it is not known.
    pub commit: String,
    /// Its repository.
    pub repository: String,
}

/// Parts of the way from an event to its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Snapshot to model.
    Build,
    /// Difference of two models.
    Plan,
    /// Posting records until confirmed.
    Live,
    /// Rendering, testing, reloading and confirming.
    Reload,
}

impl Stage {
    const fn label(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Plan => "plan",
            Self::Live => "live",
            Self::Reload => "reload",
        }
    }
}

/// A way for a change to NGINX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As records.
    Live,
    /// As text.
    Reload,
}

impl Way {
    const fn label(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Reload => "reload",
        }
    }
}

/// Upper bounds of the histograms of what takes between a tenth of a millisecond and ten seconds.
const SECONDS: [f64; 16] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Handles on all metrics. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    registry: Registry,
    namespaces: Namespaces,
    reloads: IntCounterVec,
    reload_seconds: Histogram,
    avoided: IntCounterVec,
    time_to_effect: HistogramVec,
    live_updates: IntCounterVec,
    live_posts: IntCounterVec,
    live_posted_bytes: IntCounter,
    stage_seconds: HistogramVec,
    problems: IntGaugeVec,
    ingresses: IntGauge,
    held_hosts: IntGauge,
    reload_waits: IntGauge,
    without_room: IntGauge,
    budget_used: IntGaugeVec,
    budget: IntGaugeVec,
    nginx_starts: IntCounter,
    last_success: Gauge,
    revision: IntGaugeVec,
    config_hash: Gauge,
    reload_successful: IntGauge,
    reload_timestamp: Gauge,
    success: GenericCounterVec<AtomicU64>,
    errors: GenericCounterVec<AtomicU64>,
    build_info: GaugeVec,
}

impl Metrics {
    /// Registers everything in a registry of its own.
    pub fn new(identity: &Identity, build: &Build) -> Self {
        let compat = |name: &str, help: &str| {
            Opts::new(format!("nginx_ingress_controller_{name}"), help)
                .const_label("controller_namespace", &identity.namespace)
                .const_label("controller_class", &identity.class)
                .const_label("controller_pod", &identity.pod)
        };
        let ours = |name: &str, help: &str| Opts::new(format!("narthex_{name}"), help);
        let valid = "metric names and labels are literals";
        let metrics = Self {
            registry: Registry::new(),
            namespaces: Namespaces::default(),
            reloads: IntCounterVec::new(
                ours("reloads_total", "Reloads of NGINX by reason, result and namespace."),
                &["namespace", "reason", "result"],
            )
            .expect(valid),
            reload_seconds: Histogram::with_opts(
                HistogramOpts::from(ours("reload_seconds", "Seconds that each confirmed reload took: test, signal, confirmation."))
                    .buckets(SECONDS.to_vec()),
            )
            .expect(valid),
            avoided: IntCounterVec::new(
                ours("reloads_avoided_total", "Live updates for which NGINX alone would need a reload, by change and namespace."),
                &["change", "namespace"],
            )
            .expect(valid),
            time_to_effect: HistogramVec::new(
                HistogramOpts::from(ours("time_to_effect_seconds", "Seconds from seeing a change to the confirmation of NGINX, by lane."))
                    .buckets(SECONDS.into_iter().chain([30.0, 60.0]).collect()),
                &["lane"],
            )
            .expect(valid),
            live_posts: IntCounterVec::new(ours("live_posts_total", "Posts of records to NGINX by result."), &["result"]).expect(valid),
            live_posted_bytes: IntCounter::with_opts(ours("live_posted_bytes_total", "Bytes of records that were posted to NGINX."))
                .expect(valid),
            live_updates: IntCounterVec::new(
                ours("live_updates_total", "Records posted to NGINX by kind and result."),
                &["kind", "result"],
            )
            .expect(valid),
            stage_seconds: HistogramVec::new(
                HistogramOpts::from(ours("stage_seconds", "Seconds spent in each stage from an event to its effect."))
                    .buckets(SECONDS.to_vec()),
                &["stage"],
            )
            .expect(valid),
            problems: IntGaugeVec::new(ours("problems", "Present findings by kind."), &["kind"]).expect(valid),
            ingresses: IntGauge::with_opts(ours("ingresses", "Ingresses that are served.")).expect(valid),
            held_hosts: IntGauge::with_opts(ours("held_hosts", "Hosts whose newest routes wait for a reload.")).expect(valid),
            reload_waits: IntGauge::with_opts(ours(
                "reload_waits",
                "Whether a reload waits until clients have left old workers, of which the namespaces that ask for it have their share.",
            ))
            .expect(valid),
            without_room: IntGauge::with_opts(ours("records_without_room", "Records that NGINX's shared dictionaries have no room for."))
                .expect(valid),
            budget_used: IntGaugeVec::new(
                ours("budget_used", "What all objects ask for of a finite resource: bytes, or a number."),
                &["resource"],
            )
            .expect(valid),
            budget: IntGaugeVec::new(ours("budget", "What there is of a finite resource, for all objects."), &["resource"]).expect(valid),
            nginx_starts: IntCounter::with_opts(ours("nginx_starts_total", "Starts of the NGINX master.")).expect(valid),
            last_success: Gauge::with_opts(ours("last_success_timestamp_seconds", "When NGINX last confirmed the newest state."))
                .expect(valid),
            revision: IntGaugeVec::new(ours("revision_info", "Revision of the configuration that NGINX runs."), &["revision"])
                .expect(valid),
            config_hash: Gauge::with_opts(compat("config_hash", "Running configuration hash.")).expect(valid),
            reload_successful: IntGauge::with_opts(compat("config_last_reload_successful", "Whether the last reload succeeded."))
                .expect(valid),
            reload_timestamp: Gauge::with_opts(compat(
                "config_last_reload_successful_timestamp_seconds",
                "When the last reload succeeded.",
            ))
            .expect(valid),
            // Vectors without labels: absent until the first event, as users of the predecessor know it.
            success: GenericCounterVec::new(compat("success", "Starts and reloads of NGINX that succeeded."), &[]).expect(valid),
            errors: GenericCounterVec::new(compat("errors", "Starts and reloads of NGINX that failed."), &[]).expect(valid),
            build_info: GaugeVec::new(compat("build_info", "Build of this controller; constant 1."), &["release", "build", "repository"])
                .expect(valid),
        };
        let collectors: Vec<Box<dyn Collector>> = vec![
            Box::new(metrics.reloads.clone()),
            Box::new(metrics.reload_seconds.clone()),
            Box::new(metrics.avoided.clone()),
            Box::new(metrics.time_to_effect.clone()),
            Box::new(metrics.live_posts.clone()),
            Box::new(metrics.live_posted_bytes.clone()),
            Box::new(metrics.live_updates.clone()),
            Box::new(metrics.stage_seconds.clone()),
            Box::new(metrics.problems.clone()),
            Box::new(metrics.ingresses.clone()),
            Box::new(metrics.held_hosts.clone()),
            Box::new(metrics.reload_waits.clone()),
            Box::new(metrics.without_room.clone()),
            Box::new(metrics.budget_used.clone()),
            Box::new(metrics.budget.clone()),
            Box::new(metrics.nginx_starts.clone()),
            Box::new(metrics.last_success.clone()),
            Box::new(metrics.revision.clone()),
            Box::new(metrics.config_hash.clone()),
            Box::new(metrics.reload_successful.clone()),
            Box::new(metrics.reload_timestamp.clone()),
            Box::new(metrics.success.clone()),
            Box::new(metrics.errors.clone()),
            Box::new(metrics.build_info.clone()),
        ];
        for collector in collectors {
            metrics.registry.register(collector).expect("each name is registered once");
        }
        metrics.build_info.with_label_values(&[&build.version, &build.commit, &build.repository]).set(1.0);
        for kind in ProblemKind::ALL {
            metrics.problems.with_label_values(&[kind.label()]).set(0);
        }
        metrics
    }

    /// The registry that they are gathered in.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Time spent in a stage.
    pub fn stage(&self, stage: Stage, duration: Duration) {
        self.stage_seconds.with_label_values(&[stage.label()]).observe(duration.as_secs_f64());
    }

    /// The present findings.
    pub fn problems(&self, problems: &BTreeSet<Problem>) {
        for kind in ProblemKind::ALL {
            let count = problems.iter().filter(|problem| problem.kind == *kind).count();
            self.problems.with_label_values(&[kind.label()]).set(count as i64);
        }
    }

    /// The number of Ingresses that are served.
    pub fn ingresses(&self, count: usize) {
        self.ingresses.set(count as i64);
    }

    /// The progress of the live lane.
    pub fn live_status(&self, status: &LiveStatus) {
        self.held_hosts.set(status.held() as i64);
        self.without_room.set(status.without_room() as i64);
    }

    /// Whether a reload waits for old workers to end, because the namespaces that ask for it left most of them.
    pub fn waiting(&self, waits: bool) {
        self.reload_waits.set(i64::from(waits));
    }

    /// The demand of all objects for what is finite.
    pub fn usage(&self, usage: &Usage) {
        for resource in Resource::ALL {
            let set = |gauge: &IntGaugeVec, weight: &Weight| gauge.with_label_values(&[resource.label()]).set(weight.of(*resource) as i64);
            set(&self.budget_used, &usage.asked);
            set(&self.budget, &usage.capacity);
        }
    }

    /// NGINX was started, with a configuration that was confirmed.
    pub fn started(&self) {
        self.nginx_starts.inc();
        self.success.with_label_values::<&str>(&[]).inc();
    }

    /// A reload for these namespaces was confirmed, after this time.
    pub fn reloaded(&self, reasons: &[&'static str], namespaces: &BTreeSet<Arc<str>>, revision: &str, took: Duration) {
        self.count_reload(reasons, namespaces, "success");
        self.reload_seconds.observe(took.as_secs_f64());
        self.success.with_label_values::<&str>(&[]).inc();
        self.reload_timestamp.set(now());
        self.running(revision);
    }

    /// NGINX runs this revision, loaded now or adopted: the last reload counts as successful.
    pub fn running(&self, revision: &str) {
        self.revision.reset();
        self.revision.with_label_values(&[revision]).set(1);
        self.last_success.set(now());
        self.reload_successful.set(1);
        // 53 bits of the content address fit a float exactly.
        let hash = u64::from_str_radix(revision, 16).unwrap_or_default() >> 11;
        self.config_hash.set(hash as f64);
        if self.reload_timestamp.get() == 0.0 {
            self.reload_timestamp.set(now());
        }
    }

    /// What is wanted is what NGINX runs. After a failure that ends it, as nothing is left to load.
    pub fn settled(&self, revision: &str) {
        if self.reload_successful.get() == 0 {
            self.running(revision);
        }
    }

    /// A reload for these namespaces was refused or not confirmed.
    pub fn reload_failed(&self, reasons: &[&'static str], namespaces: &BTreeSet<Arc<str>>) {
        self.count_reload(reasons, namespaces, "failure");
        self.errors.with_label_values::<&str>(&[]).inc();
        self.reload_successful.set(0);
        self.config_hash.set(0.0);
    }

    /// Records of a table were confirmed, or not.
    pub fn live(&self, table: Table, ok: bool, records: u64) {
        self.live_updates.with_label_values(&[table.label(), if ok { "success" } else { "failure" }]).inc_by(records);
    }

    /// A post of so many bytes was answered, or not.
    pub fn posted(&self, bytes: usize, ok: bool) {
        self.live_posts.with_label_values(&[if ok { "success" } else { "failure" }]).inc();
        self.live_posted_bytes.inc_by(if ok { bytes as u64 } else { 0 });
    }

    /// A live update took effect for which NGINX alone would need a reload.
    pub fn avoided(&self, change: &'static str, namespaces: &BTreeSet<Arc<str>>) {
        self.namespaces.with(namespaces, |namespace| self.avoided.with_label_values(&[change, namespace]).inc());
    }

    /// NGINX confirmed a change that was seen so long ago.
    pub fn took_effect(&self, way: Way, after: Duration) {
        self.time_to_effect.with_label_values(&[way.label()]).observe(after.as_secs_f64());
    }

    fn count_reload(&self, reasons: &[&'static str], namespaces: &BTreeSet<Arc<str>>, result: &str) {
        self.namespaces.with(namespaces, |namespace| {
            for reason in reasons {
                self.reloads.with_label_values(&[namespace, reason, result]).inc();
            }
        });
    }

    /// The newest state is in effect.
    pub fn synced(&self) {
        self.last_success.set(now());
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
