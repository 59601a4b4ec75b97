//! The time of answers of the inspection API with many hosts: at rest, and after changes, when what answers have in common is found out again.

use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use testkit::http::{Peer, Request};
use testkit::kube::Namespace;

use crate::controller::Controller;
use crate::measure::percentile;
use crate::report::{BenchReport, ms};
use crate::world;

const SAMPLES: usize = 60;
/// A sample of so many follows a change.
const CHANGED: usize = 4;
/// From a change until it is part of answers.
const SETTLED: Duration = Duration::from_millis(100);
/// Longest time of an answer.
const LIMIT: Duration = Duration::from_millis(100);

/// Measures each list, by the socket of the command line, of a controller of `count` hosts of a [`world`].
///
/// # Errors
/// There is no answer.
pub async fn measure(namespace: &Namespace, controller: &Controller, count: usize, report: &mut BenchReport) -> anyhow::Result<()> {
    let (middle, ns) = (count / 2, namespace.name());
    let questions = [
        "now".to_owned(),
        "ingresses?q=i99".to_owned(),
        "ingresses?state=served&limit=1000".to_owned(),
        "hosts?limit=1000".to_owned(),
        "hosts?q=h99".to_owned(),
        format!("hosts?namespace={ns}&q=none"),
        format!("hosts/{}", world::host(middle)),
        "backends?limit=1000".to_owned(),
        "backends?q=s99".to_owned(),
        format!("backends/{ns}/s{middle}:80"),
        "certificates".to_owned(),
        "problems?limit=1000".to_owned(),
        "settings".to_owned(),
        "budgets".to_owned(),
        "traffic?by=host".to_owned(),
        "revisions".to_owned(),
    ];
    for question in questions {
        let (mut samples, bytes) = ask(namespace, controller, &question).await?;
        let (p50, p99) = (percentile(&mut samples, 50.0), percentile(&mut samples, 99.0));
        let figure = format!("p50 {}, p99 {}, {} KB", ms(p50), ms(p99), bytes / 1000);
        report.add(format!("`/api/v1/{}`, {count} hosts", question.replace(ns, "NS")), figure, "p99 ≤ 100 ms", p99 <= LIMIT, "");
    }
    Ok(())
}

/// The times of answers, and the size of one.
async fn ask(namespace: &Namespace, controller: &Controller, question: &str) -> anyhow::Result<(Vec<Duration>, usize)> {
    let (socket, api) = (controller.work_dir().join("run/narthex.sock"), namespace.api::<EndpointSlice>());
    let (mut samples, mut bytes) = (Vec::new(), 0);
    for sample in 0..SAMPLES {
        if sample % CHANGED == 0 {
            let address = format!("10.99.{}.{}", sample / 200, 1 + sample % 200);
            let patch = json!({ "endpoints": [{ "addresses": [address], "conditions": { "ready": true } }] });
            api.patch("s0-1", &PatchParams::default(), &Patch::Merge(patch)).await?;
            tokio::time::sleep(SETTLED).await;
        }
        let began = Instant::now();
        let answer = Request::get(Peer::Unix(socket.clone()), format!("/api/v1/{question}")).host("narthex").send().await?;
        samples.push(began.elapsed());
        ensure!(answer.status == 200, "{question}: {} {}", answer.status, answer.text());
        bytes = answer.body.len();
    }
    Ok((samples, bytes))
}
