//! Request metrics on their way from NGINX to the scraper, and what NGINX itself uses.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use controller::Loaded;
use controller::metrics::Identity;
use inspect::TrafficTable;
use model::options::RequestCounting;
use model::{Built, ObjectKey};
use nginx::{LiveClient, LiveError, Place};
use ops::{Exposition, Labels, NativeOptions, RequestMetrics, RequestOptions};
use render::Paths;
use tokio::sync::{Mutex, watch};
use tokio::time::{MissedTickBehavior, timeout};
use tracing::{debug, error, info};

use super::figures;
use super::streams::Streams;
use crate::args::MetricsArgs;

/// How often NGINX is asked without a scrape: its dictionary should stay nearly empty.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long a scrape waits for NGINX; then it gets what there is.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the metrics of NGINX are made from.
pub(super) struct Sources {
    pub(super) live: LiveClient,
    pub(super) built: watch::Receiver<Option<Arc<Built>>>,
    pub(super) loaded: watch::Receiver<Loaded>,
    pub(super) paths: Paths,
    pub(super) place: Place,
}

/// Fetches what NGINX counted.
pub(super) struct Collector {
    sources: Sources,
    requests: RequestMetrics,
    streams: Streams,
    labels: String,
    progress: Mutex<Progress>,
}

/// How far it has come.
#[derive(Default)]
struct Progress {
    /// Acknowledges what was added last.
    done: String,
    /// What the series were last compared with.
    built: Option<Arc<Built>>,
    /// A fault was reported already.
    reported: bool,
}

impl Collector {
    pub(super) fn new(args: &MetricsArgs, counting: &RequestCounting, identity: &Identity, sources: Sources) -> Self {
        let labels = super::state_metrics::constant_labels(identity);
        let options = RequestOptions {
            constant_labels: labels.clone(),
            per_host: args.metrics_per_host,
            status_classes: args.report_status_classes,
            excluded: args.exclude_socket_metrics.clone(),
            key: counting.key(),
            time: counting.time.scaled(1.0).collect(),
            length: counting.length.scaled(1.0).collect(),
            size: counting.size.scaled(1.0).collect(),
            native: counting.native_schema.map(|schema| NativeOptions { schema, most_buckets: args.max_buckets as usize }),
        };
        let streams = Streams::new(&sources.paths, sources.built.clone());
        Self { sources, requests: RequestMetrics::new(options), streams, labels, progress: Mutex::default() }
    }

    /// Runs for ever.
    pub(super) async fn run(self: Arc<Self>) -> &'static str {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.fetch().await {
                // NGINX keeps what it counted.
                debug!(%error, "request metrics are not fetched");
            }
            self.streams.fetch().await;
        }
    }

    /// Adds everything that NGINX has to hand over. What was asked for by a future that is dropped is given again.
    async fn fetch(&self) -> Result<(), LiveError> {
        let mut progress = self.progress.lock().await;
        // Without the Ingresses it is unknown which of them are gone.
        let Some(built) = self.sources.built.borrow().clone() else { return Ok(()) };
        if progress.built.as_ref().is_none_or(|old| !old.has_same_ingresses(&built)) {
            self.requests.retain(|labels| is_known(&built, labels));
            progress.built = Some(built.clone());
        }
        loop {
            let answer = self.sources.live.requests(&progress.done).await?;
            let Some(taken) = self.requests.take(&answer, |labels| is_known(&built, labels)) else { return Ok(()) };
            if let Some(line) = taken.unreadable.filter(|_| !progress.reported) {
                error!(line, "a line of request metrics can't be read and is not counted; further ones are not reported");
                progress.reported = true;
            }
            if taken.without_histograms > 0 {
                let requests = taken.without_histograms;
                info!(requests, "requests are counted without durations and sizes: workers that end had other buckets");
            }
            progress.done = taken.number;
        }
    }

    /// The requests of the last seconds.
    pub(super) fn traffic(&self) -> TrafficTable {
        let (counted, seconds) = self.requests.traffic();
        TrafficTable::new(&counted, seconds, self.requests.time_bounds())
    }

    /// NGINX and its processes are asked all at once: a scrape takes as long as the slowest answer.
    async fn write(&self, out: &mut Exposition) {
        let Sources { live, place, paths, loaded, .. } = &self.sources;
        let (fetched, (), connections, state, usage) = tokio::join!(
            timeout(PATIENCE, self.fetch()),
            self.streams.fetch(),
            timeout(PATIENCE, live.connections()),
            timeout(PATIENCE, live.state()),
            timeout(PATIENCE, place.usage(paths)),
        );
        if fetched.is_err() {
            debug!("NGINX takes its time, request metrics lag behind");
        }
        self.requests.write(out);
        self.streams.write(&self.labels, out);
        if let Ok(Ok(connections)) = connections {
            figures::write_connections(&self.labels, &connections, out);
        }
        if let Ok(Ok(state)) = state {
            figures::write_dictionaries(&state.dicts, out);
        }
        if let Ok(Some(usage)) = usage {
            figures::write_usage(&self.labels, &usage, out);
            figures::write_workers(&usage, &loaded.borrow(), out);
        }
    }
}

impl ops::Fetched for Collector {
    fn write<'a>(&'a self, out: &'a mut Exposition) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.write(out))
    }
}

/// Whether series with these labels have a place in the present model.
fn is_known(built: &Built, labels: &Labels) -> bool {
    if labels.ingress.is_empty() {
        return labels.of_client || &*labels.host == "_" || built.model.live.hosts.contains_key(&*labels.host);
    }
    built.has_ingress(&ObjectKey::new(&*labels.namespace, &*labels.ingress))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_ingress_a_host_decides() {
        let labels =
            |ingress: &str, host: &str, of_client| Labels { namespace: "n".into(), ingress: ingress.into(), host: host.into(), of_client };
        let built = Built::default();
        assert!(is_known(&built, &labels("", "_", false)) && is_known(&built, &labels("", "made-up", true)));
        assert!(!is_known(&built, &labels("", "gone.example.com", false)) && !is_known(&built, &labels("gone", "_", false)));
    }
}
