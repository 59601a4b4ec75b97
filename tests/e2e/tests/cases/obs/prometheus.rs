//! A real Prometheus scrapes a real run, and every query of our dashboards and of those of ingress-nginx returns data; our rules are those that its
//! tool accepts, and their unit tests pass.

mod dashboards;
mod openmetrics;
mod predecessor;
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use e2e::helm::chart;
use e2e::{Case, Controller, Echo, PATIENCE, rule};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

use server::Prometheus;

const HOST: &str = "watched.example.com";

/// A run with traffic, canaries, errors, a certificate, a reload and live changes.
async fn busy(case: &Case) -> anyhow::Result<Controller> {
    case.settings(&[]).await?;
    case.certificate("tls", &[HOST]).await?;
    case.create(&rule("watched", HOST).tls(HOST, "tls").annotation("ssl-redirect", "false").build()).await?;
    case.create(&rule("broken", "broken.example.com").path("/none", PathType::Prefix, "none", 80).build()).await?;
    let canary = mk_ingress("canary").class("nginx").host(HOST).path("/", PathType::Prefix, "next", 80);
    case.create(&canary.annotation("canary", "true").annotation("canary-weight", "50").build()).await?;
    let launch = case.controller().flag("--enable-metrics").flag("--publish-status-address=192.0.2.1").flag("--sync-rate-limit=10");
    let controller = launch.env("POD_NAME", "pod-1").env("POD_NAMESPACE", case.ns()).start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(controller)
}

/// Requests of several kinds, and a change that is live.
async fn act(case: &Case, controller: &Controller, turn: usize) -> anyhow::Result<()> {
    for _ in 0..10 {
        controller.get(HOST, "/").await?;
    }
    controller.get("broken.example.com", "/none").await?;
    let addresses = json!([{"addresses": [format!("10.9.9.{}", 1 + turn % 200)], "conditions": {"ready": true}}]);
    case.patch::<EndpointSlice>("moving", json!({ "endpoints": addresses })).await?;
    Ok(())
}

#[tokio::test]
async fn every_query_of_the_dashboards_returns_data() -> anyhow::Result<()> {
    let case = Case::new("obs-prometheus").await?;
    let _servers = case.deploy(&["echo", "next", "moving"].map(Echo::named)).await?;
    let controller = busy(&case).await?;
    case.create(&rule("moving", "moving.example.com").path("/moving", PathType::Prefix, "moving", 80).build()).await?;
    let prometheus = Prometheus::scraping(&controller, case.ns()).await?;
    case.settings(&[("client-header-buffer-size", "2k")]).await?;
    let mut queries = predecessor::queries();
    for dashboard in dashboards::all()? {
        queries.extend(dashboard.queries);
    }
    ensure!(queries.len() > 80, "{} queries", queries.len());
    let mut turn = 0;
    let left = |queries: Vec<(String, String)>, prometheus: &Prometheus| {
        let prometheus = prometheus.clone();
        async move {
            let mut left = Vec::new();
            for (of, query) in queries {
                if !prometheus.has_data(&query).await.with_context(|| format!("{of}: {query}"))? {
                    left.push((of, query));
                }
            }
            anyhow::Ok(left)
        }
    };
    let began = std::time::Instant::now();
    while !queries.is_empty() {
        act(&case, &controller, turn).await?;
        turn += 1;
        queries = left(queries, &prometheus).await?;
        ensure!(began.elapsed() < 2 * PATIENCE, "no data of {} queries: {queries:#?}", queries.len());
    }
    Ok(())
}

/// The rules of the chart.
fn rules() -> PathBuf {
    chart().join("rules/narthex.yaml")
}

fn promtool(args: &[&str], file: &Path) -> anyhow::Result<()> {
    let output = Command::new("promtool").args(args).arg(file).output().context("promtool: run scripts/setup.sh prometheus")?;
    let text = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "promtool {args:?} {}:\n{}", file.display(), String::from_utf8_lossy(&text));
    Ok(())
}

#[test]
fn alerts_fire_when_they_should_and_not_before() -> anyhow::Result<()> {
    promtool(&["check", "rules"], &rules())?;
    let tests = include_str!("prometheus/alerts.yaml").replace("RULES", &rules().canonicalize()?.display().to_string());
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("alerts.yaml");
    std::fs::write(&file, tests)?;
    promtool(&["test", "rules"], &file)
}

#[test]
fn every_alert_has_a_test_and_says_what_to_do() -> anyhow::Result<()> {
    let rules = std::fs::read_to_string(rules())?;
    let page = std::fs::read_to_string(chart().join("../../docs/monitoring.md"))?;
    let names: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    ensure!(names.len() > 10, "{names:?}");
    for name in names {
        ensure!(page.contains(&format!("\n### {name}\n")), "docs/monitoring.md has no heading {name}");
        ensure!(rules.contains(&format!("runbook: docs/monitoring.md#{}\n", name.to_lowercase())), "{name} has no link there");
        let tested = include_str!("prometheus/alerts.yaml").contains(&format!("alertname=\"{name}\""));
        ensure!(tested, "{name} has no test");
    }
    Ok(())
}

#[tokio::test]
async fn the_metrics_that_dashboards_need_are_scraped_without_complaints() -> anyhow::Result<()> {
    let case = Case::new("obs-scraped").await?;
    let _servers = case.deploy(&["echo", "next"].map(Echo::named)).await?;
    let controller = busy(&case).await?;
    let text = controller.metrics().await?;
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("metrics");
    std::fs::write(&file, &text)?;
    let output = Command::new("promtool").args(["check", "metrics"]).stdin(std::fs::File::open(&file)?).output().context("promtool")?;
    // It also says that names of ingress-nginx are not what they should be: only a syntax error is one.
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(!complaints.contains("error while linting") && !complaints.contains("text format parsing error"), "{complaints}");
    let ours: Vec<&str> = complaints.lines().filter(|line| line.starts_with("narthex_")).collect();
    ensure!(ours.is_empty(), "{ours:#?}");
    poll(PATIENCE, || async {
        let prometheus = controller.metrics().await?;
        ensure!(prometheus.contains("nginx_ingress_controller_requests{"), "no request is counted");
        Ok(())
    })
    .await
}
