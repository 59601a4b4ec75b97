//! The time of an admission review: 50 callers, each over a connection of its own, while all Ingresses are known.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::bed::Bed;
use testkit::http::{Connection, Request};
use testkit::kube::{PathType, mk_certificate, mk_ingress};
use testkit::ports::Ports;
use tokio::task::JoinSet;

use crate::controller::{Controller, QUIET};
use crate::measure::percentile;
use crate::report::{BenchReport, ms};
use crate::world;

/// Callers at once.
const CALLERS: usize = 50;
/// Reviews of each.
const REVIEWS: usize = 100;
/// Pause of a caller between reviews: an API server has one after the other for each client of its own.
const PAUSE: Duration = Duration::from_millis(50);
const LIMIT: Duration = Duration::from_millis(10);

/// Measures a controller of its own on the namespace of the world, which has `count` Ingresses.
///
/// # Errors
/// The controller does not start, or a review has a wrong answer.
pub async fn measure(bed: &Bed, namespace: &str, count: usize, report: &mut BenchReport) -> anyhow::Result<()> {
    let files = tempfile::tempdir()?;
    let pair = mk_certificate(&["hook.example"])?;
    let [certificate, key] = [("tls.crt", &pair.certificate_pem), ("tls.key", &pair.key_pem)].map(|(name, text)| {
        let path = files.path().join(name);
        std::fs::write(&path, text).map(|()| path)
    });
    let address = SocketAddr::from(([127, 0, 0, 1], Ports::one()?));
    let mut flags = QUIET.map(str::to_owned).to_vec();
    flags.extend([
        format!("--validating-webhook={address}"),
        format!("--validating-webhook-certificate={}", certificate?.display()),
        format!("--validating-webhook-key={}", key?.display()),
    ]);
    let controller = Controller::start_with(bed, namespace, &flags).await?;
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        callers.spawn(call(address, namespace.to_owned(), caller, count));
    }
    let mut samples = Vec::new();
    while let Some(done) = callers.join_next().await {
        samples.extend(done??);
    }
    drop(controller);
    let (p50, p99) = (percentile(&mut samples, 50.0), percentile(&mut samples, 99.0));
    let what = format!("admission review, {count} Ingresses, {CALLERS} callers with {} reviews a second in all", rate());
    report.add(what, format!("p50 {}, p99 {}", ms(p50), ms(p99)), "p99 ≤ 10 ms", p99 <= LIMIT, "");
    Ok(())
}

fn rate() -> u128 {
    CALLERS as u128 * 1_000 / PAUSE.as_millis()
}

/// The times of one caller's reviews: every fourth is of an Ingress that must be refused, as another one has its host and path.
async fn call(address: SocketAddr, namespace: String, caller: usize, count: usize) -> anyhow::Result<Vec<Duration>> {
    let to = |body: Vec<u8>| Request::new("POST", address, "/networking/v1/ingresses").host("hook.example").tls("hook.example").body(body);
    let mut connection = Connection::open(&to(Vec::new())).await?;
    let mut samples = Vec::new();
    // Not all at the same moment.
    tokio::time::sleep(PAUSE * u32::try_from(caller)? / u32::try_from(CALLERS)?).await;
    for number in 0..REVIEWS {
        let is_taken = number % 4 == 0;
        let host = if is_taken { world::host((caller * REVIEWS + number) % count) } else { format!("new-{caller}-{number}.example.com") };
        let ingress = mk_ingress(&format!("review-{caller}-{number}")).class("nginx").host(&host).path("/", PathType::Prefix, "s0", 80);
        let mut object = serde_json::to_value(ingress.build())?;
        object["metadata"]["namespace"] = json!(namespace);
        let kind = json!({"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"});
        let name = &object["metadata"]["name"];
        let request = json!({"uid": "u", "kind": kind, "operation": "CREATE", "namespace": namespace, "name": name, "object": object});
        let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let began = Instant::now();
        let response = connection.send(&to(serde_json::to_vec(&body)?)).await?;
        samples.push(began.elapsed());
        let answer: serde_json::Value = serde_json::from_str(&response.text()).with_context(|| response.text())?;
        ensure!(answer["response"]["allowed"] == json!(!is_taken), "{host}: {answer}");
        tokio::time::sleep(PAUSE).await;
    }
    Ok(samples)
}
