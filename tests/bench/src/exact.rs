//! Requests by metrics and by the client, at full load while endpoints change.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use testkit::kube::Namespace;
use testkit::poll;
use tokio::process::Command;

use crate::controller::Controller;
use crate::measure::Prober;
use crate::report::BenchReport;
use crate::world;

/// Backends, each with a wrk of its own.
const BACKENDS: usize = 4;
/// Connections of each.
const CONNECTIONS: &str = "4";
/// Changes a second.
const CHURN: u64 = 20;
/// How long a scrape may be behind.
const PATIENCE: Duration = Duration::from_secs(10);

/// Measures the first hosts of a [`world`] for a minute, or `BENCH_EXACT_SECONDS`. Endpoints move between two servers.
///
/// # Errors
/// There is no wrk, or a host is not served.
pub async fn measure(
    namespace: &Namespace,
    controller: &Controller,
    servers: [SocketAddr; 2],
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    let seconds: u64 = std::env::var("BENCH_EXACT_SECONDS").map_or(Ok(60), |seconds| seconds.parse())?;
    let mut prober = Prober::new(controller.http());
    for number in 0..BACKENDS {
        // A benchmark before this one may have had a server of its own.
        point(&namespace.api(), number, servers[0]).await?;
        prober.until(&world::host(number), |response| response.status == 200).await?;
    }
    // Workers hand over what they counted once a second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = counted(controller).await?;
    let script = tempfile::NamedTempFile::with_suffix(".lua")?;
    std::fs::write(script.path(), include_str!("stop.lua"))?;
    let churn = tokio::spawn(churn(namespace.api(), servers));
    let mut clients = Vec::new();
    for number in 0..BACKENDS {
        let client = Command::new("wrk")
            .args(["-t", CONNECTIONS, "-c", CONNECTIONS, "-d", &format!("{}s", seconds + 3), "-s"])
            .arg(script.path())
            .args(["-H", &format!("Host: {}", world::host(number)), &format!("http://{}/", controller.http()), "--", &seconds.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .context("wrk: run scripts/setup.sh bench")?;
        clients.push(client);
    }
    let mut asked = [0; BACKENDS];
    for (asked, client) in asked.iter_mut().zip(clients) {
        let output = client.wait_with_output().await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(!text.contains("Socket errors") && !text.contains("Non-2xx"), "requests failed:\n{text}");
        let line = text.lines().find(|line| line.contains(" requests in ")).with_context(|| format!("no number of requests:\n{text}"))?;
        *asked = line.split_whitespace().next().unwrap_or_default().parse()?;
    }
    churn.abort();
    let found = poll(PATIENCE, || async {
        let now = counted(controller).await?;
        let found: [u64; BACKENDS] = std::array::from_fn(|number| now[number] - before[number]);
        ensure!(found == asked, "{found:?} are counted, {asked:?} were sent");
        Ok(found)
    })
    .await;
    let total: u64 = asked.iter().sum();
    let what = format!("requests of {BACKENDS} backends by metrics and by wrk, {seconds} s, {CHURN} endpoint changes a second");
    let figure = match &found {
        Ok(_) => format!("{total} of {total}, by each backend"),
        Err(error) => error.to_string(),
    };
    report.add(what, figure, "equal, by each backend", found.is_ok(), "");
    Ok(())
}

/// Requests of each backend so far.
async fn counted(controller: &Controller) -> anyhow::Result<[u64; BACKENDS]> {
    let text = controller.metrics().await?;
    let of = |number: usize| {
        let label = format!("service=\"s{number}\"");
        let series = text.lines().filter(|line| line.starts_with("nginx_ingress_controller_requests{") && line.contains(&label));
        series.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
    };
    Ok(std::array::from_fn(of))
}

/// Moves the endpoints of one backend after the other, until it is aborted.
async fn churn(api: kube::Api<EndpointSlice>, servers: [SocketAddr; 2]) {
    let mut ticks = tokio::time::interval(Duration::from_millis(1000 / CHURN));
    for turn in 0.. {
        ticks.tick().await;
        // One that fails is one change fewer.
        let _ = point(&api, turn % BACKENDS, servers[turn / BACKENDS % 2]).await;
    }
}

/// Makes a server the endpoint of a backend.
async fn point(api: &kube::Api<EndpointSlice>, backend: usize, to: SocketAddr) -> kube::Result<()> {
    let patch = json!({ "endpoints": [{ "addresses": [to.ip()], "conditions": { "ready": true } }] });
    api.patch(&format!("s{backend}-1"), &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}
