//! Requests of all kinds beside plain NGINX, in alternating rounds, all with the same backend.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{bail, ensure};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use testkit::http::Request;
use testkit::kube::{Certificate, Namespace, PathType, mk_certificate, mk_ingress, mk_tls_secret};

use crate::controller::Controller;
use crate::measure::Prober;
use crate::plain::{Listen, Plain};
use crate::report::BenchReport;
use crate::traffic::{Proxy, Round, Traffic};
use crate::world;

/// Host of the requests by TLS.
const TLS_HOST: &str = "tls.example.com";
/// Longest wait for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rounds of small requests, and the length of one.
const SMALL: (usize, Duration) = (5, Duration::from_secs(4));
/// The same of the other kinds of traffic.
const OTHER: (usize, Duration) = (5, Duration::from_secs(2));

/// Measures a controller of the first hosts of a [`world`]. `ports` are four free ones.
///
/// # Errors
/// A program of the load is missing, a request failed, or the references can't be started.
pub async fn measure(namespace: &Namespace, controller: &Controller, ports: &[u16], report: &mut BenchReport) -> anyhow::Result<()> {
    let &[backend, bare, headers, alike, tls] = ports else { bail!("{} ports: expected five", ports.len()) };
    let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let backend = SocketAddr::from(([10, 77, 9, 13], backend));
    let listen = Listen { bare: local(bare), headers: local(headers), alike: local(alike), tls: local(tls), backend };
    let certificate = mk_certificate(&[TLS_HOST])?;
    let conf = std::fs::read_to_string(controller.work_dir().join("nginx.conf"))?;
    let (dir, workers) = (tempfile::tempdir()?, controller.nginx()?.1);
    let plain = Plain::start(dir.path(), listen, &conf, workers.len(), &certificate)?;
    let host = world::host(0);
    Prober::new(listen.alike).until(&host, |response| response.status == 200).await?;
    let patch = json!({ "endpoints": [{ "addresses": [backend.ip()], "conditions": { "ready": true } }] });
    namespace.api::<EndpointSlice>().patch("s0-1", &PatchParams::default(), &Patch::Merge(patch)).await?;
    Prober::new(controller.http()).until(&host, |response| response.text() == "ok").await?;
    serve_tls(namespace, controller, &certificate).await?;

    let [bare, headers, alike] = plain.workers()?;
    let [bare, headers, alike] = [(listen.bare, bare), (listen.headers, headers), (listen.alike, alike)].map(|(http, workers)| Proxy {
        http,
        https: listen.tls,
        workers,
    });
    let ours = Proxy { http: controller.http(), https: controller.https(), workers };
    small([&bare, &headers, &alike, &ours], &host, report).await?;
    others([&headers, &ours], report).await
}

/// Adds an Ingress for [`TLS_HOST`] and waits until its certificate is served.
async fn serve_tls(namespace: &Namespace, controller: &Controller, certificate: &Certificate) -> anyhow::Result<()> {
    namespace.api::<Secret>().create(&PostParams::default(), &mk_tls_secret("tls", certificate)).await?;
    let ingress = mk_ingress("tls").class("nginx").host(TLS_HOST).path("/", PathType::Prefix, "s0", 80).tls(TLS_HOST, "tls");
    // The kinds of traffic without TLS use the same host.
    namespace.api::<Ingress>().create(&PostParams::default(), &ingress.annotation("ssl-redirect", "false").build()).await?;
    let address = controller.https();
    testkit::poll(PATIENCE, || async move {
        let response = Request::get(address, "/").host(TLS_HOST).tls(TLS_HOST).send().await?;
        ensure!(
            response.status == 200 && response.certificates.first() == Some(&certificate.der),
            "another certificate or {}",
            response.status
        );
        Ok(())
    })
    .await
}

async fn small(proxies: [&Proxy; 4], host: &str, report: &mut BenchReport) -> anyhow::Result<()> {
    let rounds = rounds(proxies, Traffic::Small, host, SMALL).await?;
    let costs = [0, 1, 2, 3].map(|proxy| median(&rounds, |round| round[proxy].cost));
    let what = "CPU of the workers a request: bare proxy / with the headers / with headers and access log / Narthex, metrics on";
    let figure = costs.map(|cost| format!("{cost:.1}")).join(" / ");
    let share = median(&rounds, |[_, headers, _, ours]| headers.cost / ours.cost);
    report.add(what, format!("{figure} µs, the second is {share:.2} of ours"), "≥ 0.75", share >= 0.75, "95.6 µs, 0.33");
    let rows =
        [(0, "bare proxy", "", 0.0, ""), (1, "with the headers", "≥ 0.78", 0.78, "0.40"), (2, "with headers and access log", "", 0.0, "")];
    for (proxy, what, target, least, peer) in rows {
        let rate = median(&rounds, |round| round[3].rate / round[proxy].rate);
        let what = format!("throughput, metrics on, plain NGINX {what} = 1");
        report.add(what, format!("{rate:.2}"), target, rate >= least, peer);
    }
    Ok(())
}

async fn others(proxies: [&Proxy; 2], report: &mut BenchReport) -> anyhow::Result<()> {
    for (traffic, what) in Traffic::OTHERS {
        let rounds = rounds(proxies, traffic, TLS_HOST, OTHER).await?;
        let [plain, ours] = [0, 1].map(|proxy| median(&rounds, |round| round[proxy].cost));
        let share = median(&rounds, |[plain, ours]| plain.cost / ours.cost);
        let rate = median(&rounds, |[plain, ours]| ours.rate / plain.rate);
        let (target, least) = if traffic == Traffic::Handshakes { ("≥ 0.95 a second", 0.95) } else { ("", 0.0) };
        let figure = format!("{plain:.0} / {ours:.0} µs, {share:.2}; {rate:.2} a second");
        report.add(format!("{what}: plain NGINX with the headers / Narthex"), figure, target, rate >= least, "");
    }
    Ok(())
}

async fn rounds<const N: usize>(
    proxies: [&Proxy; N],
    traffic: Traffic,
    host: &str,
    (count, length): (usize, Duration),
) -> anyhow::Result<Vec<[Round; N]>> {
    let mut rounds = Vec::new();
    for _ in 0..count {
        let mut round = [Round { rate: 0.0, cost: 0.0 }; N];
        for (proxy, result) in proxies.into_iter().zip(&mut round) {
            *result = proxy.round(traffic, host, length).await?;
        }
        rounds.push(round);
    }
    Ok(rounds)
}

fn median<const N: usize>(rounds: &[[Round; N]], of: impl Fn(&[Round; N]) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
