//! Many hosts with a certificate of their own: when a new one is served, and the memory that all of them take.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use testkit::bed::Bed;
use testkit::http::Request;
use testkit::kube::{Certificate, Namespace, PathType, create_all, mk_certificate, mk_ingress, mk_tls_secret};
use tokio::task::JoinSet;

use crate::controller::{Controller, QUIET, resident_bytes};
use crate::measure::{all_answer, percentile};
use crate::report::{BenchReport, ms};
use crate::world;

/// Hosts, each with a Secret.
const COUNT: usize = 10_000;
/// Certificates that are replaced.
const SAMPLES: usize = 200;
/// Clients that ask at once.
const CLIENTS: usize = 8;
/// Longest wait for a certificate.
const PATIENCE: Duration = Duration::from_secs(60);
/// Targets.
const SOON: Duration = Duration::from_millis(100);
const MEMORY: u64 = 100_000_000;

/// Measures a controller of its own, with one worker, on a namespace of its own. `backend`: where the hosts lead.
///
/// # Errors
/// A host does not answer, or has another certificate than its own.
pub async fn measure(bed: &Bed, backend: SocketAddr, report: &mut BenchReport) -> anyhow::Result<()> {
    let namespace = bed.namespace("bench-tls").await?;
    let settings = json!({ "worker-processes": "1", "lua-shared-dicts": "certificate_data: 100" });
    let settings = ConfigMap { data: serde_json::from_value(settings)?, ..named("settings") };
    namespace.api().create(&PostParams::default(), &settings).await?;
    let (client, name) = (namespace.client(), namespace.name());
    create_all(client, name, [world::service(0)]).await?;
    create_all(client, name, [world::slice(0, backend)]).await?;
    create_all(client, name, (0..COUNT).map(|number| ingress(number, false))).await?;
    let flags: Vec<String> = QUIET.map(str::to_owned).into_iter().chain([format!("--configmap={name}/settings")]).collect();

    let plain = Controller::start_with(bed, name, &flags).await?;
    all_answer(plain.http(), (0..COUNT).map(world::host), CLIENTS).await?;
    let before = Memory::of(&plain)?;
    drop(plain);

    let certificates: Arc<Vec<Certificate>> = Arc::new((0..COUNT).map(certificate).collect::<Result<_, _>>()?);
    create_all(client, name, certificates.iter().enumerate().map(|(number, certificate)| mk_tls_secret(&secret(number), certificate)))
        .await?;
    with_tls(&namespace).await?;
    let controller = Controller::start_with(bed, name, &flags).await?;
    all_show(controller.https(), &certificates).await?;
    let after = Memory::of(&controller)?;
    let [added, workers] = [(before.controller, after.controller), (before.worker, after.worker)].map(|(old, new)| new.saturating_sub(old));
    report.add(
        format!("memory that {COUNT} TLS Secrets add: controller / worker after all hosts were asked"),
        format!("{} / {} MB", added / 1_000_000, workers / 1_000_000),
        "≤ 100 / 100 MB",
        added <= MEMORY && workers <= MEMORY,
        "",
    );

    let reloads = controller.metric("narthex_reloads_total").await?;
    let mut samples = Vec::new();
    for sample in 0..SAMPLES {
        samples.push(replace(&namespace, &controller, sample * 7 % COUNT).await?);
    }
    let reloads = controller.metric("narthex_reloads_total").await? - reloads;
    let (p50, p99) = (percentile(&mut samples, 50.0), percentile(&mut samples, 99.0));
    report.add(
        format!("new certificate of a known host served, {COUNT} TLS hosts"),
        format!("p50 {}, p99 {}, {reloads} reloads", ms(p50), ms(p99)),
        "p99 ≤ 100 ms, 0 reloads",
        p99 <= SOON && reloads == 0.0,
        "",
    );
    Ok(())
}

/// Resident memory, in bytes.
struct Memory {
    controller: u64,
    worker: u64,
}

impl Memory {
    fn of(controller: &Controller) -> anyhow::Result<Self> {
        let (_, workers) = controller.nginx()?;
        let worker = workers.first().context("NGINX has no worker")?;
        Ok(Self { controller: resident_bytes(controller.pid())?, worker: resident_bytes(*worker)? })
    }
}

fn named(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

fn secret(number: usize) -> String {
    format!("t{number}")
}

fn certificate(number: usize) -> anyhow::Result<Certificate> {
    mk_certificate(&[&world::host(number)])
}

fn ingress(number: usize, tls: bool) -> Ingress {
    let host = world::host(number);
    let ingress = mk_ingress(&format!("i{number}")).class("nginx").host(&host).path("/", PathType::Prefix, "s0", 80);
    if tls { ingress.tls(&host, &secret(number)).build() } else { ingress.build() }
}

/// Has each host use its Secret.
async fn with_tls(namespace: &Namespace) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for first in 0..CLIENTS {
        let api = namespace.api::<Ingress>();
        tasks.spawn(async move {
            for number in (first..COUNT).step_by(CLIENTS) {
                let tls = ingress(number, true).spec.and_then(|spec| spec.tls);
                let patch = Patch::Merge(json!({ "spec": { "tls": tls } }));
                api.patch(&format!("i{number}"), &PatchParams::default(), &patch).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Whether a handshake shows a certificate.
async fn shows(address: SocketAddr, host: &str, certificate: &Certificate) -> anyhow::Result<bool> {
    let response = Request::get(address, "/").host(host).tls(host).send().await?;
    Ok(response.certificates.first() == Some(&certificate.der))
}

/// Asks every host for its certificate.
async fn all_show(address: SocketAddr, certificates: &Arc<Vec<Certificate>>) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for first in 0..CLIENTS {
        let certificates = Arc::clone(certificates);
        tasks.spawn(async move {
            for number in (first..COUNT).step_by(CLIENTS) {
                let host = world::host(number);
                ensure!(shows(address, &host, &certificates[number]).await?, "{host} shows another certificate");
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Replaces the certificate of a host: the time until it is shown.
async fn replace(namespace: &Namespace, controller: &Controller, number: usize) -> anyhow::Result<Duration> {
    let (host, renewed) = (world::host(number), certificate(number)?);
    let patch = Patch::Merge(json!({ "data": mk_tls_secret(&secret(number), &renewed).data }));
    namespace.api::<Secret>().patch(&secret(number), &PatchParams::default(), &patch).await?;
    let began = Instant::now();
    while !shows(controller.https(), &host, &renewed).await? {
        ensure!(began.elapsed() < PATIENCE, "{host} does not show its new certificate");
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    Ok(began.elapsed())
}
