//! OBS: traces and request metrics.

mod metrics;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use serde_json::Value;
use testkit::poll;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const HOST: &str = "trace.example.com";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A collector of OTLP over HTTP.
struct Collector {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
    _tasks: JoinSet<()>,
}

impl Collector {
    async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (mut tasks, kept) = (JoinSet::new(), requests.clone());
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = take(stream, &kept).await;
            }
        });
        Ok(Self { address, requests, _tasks: tasks })
    }

    /// The spans that came so far.
    fn spans(&self) -> Vec<Value> {
        let requests = self.requests.lock().expect("nobody panics with it");
        let of_request = |request: &Value| request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap_or_default();
        requests.iter().flat_map(of_request).collect()
    }

    /// Waits for a span with this attribute.
    async fn until_span(&self, key: &str, value: &str) -> anyhow::Result<Value> {
        poll(PATIENCE, || async {
            let spans = self.spans();
            let has = |span: &&Value| attribute(span, key).is_some_and(|found| found == value);
            ensure!(spans.iter().any(|span| has(&span)), "no span with {key} = {value} among {spans:?}");
            Ok(spans.iter().find(has).cloned().unwrap_or_default())
        })
        .await
    }
}

fn attribute(span: &Value, key: &str) -> Option<String> {
    let attribute = span["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == key)?;
    attribute["value"].as_object()?.values().next()?.as_str().map(str::to_owned)
}

/// One request a connection.
async fn take(mut stream: TcpStream, requests: &Mutex<Vec<Value>>) -> anyhow::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head)?.to_ascii_lowercase();
    ensure!(head.starts_with("post /v1/traces "), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0").parse()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    requests.lock().expect("nobody panics with it").push(serde_json::from_slice(&body)?);
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}").await?;
    Ok(())
}

/// Serves [`HOST`] with these settings besides those of the collector.
async fn serving(
    case: &Case,
    collector: &Collector,
    settings: &[(&str, &str)],
    annotations: &[(&str, &str)],
) -> anyhow::Result<Controller> {
    let port = collector.address.port().to_string();
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
    assert!(!controller.conf(&[HOST])?.contains("opentelemetry on"));
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
    assert!(controller.conf(&[HOST])?.contains("opentelemetry_trust_incoming_spans on"));
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    controller.get_with(HOST, "/trusted", &[("traceparent", &parent)]).await?;
    let span = collector.until_span("url.path", "/trusted").await?;
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
    assert!(controller.conf(&[HOST])?.contains("opentelemetry_operation_name \"HTTP $request_method $uri\""));
    controller.get(HOST, "/named").await?;
    assert_eq!(collector.until_span("url.path", "/named").await?["name"], "HTTP GET /named");
    let requests = collector.requests.lock().expect("nobody panics with it");
    assert_eq!(attribute(&requests[0]["resourceSpans"][0]["resource"], "service.name").as_deref(), Some("edge"));
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
    let span = collector.until_span("url.path", "/own").await?;
    assert_eq!(span["name"], "my op");
    assert_ne!(span["traceId"], TRACE);
    assert!(span.get("parentSpanId").is_none());
    assert_eq!(controller.reloads().await?, 0.0, "traces of one Ingress need no reload");
    Ok(())
}
