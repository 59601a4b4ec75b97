//! What a Prometheus stores from OpenMetrics: the series that it has from its own text format, and exemplars that lead to the spans of requests.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use e2e::{Case, PATIENCE, rule};
use serde_json::Value;
use testkit::http::Request;
use testkit::otlp::Collector;
use testkit::poll;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::server::Prometheus;

const HOST: &str = "traced.example.com";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const OPENMETRICS: &str = "application/openmetrics-text;version=1.0.0";

/// Answers scrapes with what a target says to a scraper that accepts the text format alone.
struct Plain(SocketAddr, JoinHandle<()>);

impl Plain {
    async fn of(target: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = [0; 4096];
                if stream.read(&mut head).await.is_err() {
                    continue;
                }
                if let Ok(answer) = Request::get(target, "/metrics").header("Accept", "text/plain").send().await {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                        answer.body.len()
                    );
                    // A scraper that is gone asks again.
                    let _ = stream.write_all(&[head.as_bytes(), &answer.body].concat()).await;
                }
            }
        });
        Ok(Self(address, task))
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.1.abort();
    }
}

/// The series of a job without the labels that tell jobs apart.
async fn series(prometheus: &Prometheus, job: &str) -> anyhow::Result<BTreeSet<String>> {
    let data = prometheus.data("series", &[("match[]", &format!("{{job=\"{job}\"}}"))]).await?;
    let all = data.as_array().context("a list")?.iter().map(|labels| {
        let mut labels: BTreeMap<String, Value> =
            labels.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
        labels.retain(|name, _| !["job", "instance"].contains(&name.as_str()));
        format!("{labels:?}")
    });
    Ok(all.collect())
}

/// The exemplars that were stored: labels of the series, and of the exemplar with its value.
async fn exemplars(prometheus: &Prometheus) -> anyhow::Result<Vec<(Value, Value)>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let (start, end) = ((now - 600).to_string(), (now + 60).to_string());
    let query = [("query", "nginx_ingress_controller_request_duration_seconds_bucket"), ("start", &start), ("end", &end)];
    let data = prometheus.data("query_exemplars", &query).await?;
    let of = |series: &Value| {
        let labels = series["seriesLabels"].clone();
        series["exemplars"].as_array().cloned().unwrap_or_default().into_iter().map(move |exemplar| (labels.clone(), exemplar))
    };
    Ok(data.as_array().into_iter().flatten().flat_map(of).collect())
}

