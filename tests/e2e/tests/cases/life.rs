//! Life and death under load: no request fails while a Deployment changes, and everything comes back when a part dies.

use std::time::Duration;

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use testkit::http::Request;
use testkit::kube::{PathType, mk_deployment, mk_ingress, mk_service};
use testkit::load::Load;
use testkit::poll;

const HOST: &str = "life.example.com";

/// A Deployment of two echo servers behind one host.
async fn served(case: &Case) -> anyhow::Result<Controller> {
    case.namespace.api().create(&Default::default(), &mk_deployment("echo", 2)).await?;
    case.namespace.api().create(&Default::default(), &mk_service("echo", 80, 8080, Some("echo"))).await?;
    route(case, "echo", HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(controller)
}

async fn route(case: &Case, name: &str, host: &str) -> anyhow::Result<()> {
    let ingress = mk_ingress(name).class("nginx").host(host).path("/", PathType::Prefix, "echo", 80).build();
    case.namespace.api().create(&Default::default(), &ingress).await?;
    Ok(())
}

async fn patch(case: &Case, spec: serde_json::Value) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({ "spec": spec }));
    case.namespace.api::<Deployment>().patch("echo", &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Waits until the Deployment's newest generation is rolled out with so many replicas and nothing of the old one is left.
async fn rolled_out(case: &Case, replicas: i32) -> anyhow::Result<()> {
    poll(PATIENCE * 2, || async {
        let deployment = case.namespace.api::<Deployment>().get("echo").await?;
        let status = deployment.status.unwrap_or_default();
        ensure!(status.observed_generation == deployment.metadata.generation, "the controller has not seen it");
        let counts = (status.replicas, status.updated_replicas, status.ready_replicas);
        ensure!(counts == (Some(replicas), Some(replicas), Some(replicas)), "{counts:?}");
        Ok(())
    })
    .await
}

fn load(controller: &Controller, rate: u32) -> Load {
    Load::new(Request::get(controller.http(), "/").host(HOST), rate)
}

#[tokio::test(flavor = "multi_thread")]
async fn scaling_and_a_rollout_lose_no_request_and_need_no_reload() -> anyhow::Result<()> {
    let case = Case::new("rollout").await?;
    let controller = served(&case).await?;
    let load = load(&controller, 500).start();
    let steps = [
        (6, json!({ "replicas": 6 })),
        (6, json!({ "template": { "metadata": { "annotations": { "release": "2" } } } })),
        (1, json!({ "replicas": 1 })),
    ];
    for (replicas, spec) in steps {
        patch(&case, spec).await?;
        rolled_out(&case, replicas).await?;
        // The bed rolls out faster than a kubelet: every state gets its share of requests.
        load.begin(100).await;
    }
    let report = load.stop().await;
    assert!(report.requests() >= 300, "only {} requests", report.requests());
    assert!(report.failures.is_empty(), "{} of {} failed, first {:?}", report.failures.len(), report.requests(), report.failures.first());
    assert_eq!(controller.reloads().await?, 0.0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_nginx_master_is_started_again_with_everything_it_held() -> anyhow::Result<()> {
    let case = Case::new("master").await?;
    let controller = served(&case).await?;
    let old = controller.nginx_pid()?;
    kill(Pid::from_raw(old), Signal::SIGKILL)?;
    route(&case, "meanwhile", "meanwhile.example.com").await?;
    controller.until("meanwhile.example.com", "/", 200).await?;
    controller.until(HOST, "/", 200).await?;
    poll(PATIENCE, || async {
        ensure!(controller.nginx_pid()? != old, "no new master yet");
        ensure!(controller.metric("narthex_nginx_starts_total").await? == 2.0);
        Ok(())
    })
    .await?;
    controller.until(HOST, "/", 200).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_is_replaced_and_serves_what_changed_meanwhile() -> anyhow::Result<()> {
    let case = Case::new("worker").await?;
    let controller = served(&case).await?;
    let master = controller.nginx_pid()?;
    let children = std::fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
    for worker in children.split_whitespace() {
        kill(Pid::from_raw(worker.parse()?), Signal::SIGKILL)?;
    }
    route(&case, "meanwhile", "meanwhile.example.com").await?;
    controller.until("meanwhile.example.com", "/", 200).await?;
    controller.until(HOST, "/", 200).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_controller_leaves_nginx_serving_and_the_next_adopts_it_without_a_reload() -> anyhow::Result<()> {
    let case = Case::new("controller").await?;
    let mut controller = served(&case).await?;
    let master = controller.nginx_pid()?;
    let load = load(&controller, 200).start();
    controller.kill()?;
    assert_eq!(controller.get(HOST, "/").await?.status, 200);
    route(&case, "meanwhile", "meanwhile.example.com").await?;
    controller.start().await?;
    controller.until("meanwhile.example.com", "/", 200).await?;
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{} of {} failed, first {:?}", report.failures.len(), report.requests(), report.failures.first());
    assert_eq!(controller.nginx_pid()?, master);
    assert_eq!(controller.reloads().await?, 0.0);
    assert_eq!(controller.metric("narthex_nginx_starts_total").await?, 0.0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_killed_never_empties_what_is_served() -> anyhow::Result<()> {
    let bed = testkit::bed::Bed::start_private().await?;
    let case = Case::with_bed(bed, "apiserver").await?;
    let controller = served(&case).await?;
    let load = load(&controller, 200).start();
    case.bed.api_server().kill().await?;
    assert_eq!(controller.get(HOST, "/").await?.status, 200);
    case.bed.api_server().start().await?;
    route(&case, "after", "after.example.com").await?;
    controller.until("after.example.com", "/", 200).await?;
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{} of {} failed, first {:?}", report.failures.len(), report.requests(), report.failures.first());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ingress_that_nginx_refuses_is_set_aside_and_others_go_on() -> anyhow::Result<()> {
    let case = Case::new("quarantine").await?;
    case.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]).await?;
    let controller = served(&case).await?;
    let key = "nginx.ingress.kubernetes.io/configuration-snippet";
    let broken = mk_ingress("broken").class("nginx").annotation(key, "no_such_directive on;").host("broken.example.com");
    case.namespace.api().create(&Default::default(), &broken.path("/", PathType::Prefix, "echo", 80).build()).await?;
    poll(PATIENCE, || async {
        let metrics = controller.metrics().await?;
        ensure!(metrics.contains("narthex_problems{kind=\"Quarantined\"} 1"), "nothing is quarantined");
        Ok(())
    })
    .await?;
    route(&case, "other", "other.example.com").await?;
    controller.until("other.example.com", "/", 200).await?;
    assert_eq!(controller.get("broken.example.com", "/").await?.status, 404);

    // Mended, it is served: with one reload for its snippet.
    let patch = json!({ "metadata": { "annotations": { key: "add_header X-Mended yes;" } } });
    let api = case.namespace.api::<k8s_openapi::api::networking::v1::Ingress>();
    api.patch("broken", &PatchParams::default(), &Patch::Merge(patch)).await?;
    let mended = controller.until("broken.example.com", "/", 200).await?;
    assert_eq!(mended.header("x-mended"), Some("yes"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loser_of_a_conflict_gets_a_warning_event() -> anyhow::Result<()> {
    use k8s_openapi::api::core::v1::Event;
    let case = Case::new("conflict").await?;
    let controller = served(&case).await?;
    // Made in the same second at the earliest: the greater name wins, so "a-second" loses in any case.
    route(&case, "a-second", HOST).await?;
    poll(Duration::from_secs(30), || async {
        let events = case.namespace.api::<Event>().list(&Default::default()).await?;
        let found = events.items.iter().find(|event| event.reason.as_deref() == Some("Conflict"));
        let event = found.ok_or_else(|| anyhow::anyhow!("no event yet"))?;
        ensure!(event.type_.as_deref() == Some("Warning") && event.involved_object.name.as_deref() == Some("a-second"), "{event:?}");
        Ok(())
    })
    .await?;
    controller.until(HOST, "/", 200).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_has_nothing_to_read_in_a_cluster_and_a_reload_is_asked_for_by_http() -> anyhow::Result<()> {
    let case = Case::new("asked").await?;
    route(&case, "plain", HOST).await?;
    let scratch = tempfile::tempdir()?;
    let socket = scratch.path().join("reload.sock");
    let controller = case.controller().flag(&format!("--listen=unix:{}", socket.display())).start().await?;
    let pid = i32::try_from(controller.pid().unwrap_or_default())?;
    kill(Pid::from_raw(pid), Signal::SIGHUP)?;
    poll(PATIENCE, || async {
        ensure!(controller.log().contains("nothing to read again"), "{}", controller.log());
        Ok(())
    })
    .await?;
    assert_eq!(controller.reloads().await?, 0.0);
    let response = Request::new("POST", socket, "/reload").host("n").timeout(PATIENCE).send().await?;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(controller.metric("narthex_reloads_total{namespace=\"\",reason=\"asked\",result=\"success\"}").await?, 1.0);
    Ok(())
}
