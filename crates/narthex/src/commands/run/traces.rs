//! Carries spans from NGINX to a collector: OTLP over gRPC.

mod span;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use model::Built;
use nginx::LiveClient;
use opentelemetry::InstrumentationScope;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use settings::ObservabilityDefaults;
use tokio::sync::watch;
use tracing::{info, warn};

use self::span::Span;

/// How long a collector may take, with what the exporter tries again.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Shortest time between two looks at what NGINX has.
const SHORTEST_DELAY: Duration = Duration::from_millis(10);

/// Where spans go, and how many at once.
#[derive(Debug, Clone, PartialEq)]
struct Collector {
    url: String,
    service: String,
    delay: Duration,
    batch: u32,
}

impl Collector {
    /// `None` where the settings name none.
    fn new(settings: &ObservabilityDefaults) -> Option<Self> {
        let host = settings.otlp_collector_host.as_ref()?.as_str();
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        Some(Self {
            url: format!("http://{host}:{}", settings.otlp_collector_port),
            service: settings.otel_service_name.as_str().to_owned(),
            delay: Duration::from_millis(settings.otel_schedule_delay_millis.into()).max(SHORTEST_DELAY),
            batch: settings.otel_max_export_batch_size.max(1),
        })
    }

    /// Connects with the first export.
    fn exporter(&self) -> anyhow::Result<SpanExporter> {
        let mut exporter = SpanExporter::builder().with_tonic().with_endpoint(&self.url).with_timeout(TIMEOUT).build()?;
        exporter.set_resource(&Resource::builder().with_service_name(self.service.clone()).build());
        Ok(exporter)
    }
}

/// A collector that is written to.
struct Export {
    collector: Collector,
    exporter: anyhow::Result<SpanExporter>,
    scope: InstrumentationScope,
    failing: bool,
}

impl Export {
    fn new(collector: Collector) -> Self {
        let exporter = collector.exporter();
        let scope = InstrumentationScope::builder("narthex").with_version(crate::commands::version::VERSION).build();
        Self { collector, exporter, scope, failing: false }
    }

    /// Sends what waits, and logs when that begins to fail or works again. Spans that a collector does not take are lost: they are worth
    /// less than the memory that they would fill.
    async fn round(&mut self, live: &LiveClient) {
        match self.send(live).await {
            Ok(0) => {}
            Ok(spans) if self.failing => {
                info!(spans, url = self.collector.url, "the collector takes spans again");
                self.failing = false;
            }
            Ok(_) => {}
            Err(error) if !self.failing => {
                let error = format!("{error:#}");
                warn!(error, url = self.collector.url, "spans are lost: the collector was expected to take them as OTLP over gRPC");
                self.failing = true;
            }
            Err(_) => {}
        }
    }

    /// Sends what waits; says how many spans that was.
    async fn send(&self, live: &LiveClient) -> anyhow::Result<usize> {
        let mut sent = 0;
        loop {
            let lines = live.spans(self.collector.batch).await.context("spans can't be read from NGINX")?;
            let spans: Vec<SpanData> =
                lines.iter().filter_map(|line| serde_json::from_str::<Span>(line).ok()?.into_data(&self.scope)).collect();
            sent += spans.len();
            if !spans.is_empty() {
                let exporter = self.exporter.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                exporter.export(spans).await?;
            }
            if lines.len() < self.collector.batch as usize {
                return Ok(sent);
            }
        }
    }
}

/// Runs for ever.
pub(super) async fn run(live: LiveClient, mut built: watch::Receiver<Option<Arc<Built>>>) -> &'static str {
    let mut export: Option<Export> = None;
    loop {
        let collector =
            built.borrow_and_update().as_ref().and_then(|built| Collector::new(&built.model.fixed.globals.config.observability));
        let Some(collector) = collector else {
            export = None;
            if built.changed().await.is_err() {
                return "traces";
            }
            continue;
        };
        let delay = collector.delay;
        let export = match &mut export {
            Some(export) if export.collector == collector => export,
            export => export.insert(Export::new(collector)),
        };
        tokio::time::sleep(delay).await;
        export.round(&live).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_what_the_settings_say() {
        let of = |host: &str| ObservabilityDefaults { otlp_collector_host: host.parse().ok(), ..ObservabilityDefaults::default() };
        let collector = Collector::new(&of("tempo")).expect("a host is set");
        assert_eq!(
            (collector.url.as_str(), collector.service.as_str(), collector.delay, collector.batch),
            ("http://tempo:4317", "nginx", Duration::from_secs(5), 512)
        );
        let url = |host: &str| Collector::new(&of(host)).expect("a host is set").url;
        assert_eq!((url("fd00::1").as_str(), url("[fd00::1]").as_str()), ("http://[fd00::1]:4317", "http://[fd00::1]:4317"));
        assert_eq!(Collector::new(&ObservabilityDefaults::default()), None);
    }
}
