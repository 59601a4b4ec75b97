//! A webhook that is down, one whose certificate changes, and what is stored with its answers.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use e2e::{Case, PATIENCE, rule};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::PostParams;
use testkit::http::{Connection, Request};
use testkit::kube::PathType;
use testkit::poll;

use super::{Dry, Hook, PATH, bad, with_path};

#[tokio::test]
async fn a_webhook_that_is_down_leaves_the_decision_to_its_policy_and_serving_alone() -> anyhow::Result<()> {
    for (policy, stored) in [("Fail", false), ("Ignore", true)] {
        let hook = Hook::new(&format!("adm-{policy}"), policy).await?;
        let _servers = hook.case.echo(1).await?;
        let mut controller = hook.start(&[]).await?;
        hook.case.serve("served.example.com").await?;
        controller.until("served.example.com", "/", 200).await?;
        controller.kill()?;
        let created = hook.case.create(&rule("late", "late.example.com").build()).await;
        assert_eq!(created.is_ok(), stored, "{policy}: {created:?}");
        assert_eq!(controller.get("served.example.com", "/").await?.status, 200);
    }
    Ok(())
}

#[tokio::test]
async fn the_certificate_is_rotated_while_reviews_go_on() -> anyhow::Result<()> {
    let hook = Hook::new("adm-rotate", "Fail").await?;
    let _controller = hook.start(&["--validating-webhook-lifetime=36s"]).await?;
    let shown = async || -> anyhow::Result<Vec<u8>> {
        let mut connection = Connection::open(&Request::get(hook.address, PATH).host("hook").tls("hook.example")).await?;
        let answer = connection.send(&Request::get(hook.address, PATH).host("hook").tls("hook.example")).await?;
        ensure!(answer.status == 405, "{}", answer.status);
        answer.certificates.first().cloned().context("a certificate")
    };
    let (first, begun, ended) = (shown().await?, Instant::now(), AtomicBool::new(false));
    let reviews = async {
        let mut reviews = 0;
        while !ended.load(Ordering::Relaxed) {
            hook.case.create_dry(&rule("dry", "dry.example.com").build()).await.with_context(|| format!("after {:?}", begun.elapsed()))?;
            reviews += 1;
        }
        anyhow::Ok(reviews)
    };
    let exchange = async {
        while shown().await? == first {
            ensure!(begun.elapsed() < Duration::from_secs(60), "it is the same certificate all the time");
            tokio::task::yield_now().await;
        }
        ended.store(true, Ordering::Relaxed);
        anyhow::Ok(())
    };
    let (reviews, ()) = tokio::try_join!(reviews, exchange)?;
    assert!(reviews > 10, "{reviews}");
    hook.case.create_dry(&rule("dry", "dry.example.com").build()).await?;
    Ok(())
}

#[tokio::test]
async fn the_certificate_of_a_node_whose_clock_is_two_minutes_off_is_valid_elsewhere() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let clock = scratch.path().join("clock");
    for seconds in ["-120", "+120"] {
        std::fs::write(&clock, seconds)?;
        let hook = Hook::new("adm-clock", "Fail").await?;
        let _controller = hook.begin(hook.launch(&[]).clock(&clock)).await.with_context(|| format!("{seconds} s"))?;
        hook.case.create_dry(&rule("dry", "dry.example.com").build()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_dry_run_gets_the_same_answer_and_stores_nothing_and_a_deletion_is_always_allowed() -> anyhow::Result<()> {
    let hook = Hook::new("adm-dry", "Fail").await?;
    // Stored as one of another class.
    let mut early = bad("early");
    early.spec.get_or_insert_default().ingress_class_name = Some("nginx-other".into());
    let controller = hook.start(&[]).await?;
    hook.case.create(&early).await?;
    let host = "dry.example.com";
    hook.case.create_dry(&rule("dry", host).build()).await?;
    ensure!(hook.case.namespace.api::<Ingress>().get_opt("dry").await?.is_none(), "it was stored");
    // Nothing remembers it: another one may have the host.
    hook.case.create(&rule("real", host).build()).await?;
    poll(PATIENCE, || async {
        let again = hook.case.create_dry(&rule("dry", host).build()).await.err().context("it is allowed")?;
        ensure!(format!("{again:#}").contains("already defined by Ingress"), "{again:#}");
        Ok(())
    })
    .await?;
    hook.case.delete::<Ingress>("early").await?;
    hook.case.delete::<Ingress>("real").await?;
    let other = with_path("other", host, "/", PathType::Prefix).build();
    poll(PATIENCE, || async { hook.case.create_dry(&other).await.map(drop) }).await.with_context(|| controller.log())
}

/// Stores a ConfigMap by `kubectl`; the answer has its warnings.
fn apply(case: &Case, name: &str, data: &serde_json::Value) -> anyhow::Result<String> {
    let patch = serde_json::json!({ "data": data }).to_string();
    let mut command = Command::new(case.bed.info().binaries.join("kubectl"));
    command.env("KUBECONFIG", case.bed.kubeconfig()).args(["patch", "configmap", name, "--namespace", case.ns(), "--patch", &patch]);
    let output = command.output()?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    ensure!(output.status.success(), "{text}");
    Ok(text)
}

#[tokio::test]
async fn a_problem_of_the_settings_is_a_warning_and_never_a_refusal() -> anyhow::Result<()> {
    let hook = Hook::new("adm-settings", "Fail").await?;
    let other: ConfigMap = serde_json::from_value(serde_json::json!({"metadata": {"name": "another"}}))?;
    hook.case.namespace.api().create(&PostParams::default(), &other).await?;
    let mut controller = hook.start(&[]).await?;
    let broken = serde_json::json!({"gzip-level": "many", "no-such-key": "1"});
    let text = apply(&hook.case, "settings", &broken)?;
    for part in ["Warning:", "gzip-level", "no-such-key", "patched"] {
        ensure!(text.contains(part), "{part}: {text}");
    }
    let text = apply(&hook.case, "another", &broken)?;
    ensure!(!text.contains("Warning:"), "{text}");
    // Without an answer it is stored all the same.
    controller.kill()?;
    apply(&hook.case, "settings", &serde_json::json!({"gzip-level": "2"}))?;
    Ok(())
}
