//! What replicas are counted by, and what they agree on.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, ensure};
use e2e::helm::{Release, chart};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::json;
use testkit::poll;

use super::controller::{rule, start, values};

/// The names of metrics in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("nginx_ingress_controller_")).collect()
}

#[tokio::test]
async fn the_metrics_that_scale_are_metrics_of_the_controller() -> anyhow::Result<()> {
    let case = Case::new("chart-scale").await?;
    let _servers = case.echo(1).await?;
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "nginx_ingress_controller_nginx_process_requests_total"},
        "target": {"type": "AverageValue", "averageValue": "100"}}});
    let scaled = json!({"controller": {
        "config": {"worker-processes": 1}, "service": {"type": "ClusterIP"}, "metrics": {"enabled": true}, "autoscalingTemplate": [pods],
        "autoscaling": {"enabled": true, "minReplicas": 3, "targetCPUUtilizationPercentage": 0, "targetMemoryUtilizationPercentage": 0},
    }});
    let release = Release::install(&case, &values(&case, scaled))?;
    let name = format!("{}-narthex-controller", case.ns());
    let scaler = case.namespace.api::<HorizontalPodAutoscaler>().get(&name).await?;
    let scaler = serde_json::to_value(scaler.spec)?;
    assert_eq!((&scaler["scaleTargetRef"]["name"], &scaler["minReplicas"]), (&json!(name), &json!(3)));
    let budget = case.namespace.api::<PodDisruptionBudget>().get(&name).await?.spec.context("a spec")?;
    assert_eq!(serde_json::to_value(budget.min_available)?, json!(1));

    // Those of this scaler and of every example in the chart.
    let examples = [chart().join("values.yaml"), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart/values/sets.yaml")];
    let text = examples.iter().map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?.concat() + &scaler.to_string();
    let names = metrics(&text);
    ensure!(names.len() >= 2, "{names:?}");
    case.create(&rule(case.ns(), "scaled.example.com").build()).await?;
    let (controller, _kubeconfig) = start(&case, &release).await?;
    controller.until("scaled.example.com", "/", 200).await?;
    poll(PATIENCE, || async {
        let page = controller.metrics().await?;
        let missing: Vec<_> = names.iter().filter(|name| !page.contains(&format!("\n{name}{{"))).collect();
        ensure!(missing.is_empty(), "{missing:?} are no metrics of the controller");
        Ok(())
    })
    .await
}

/// Waits until another Pod than this one leads; the answer is its name.
async fn leader(case: &Case, lease: &str, not: &str) -> anyhow::Result<String> {
    let found = parking_lot::Mutex::new(String::new());
    poll(PATIENCE, || async {
        let spec = case.namespace.api::<Lease>().get(lease).await?.spec.context("a spec")?;
        let holder = spec.holder_identity.unwrap_or_default();
        ensure!(!holder.is_empty() && holder != not, "{holder:?} leads");
        *found.lock() = holder;
        Ok(())
    })
    .await?;
    Ok(found.into_inner())
}

/// Waits until the status has this address alone.
async fn status(case: &Case, host: &str, address: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let status = serde_json::to_value(case.namespace.api::<Ingress>().get(host).await?.status)?;
        ensure!(status["loadBalancer"]["ingress"] == json!([{"ip": address}]), "{status}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn of_three_replicas_one_leads_and_all_serve_and_review() -> anyhow::Result<()> {
    let case = Case::new("chart-three").await?;
    let _servers = case.echo(1).await?;
    let three = json!({"controller": {"config": {"worker-processes": 1}, "service": {"type": "ClusterIP"}, "replicaCount": 3, "electionTTL": "3s"}});
    let release = Release::install(&case, &values(&case, three))?;
    case.create(&rule(case.ns(), "three.example.com").build()).await?;
    let lease = format!("{}-narthex-leader", case.ns());
    let mut replicas = Vec::new();
    for number in 1..=3_u8 {
        // Each with an address of its own, so that a status says who wrote it.
        let flags = [format!("--publish-status-address=192.0.2.{number}"), "--publish-service=".to_owned()];
        replicas.push(super::controller::start_as(&case, &release, &format!("pod-{number}"), &flags).await?);
    }
    for (controller, _) in &replicas {
        controller.until("three.example.com", "/", 200).await?;
    }
    let first = leader(&case, &lease, "").await?;
    status(&case, "three.example.com", &format!("192.0.2.{}", first.trim_start_matches("pod-"))).await?;
    let number: usize = first.trim_start_matches("pod-").parse()?;
    replicas[number - 1].0.kill()?;
    let second = leader(&case, &lease, &first).await?;
    status(&case, "three.example.com", &format!("192.0.2.{}", second.trim_start_matches("pod-"))).await?;
    for (index, (controller, _)) in replicas.iter().enumerate().filter(|(index, _)| index + 1 != number) {
        controller.until("three.example.com", "/", 200).await.with_context(|| format!("replica {}", index + 1))?;
    }
    Ok(())
}
