//! Which requests are traced, and how their spans are sent.

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, Servers, rule};
use testkit::otlp::{Collector, attribute};
use testkit::poll;

use super::HOST;

struct Traced {
    _case: Case,
    _servers: Servers,
    collector: Collector,
    controller: Controller,
}

async fn traced(id: &str, settings: &[(&str, &str)]) -> anyhow::Result<Traced> {
    let case = Case::new(id).await?;
    let (servers, collector) = (case.echo(1).await?, Collector::start().await?);
    let port = collector.address().port().to_string();
    let mut all = vec![("enable-opentelemetry", "true"), ("otlp-collector-host", "127.0.0.1"), ("otlp-collector-port", &port)];
    all.extend(settings);
    case.settings(&all).await?;
    case.create(&rule("keys", HOST).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(Traced { _case: case, _servers: servers, collector, controller })
}

impl Traced {
    /// Asks for a path as a part of a trace whose beginning was sampled, or not.
    async fn ask(&self, path: &str, sampled: bool) -> anyhow::Result<()> {
        let parent = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0{}", u8::from(sampled));
        self.controller.get_with(HOST, path, &[("traceparent", &parent)]).await.map(drop)
    }

    /// Paths of the spans that came so far.
    fn paths(&self) -> Vec<String> {
        self.collector.spans().iter().filter_map(|span| attribute(span, "url.path")).collect()
    }
}

const SOON: (&str, &str) = ("otel-schedule-delay-millis", "20");

#[tokio::test]
async fn otel_sampler_decides_unless_a_parent_does() -> anyhow::Result<()> {
    let traced = traced("keys-sampler", &[SOON, ("otel-sampler", "AlwaysOff")]).await?;
    traced.controller.get(HOST, "/alone").await?;
    traced.ask("/left-out", false).await?;
    traced.ask("/sampled", true).await?;
    traced.collector.until_span(PATIENCE, "url.path", "/sampled").await?;
    assert_eq!(traced.paths(), ["/sampled"]);
    Ok(())
}

#[tokio::test]
async fn otel_sampler_parent_based_off_leaves_it_to_otel_sampler_ratio() -> anyhow::Result<()> {
    let settings = [("otel-sampler", "TraceIdRatioBased"), ("otel-sampler-ratio", "1"), ("otel-sampler-parent-based", "false")];
    let all = traced("keys-ratio-1", &[&[SOON][..], &settings].concat()).await?;
    all.ask("/whatever-the-parent-says", false).await?;
    all.collector.until_span(PATIENCE, "url.path", "/whatever-the-parent-says").await?;

    let settings = [SOON, ("otel-sampler", "TraceIdRatioBased"), ("otel-sampler-ratio", "0")];
    let none = traced("keys-ratio-0", &settings).await?;
    none.controller.get(HOST, "/alone").await?;
    none.ask("/sampled", true).await?;
    none.collector.until_span(PATIENCE, "url.path", "/sampled").await?;
    assert_eq!(none.paths(), ["/sampled"]);
    Ok(())
}

#[tokio::test]
async fn otel_max_export_batch_size_limits_what_is_sent_at_once() -> anyhow::Result<()> {
    let traced = traced("keys-batch", &[("otel-schedule-delay-millis", "500"), ("otel-max-export-batch-size", "1")]).await?;
    for number in 0..5 {
        traced.controller.get(HOST, &format!("/{number}")).await?;
    }
    poll(PATIENCE, || async {
        ensure!((0..5).all(|number| traced.paths().contains(&format!("/{number}"))), "{:?}", traced.paths());
        Ok(())
    })
    .await?;
    assert_eq!(traced.collector.spans().len(), traced.collector.requests().len());
    Ok(())
}

#[tokio::test]
async fn otel_max_queuesize_limits_what_waits() -> anyhow::Result<()> {
    let traced = traced("keys-queue", &[("otel-schedule-delay-millis", "2000"), ("otel-max-queuesize", "2")]).await?;
    for number in 0..50 {
        traced.controller.get(HOST, &format!("/many/{number}")).await?;
    }
    // What comes after the next export has room again.
    poll(PATIENCE, || async {
        traced.controller.get(HOST, "/after").await?;
        ensure!(traced.paths().iter().any(|path| path == "/after"), "{:?}", traced.paths());
        Ok(())
    })
    .await?;
    let many = traced.paths().iter().filter(|path| path.starts_with("/many/")).count();
    assert!(many < 25, "{many}");
    Ok(())
}
