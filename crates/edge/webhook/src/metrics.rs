//! The predecessor's metrics of admission, with its names and labels.

use std::collections::BTreeSet;
use std::time::Duration;

use model::ObjectKey;
use parking_lot::Mutex;
use prometheus::core::Collector;
use prometheus::{Gauge, IntCounterVec, IntGauge, Opts, Registry};
use tracing::warn;

/// Ingresses with series of their own. Any client can ask for reviews of any number of names; further ones share a series without a name.
const MOST_SERIES: usize = 10_000;

/// Handles on the metrics of admission.
#[derive(Debug)]
pub struct Metrics {
    success: IntCounterVec,
    errors: IntCounterVec,
    tested_ingresses: IntGauge,
    tested_duration: Gauge,
    render_ingresses: IntGauge,
    render_duration: Gauge,
    config_size: IntGauge,
    roundtrip_duration: Gauge,
    named: Mutex<BTreeSet<ObjectKey>>,
}

/// The seconds of a review.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    /// Decoding the review.
    pub(crate) decode: Duration,
    /// Decoding the object, merging and building.
    pub(crate) build: Duration,
    /// From the whole body to the answer, waiting included.
    pub(crate) all: Duration,
}

impl Metrics {
    /// Registers them. `constant`: names and values of the labels that all have.
    pub fn new(registry: &Registry, constant: &[(&str, &str)]) -> Self {
        let opts = |name: &str, help: &str| {
            let opts = Opts::new(format!("nginx_ingress_controller_{name}"), help);
            constant.iter().fold(opts, |opts, (name, value)| opts.const_label(*name, *value))
        };
        let valid = "metric names and labels are literals";
        let counter = |name, help| IntCounterVec::new(opts(name, help), &["namespace", "ingress"]).expect(valid);
        let number = |name, help| IntGauge::with_opts(opts(name, help)).expect(valid);
        let seconds = |name, help| Gauge::with_opts(opts(name, help)).expect(valid);
        let metrics = Self {
            success: counter("check_success", "Ingresses that the webhook accepted."),
            errors: counter("check_errors", "Ingresses that the webhook refused."),
            tested_ingresses: number("admission_tested_ingresses", "Ingresses that the last review built."),
            tested_duration: seconds("admission_tested_duration", "Seconds that the last review took to build."),
            render_ingresses: number("admission_render_ingresses", "Ingresses that the last review knew, the reviewed one included."),
            render_duration: seconds("admission_render_duration", "Seconds that the last review took to decode."),
            config_size: number("admission_config_size", "Bytes of NGINX's memory that the last reviewed Ingress asks for."),
            roundtrip_duration: seconds("admission_roundtrip_duration", "Seconds of the last review as a whole."),
            named: Mutex::default(),
        };
        let Self {
            success,
            errors,
            tested_ingresses,
            tested_duration,
            render_ingresses,
            render_duration,
            config_size,
            roundtrip_duration,
            named: _,
        } = &metrics;
        let collectors: [Box<dyn Collector>; 8] = [
            Box::new(success.clone()),
            Box::new(errors.clone()),
            Box::new(tested_ingresses.clone()),
            Box::new(tested_duration.clone()),
            Box::new(render_ingresses.clone()),
            Box::new(render_duration.clone()),
            Box::new(config_size.clone()),
            Box::new(roundtrip_duration.clone()),
        ];
        for collector in collectors {
            if let Err(error) = registry.register(collector) {
                warn!(%error, "a metric of the webhook is not registered");
            }
        }
        metrics
    }

    /// An Ingress was reviewed.
    pub(crate) fn reviewed(&self, ingress: &ObjectKey, denied: bool, bytes: u64, known: usize, times: Times) {
        let (namespace, name) = if self.has_series(ingress) { (&*ingress.namespace, &*ingress.name) } else { ("", "") };
        let checks = if denied { &self.errors } else { &self.success };
        checks.with_label_values(&[namespace, name]).inc();
        if denied {
            return;
        }
        self.tested_ingresses.set(1);
        self.tested_duration.set(times.build.as_secs_f64());
        self.render_ingresses.set(known.try_into().unwrap_or(i64::MAX));
        self.render_duration.set(times.decode.as_secs_f64());
        self.config_size.set(bytes.try_into().unwrap_or(i64::MAX));
        self.roundtrip_duration.set(times.all.as_secs_f64());
    }

    fn has_series(&self, ingress: &ObjectKey) -> bool {
        let mut named = self.named.lock();
        if named.contains(ingress) {
            return true;
        }
        let has_room = named.len() < MOST_SERIES;
        if has_room {
            named.insert(ingress.clone());
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_series_is_bounded() {
        let registry = Registry::new();
        let metrics = Metrics::new(&registry, &[("controller_class", "c")]);
        for i in 0..MOST_SERIES + 5 {
            metrics.reviewed(&ObjectKey::new("n", format!("i{i}")), true, 0, 1, Times::default());
        }
        metrics.reviewed(&ObjectKey::new("n", "i0"), false, 7, 3, Times::default());
        assert_eq!(metrics.errors.with_label_values(&["", ""]).get(), 5);
        assert_eq!((metrics.success.with_label_values(&["n", "i0"]).get(), metrics.config_size.get()), (1, 7));
        let errors =
            registry.gather().into_iter().find(|family| family.name().ends_with("check_errors")).map(|family| family.get_metric().len());
        assert_eq!(errors, Some(MOST_SERIES + 1));
    }
}