#[tokio::test]
async fn exemplars_lead_to_spans_and_series_are_those_of_the_text_format() -> anyhow::Result<()> {
    let case = Case::new("obs-openmetrics").await?;
    let (_servers, collector) = (case.echo(1).await?, Collector::start().await?);
    let port = collector.address().port().to_string();
    let tracing = [("otlp-collector-host", "127.0.0.1"), ("otlp-collector-port", &port), ("otel-schedule-delay-millis", "20")];
    case.settings(&tracing).await?;
    case.create(&rule("traced", HOST).annotation("enable-opentelemetry", "true").build()).await?;
    case.create(&rule("plain", "plain.example.com").build()).await?;
    let launch = case.controller().flag("--enable-metrics").flag("--publish-status-address=192.0.2.1");
    let controller = launch.env("POD_NAME", "pod-1").env("POD_NAMESPACE", case.ns()).start().await?;
    let context = format!("00-{TRACE}-b7ad6b7169203331-01");
    poll(PATIENCE, || async {
        let answer = controller.get_with(HOST, "/", &[("traceparent", &context)]).await?;
        ensure!(answer.status == 200, "{}", answer.status);
        Ok(())
    })
    .await?;
    controller.until("plain.example.com", "/", 200).await?;

    let plain = Plain::of(controller.health()).await?;
    let targets = [("openmetrics", controller.health()), ("text", plain.0)];
    let prometheus = Prometheus::scraping_all(&targets, case.ns(), &["--enable-feature=exemplar-storage"]).await?;
    let (labels, exemplar) = poll(PATIENCE, || async {
        let found = exemplars(&prometheus).await?;
        let is_it = |(_, exemplar): &(Value, Value)| exemplar["labels"]["trace_id"] == TRACE;
        if let Some(found) = found.into_iter().find(is_it) {
            return Ok(found);
        }
        let text = Request::get(controller.health(), "/metrics").header("Accept", OPENMETRICS).send().await?.text();
        let written: Vec<&str> = text.lines().filter(|line| line.contains(" # ")).collect();
        bail!("no exemplar is stored yet; written are {written:#?}, spans {:#?}", collector.spans())
    })
    .await?;
    assert_eq!(labels["job"], "openmetrics", "{labels}");
    assert_eq!(labels["host"], HOST, "{labels}");
    poll(PATIENCE, || async {
        let spans = collector.spans();
        let is_it = |span: &Value| span["traceId"] == TRACE && span["spanId"] == exemplar["labels"]["span_id"];
        ensure!(spans.iter().any(is_it), "no span of {exemplar} among {spans:?}");
        Ok(())
    })
    .await?;
    let (value, bound): (f64, f64) = (
        exemplar["value"].as_str().context("a value")?.parse()?,
        labels["le"].as_str().context("a bound")?.replace("+Inf", "inf").parse()?,
    );
    assert!(value <= bound && value < 10.0, "{labels} {exemplar}");
    // Requests without a span have none.
    let hosts: BTreeSet<String> = exemplars(&prometheus).await?.iter().map(|(labels, _)| labels["host"].to_string()).collect();
    assert_eq!(hosts, BTreeSet::from([format!("{HOST:?}")]));

    poll(PATIENCE, || async {
        let (one, other) = (series(&prometheus, "openmetrics").await?, series(&prometheus, "text").await?);
        let only: Vec<&String> = one.symmetric_difference(&other).collect();
        ensure!(one.len() > 200 && only.is_empty(), "{} series, and in one of both only: {only:#?}", one.len());
        ensure!(one.iter().any(|series| series.contains("\"nginx_ingress_controller_requests\"")), "no requests");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn openmetrics_has_no_family_twice_and_each_sample_in_its_family() -> anyhow::Result<()> {
    let case = Case::new("obs-openmetrics-text").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("echo", HOST).build()).await?;
    let launch = case.controller().flag("--enable-metrics").flag("--publish-status-address=192.0.2.1");
    let controller = launch.env("POD_NAME", "pod-1").env("POD_NAMESPACE", case.ns()).start().await?;
    controller.until(HOST, "/", 200).await?;
    let text = poll(PATIENCE, || async {
        let answer = Request::get(controller.health(), "/metrics").header("Accept", OPENMETRICS).send().await?;
        assert_eq!(answer.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
        let text = answer.text();
        ensure!(text.contains("nginx_ingress_controller_requests{"), "no request is counted");
        Ok(text)
    })
    .await?;
    let (body, end) = text.split_at(text.len() - "# EOF\n".len());
    assert_eq!((end, body.contains("# EOF")), ("# EOF\n", false));
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let mut family = ("", "");
    for line in body.lines() {
        if let Some(named) = line.strip_prefix("# TYPE ") {
            family = named.split_once(' ').context("a type")?;
            ensure!(kinds.insert(family.0, family.1).is_none(), "{} is there twice", family.0);
        } else if let Some(unit) = line.strip_prefix("# UNIT ") {
            let (name, unit) = unit.split_once(' ').context("a unit")?;
            ensure!(name == family.0 && name.ends_with(&format!("_{unit}")), "{line}");
        } else if !line.starts_with("# HELP ") {
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            let suffixes: &[&str] = match family.1 {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            ensure!(name.strip_prefix(family.0).is_some_and(|suffix| suffixes.contains(&suffix)), "{line} in {family:?}");
        }
    }
    for (name, kind) in &kinds {
        let taken = kinds.get(name.strip_suffix("_total").unwrap_or_default());
        ensure!(*kind == "counter" || taken != Some(&"counter"), "{name} is a sample of another family, too");
    }
    assert_eq!(kinds.get("nginx_ingress_controller_requests"), Some(&"unknown"));
    assert_eq!(kinds.get("nginx_ingress_controller_nginx_process_requests"), Some(&"counter"));
    assert_eq!(kinds.get("nginx_ingress_controller_nginx_process_connections_total"), Some(&"unknown"));
    Ok(())
}
