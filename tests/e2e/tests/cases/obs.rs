//! OBS: the debug tool, Events, traces and request metrics.

mod avoided;
mod dbg;
mod events;
mod families;
mod geoip;
mod metrics;
mod prometheus;
mod status_port;

use e2e::{Case, Controller, PATIENCE, rule};
use testkit::otlp::{Collector, attribute};

const HOST: &str = "trace.example.com";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Serves [`HOST`] with these settings besides those of the collector.
async fn serving(
    case: &Case,
    collector: &Collector,
    settings: &[(&str, &str)],
    annotations: &[(&str, &str)],
) -> anyhow::Result<Controller> {
    let port = collector.address().port().to_string();
    let mut all = vec![("otlp-collector-host", "127.0.0.1"), ("otlp-collector-port", &port), ("otel-schedule-delay-millis", "20")];
    all.extend(settings);
    case.settings(&all).await?;
    let ingress = annotations.iter().fold(rule("echo", HOST), |ingress, (key, value)| ingress.annotation(key, value));
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(controller)
}

#[tokio::test]
async fn obs_09_without_enable_opentelemetry_nothing_is_traced() -> anyhow::Result<()> {
    let case = Case::new("obs-09").await?;
    let (_servers, collector) = (case.echo(1).await?, Collector::start().await?);
    let controller = serving(&case, &collector, &[("enable-opentelemetry", "false")], &[]).await?;
    assert_eq!(controller.seen(HOST, "/").await?.header("traceparent"), None);
    Ok(())
}

#[tokio::test]
async fn obs_10_opentelemetry_trust_incoming_span_lets_traces_of_clients_go_on() -> anyhow::Result<()> {
    let case = Case::new("obs-10").await?;
    let (_servers, collector) = (case.echo(1).await?, Collector::start().await?);
    let settings = [
        ("enable-opentelemetry", "true"),
        ("opentelemetry-config", "/etc/ingress-controller/telemetry/opentelemetry.toml"),
        ("opentelemetry-trust-incoming-span", "true"),
    ];
    let controller = serving(&case, &collector, &settings, &[]).await?;
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    controller.get_with(HOST, "/trusted", &[("traceparent", &parent)]).await?;
    let span = collector.until_span(PATIENCE, "url.path", "/trusted").await?;
    assert_eq!((span["traceId"].as_str(), span["parentSpanId"].as_str()), (Some(TRACE), Some("b7ad6b7169203331")));
    assert_eq!(attribute(&span, "http.response.status_code").as_deref(), Some("200"));
    assert_eq!(attribute(&span, "k8s.ingress.name").as_deref(), Some("echo"));
    Ok(())
}

#[tokio::test]
async fn obs_11_opentelemetry_operation_name_of_the_settings_has_variables() -> anyhow::Result<()> {
    let case = Case::new("obs-11").await?;
    let (_servers, collector) = (case.echo(1).await?, Collector::start().await?);
    let settings = [
        ("enable-opentelemetry", "true"),
        ("opentelemetry-config", "/etc/ingress-controller/telemetry/opentelemetry.toml"),
        ("opentelemetry-operation-name", "HTTP $request_method $uri"),
        ("otel-service-name", "edge"),
    ];
    let controller = serving(&case, &collector, &settings, &[]).await?;
    controller.get(HOST, "/named").await?;
    assert_eq!(collector.until_span(PATIENCE, "url.path", "/named").await?["name"], "HTTP GET /named");
    assert_eq!(attribute(&collector.requests()[0]["resourceSpans"][0]["resource"], "service.name").as_deref(), Some("edge"));
    Ok(())
}

#[tokio::test]
async fn enable_opentelemetry_opentelemetry_operation_name_and_opentelemetry_trust_incoming_span_of_one_ingress() -> anyhow::Result<()> {
    let case = Case::new("obs-own").await?;
    let (_servers, collector) = (case.echo(1).await?, Collector::start().await?);
    let annotations =
        [("enable-opentelemetry", "true"), ("opentelemetry-operation-name", "my op"), ("opentelemetry-trust-incoming-span", "false")];
    let controller = serving(&case, &collector, &[], &annotations).await?;
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    controller.get_with(HOST, "/own", &[("traceparent", &parent)]).await?;
    let span = collector.until_span(PATIENCE, "url.path", "/own").await?;
    assert_eq!(span["name"], "my op");
    assert_ne!(span["traceId"], TRACE);
    assert_eq!(span["parentSpanId"], "");
    assert_eq!(controller.reloads().await?, 0.0, "traces of one Ingress need no reload");
    Ok(())
}
