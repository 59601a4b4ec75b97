//! Carries spans from NGINX to a collector: OTLP over HTTP, as JSON.

use std::sync::Arc;
use std::time::Duration;

use annotations::WatchingDefaults;
use model::Built;
use nginx::LiveClient;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tracing::{info, warn};

/// How long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Shortest time between two looks at what NGINX has.
const SHORTEST_DELAY: Duration = Duration::from_millis(10);

/// Where spans go, and how many at once.
#[derive(Debug, PartialEq)]
struct Collector {
    url: String,
    service: String,
    delay: Duration,
    batch: u32,
}

impl Collector {
    /// `None` where the settings name none.
    fn new(settings: &WatchingDefaults) -> Option<Self> {
        let host = settings.otlp_collector_host.as_ref()?;
        Some(Self {
            url: format!("http://{}:{}/v1/traces", host.as_str(), settings.otlp_collector_port),
            service: settings.otel_service_name.as_str().to_owned(),
            delay: Duration::from_millis(settings.otel_schedule_delay_millis.into()).max(SHORTEST_DELAY),
            batch: settings.otel_max_export_batch_size.max(1),
        })
    }

    /// One export request.
    fn request(&self, spans: &[Box<RawValue>]) -> String {
        let resource = json!({"attributes": [{"key": "service.name", "value": {"stringValue": self.service}}]});
        let scope = json!({"name": "narthex", "version": crate::commands::version::VERSION});
        let spans: Vec<&str> = spans.iter().map(|span| span.get()).collect();
        let spans = spans.join(",");
        format!(r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{scope},"spans":[{spans}]}}]}}]}}"#)
    }
}

/// Runs for ever. Spans that a collector does not take are lost: they are worth less than the memory that they would fill.
pub(super) async fn run(live: LiveClient, mut built: watch::Receiver<Option<Arc<Built>>>) -> &'static str {
    let client = match reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build() {
        Ok(client) => client,
        Err(error) => {
            warn!(%error, "spans can't be sent");
            std::future::pending().await
        }
    };
    let mut failing = false;
    loop {
        let collector = built.borrow_and_update().as_ref().and_then(|built| Collector::new(&built.model.fixed.globals.config.watching));
        let Some(collector) = collector else {
            if built.changed().await.is_err() {
                return "traces";
            }
            continue;
        };
        tokio::time::sleep(collector.delay).await;
        match export(&live, &client, &collector).await {
            Ok(0) => {}
            Ok(spans) if failing => {
                info!(spans, url = collector.url, "the collector takes spans again");
                failing = false;
            }
            Ok(_) => {}
            Err(error) if !failing => {
                warn!(error, url = collector.url, "spans are lost: the collector was expected to take them as OTLP over HTTP");
                failing = true;
            }
            Err(_) => {}
        }
    }
}

/// Sends what waits; says how many spans that was.
async fn export(live: &LiveClient, client: &reqwest::Client, collector: &Collector) -> Result<usize, String> {
    let mut sent = 0;
    loop {
        let lines = live.spans(collector.batch).await.map_err(|error| error.to_string())?;
        let spans: Vec<Box<RawValue>> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if !spans.is_empty() {
            let request = client.post(&collector.url).header("Content-Type", "application/json").body(collector.request(&spans));
            let response = request.send().await.map_err(|error| error.to_string())?;
            if !response.status().is_success() {
                return Err(format!("it answers {}", response.status()));
            }
        }
        sent += spans.len();
        if lines.len() < collector.batch as usize {
            return Ok(sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_sent_with_the_service_they_are_of() {
        let settings = WatchingDefaults { otlp_collector_host: "tempo".parse().ok(), ..WatchingDefaults::default() };
        let collector = Collector::new(&settings).expect("a host is set");
        assert_eq!(
            (collector.url.as_str(), collector.delay, collector.batch),
            ("http://tempo:4317/v1/traces", Duration::from_secs(5), 512)
        );
        let span = RawValue::from_string(r#"{"name":"a"}"#.to_owned()).expect("it is JSON");
        let request: serde_json::Value = serde_json::from_str(&collector.request(&[span.clone(), span])).expect("it is JSON");
        let of_resource = &request["resourceSpans"][0];
        assert_eq!(of_resource["resource"]["attributes"][0]["value"]["stringValue"], "nginx");
        assert_eq!(of_resource["scopeSpans"][0]["spans"][1]["name"], "a");
        assert_eq!(Collector::new(&WatchingDefaults::default()), None);
    }
}
