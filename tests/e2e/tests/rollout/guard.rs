//! Checks before a rollout, and rollouts whose first new Pod fails.

use anyhow::{Context, ensure};
use e2e::receiver::Receiver;
use e2e::rollout::{Kind, Rollout, Wanted, deployment};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::poll;

const AUTO: (&str, &str) = ("reloader.stakater.com/auto", "true");

/// Waits for an Event about an object of this kind and returns its text.
async fn until_event(case: &Case, kind: &str, reason: &str) -> anyhow::Result<String> {
    poll(PATIENCE, || async {
        let events = case.namespace.api::<Event>().list(&ListParams::default()).await?.items;
        let is_it = |event: &&Event| {
            event.reason.as_deref() == Some(reason) && event.regarding.as_ref().is_some_and(|object| object.kind.as_deref() == Some(kind))
        };
        let found = events.iter().find(is_it).with_context(|| format!("no Event {reason} about a {kind}"))?;
        ensure!(found.regarding.as_ref().is_some_and(|object| object.uid.is_some()), "kubectl describe looks for the uid");
        Ok(found.note.clone().unwrap_or_default())
    })
    .await
}

fn conf(text: &str) -> Value {
    json!({"data": {"site.conf": text, "notes.txt": "not } nginx"}})
}

#[tokio::test]
async fn broken_nginx_configuration_is_held_back_until_it_changes() -> anyhow::Result<()> {
    let case = Case::new("ro-nginx").await?;
    let receiver = Receiver::start().await?;
    case.apply_map("config", conf("server { listen 80; }")).await?;
    case.secret("secret", "1").await?;
    case.make(deployment("web", &[AUTO, ("rollout.narthex.dev/check", "nginx")])).await?;
    case.make(deployment("unchecked", &[AUTO])).await?;
    let alerts = [("ALERT_ON_RELOAD", "true"), ("ALERT_WEBHOOK_URL", &*receiver.url())];
    let rollout = Rollout::start(&case, &[], &alerts).await?;
    for name in ["web", "unchecked"] {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }
    case.fence().await?;

    case.apply_map("config", conf("server { listen 80 }")).await?;
    let note = until_event(&case, "ConfigMap", "RolloutCheckFailed").await?;
    assert!(note.contains("site.conf is not complete NGINX configuration, line 1"), "{note}");
    assert!(until_event(&case, "Deployment", "RolloutHeld").await?.contains("ConfigMap config"));
    receiver.until_notified("failed its check").await?;
    rollout.until_metric("narthex_rollout_held", 1.0).await?;
    case.rolled_out(Kind::Deployment, "unchecked", 1).await?;
    // New Pods would get the broken file, whatever else they are rolled out for.
    case.secret("secret", "2").await?;
    case.rolled_out(Kind::Deployment, "unchecked", 2).await?;
    case.settled().await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    assert!((rollout.metric("narthex_rollout_checks_total{result=\"failed\"}").await? - 1.0).abs() < 0.5, "each content is checked once");

    case.apply_map("config", conf("server { listen 81; }")).await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    rollout.until_metric("narthex_rollout_held", 0.0).await
}

#[tokio::test]
async fn a_command_decides_about_the_files_of_a_change() -> anyhow::Result<()> {
    let case = Case::new("ro-command").await?;
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("check");
    std::fs::write(&script, "test \"$(cat \"$1/key\")\" != bad || { echo \"$(cat \"$1/key\") is bad\"; exit 1; }\n")?;
    case.config("config", "1").await?;
    case.secret("secret", "1").await?;
    case.make(deployment("web", &[AUTO])).await?;
    case.make(deployment("trusting", &[AUTO, ("rollout.narthex.dev/check", "none")])).await?;
    let command = format!("--check-command=sh {} {{}}", script.display());
    let _rollout = Rollout::start(&case, &["--check=command", &command], &[]).await?;
    for name in ["web", "trusting"] {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }
    case.fence().await?;
    case.config("config", "bad").await?;
    assert!(until_event(&case, "ConfigMap", "RolloutCheckFailed").await?.ends_with("bad is bad"));
    case.rolled_out(Kind::Deployment, "trusting", 1).await?;
    case.config("config", "good").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    // What a Secret holds is not reported.
    case.secret("secret", "bad").await?;
    let note = until_event(&case, "Secret", "RolloutCheckFailed").await?;
    assert!(!note.contains("bad"), "{note}");
    case.rolled_out(Kind::Deployment, "web", 1).await
}

#[tokio::test]
async fn a_command_that_takes_too_long_fails_the_check() -> anyhow::Result<()> {
    let case = Case::new("ro-timeout").await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &[AUTO])).await?;
    let _rollout = Rollout::start(&case, &["--check=command", "--check-command=sleep 600", "--check-timeout=1"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    assert_eq!(until_event(&case, "ConfigMap", "RolloutCheckFailed").await?, "--check-command did not end within 1 s");
    case.rolled_out(Kind::Deployment, "web", 0).await
}

#[tokio::test]
async fn content_that_changes_while_it_is_checked_is_not_rolled_out() -> anyhow::Result<()> {
    let case = Case::new("ro-reread").await?;
    let directory = tempfile::tempdir()?;
    let script = "cd \"$(dirname \"$0\")\"; test \"$(cat \"$1/key\")\" = 3 && exit; touch begun; until test -e go; do sleep 0.05; done\n";
    std::fs::write(directory.path().join("check"), script)?;
    case.config("config", "1").await?;
    case.make(deployment("web", &[AUTO])).await?;
    let command = format!("--check-command=sh {} {{}}", directory.path().join("check").display());
    let rollout = Rollout::start(&case, &["--check=command", &command, "--check-timeout=600"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    poll(PATIENCE, || async {
        ensure!(directory.path().join("begun").exists(), "no check has begun");
        Ok(())
    })
    .await?;
    // What is decided about is not what there is any more when the check ends: new Pods would get unchecked content.
    case.config("config", "3").await?;
    std::fs::write(directory.path().join("go"), "")?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    rollout.until_metric("narthex_rollout_checks_total{result=\"passed\"}", 2.0).await?;
    case.fence().await?;
    case.settled().await?;
    case.revisions("web", 2).await
}

/// Waits for a Pod with another digest than `old` and gives its container a state that does not go away.
async fn break_new_pod(case: &Case, app: &str) -> anyhow::Result<()> {
    let pods = case.namespace.api::<Pod>();
    let name = poll(PATIENCE, || async {
        let list = pods.list(&ListParams::default().labels(&format!("app={app}"))).await?.items;
        let is_new = |pod: &&Pod| {
            let value = serde_json::to_value(pod).unwrap_or_default();
            let reported = value["status"]["containerStatuses"].is_array();
            reported && value["spec"]["containers"][0]["env"].as_array().is_some_and(|variables| !variables.is_empty())
        };
        list.iter().find(is_new).and_then(|pod| pod.metadata.name.clone()).context("no new Pod yet")
    })
    .await?;
    let status = json!({"status": {"containerStatuses": [{
        "name": "echo", "image": "echo", "imageID": "echo", "ready": false, "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}},
    }]}});
    pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

#[tokio::test]
async fn a_deployment_whose_first_new_pod_fails_is_paused_until_the_content_changes() -> anyhow::Result<()> {
    let case = Case::new("ro-fail").await?;
    let receiver = Receiver::start().await?;
    case.config("config", "1").await?;
    // Its Pods never get ready, so that a rollout stays at its first new one.
    let template = json!({"metadata": {"annotations": {"echo.narthex.dev/ready": "false"}}});
    case.make(Wanted { template, ..deployment("web", &[AUTO]) }).await?;
    let alerts = [("ALERT_ON_RELOAD", "true"), ("ALERT_SINK", "slack"), ("ALERT_WEBHOOK_URL", &*receiver.url())];
    let rollout = Rollout::start(&case, &[], &alerts).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;

    case.config("config", "crash").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    break_new_pod(&case, "web").await?;
    let object = poll(PATIENCE, || async {
        let object = case.workload(Kind::Deployment, "web").await?;
        ensure!(object["spec"]["paused"] == true, "not paused");
        Ok(object)
    })
    .await?;
    assert!(object["metadata"]["annotations"]["rollout.narthex.dev/paused"].as_str().is_some_and(|why| why.ends_with("CrashLoopBackOff")));
    let note = until_event(&case, "Deployment", "RolloutFailed").await?;
    assert!(note.contains("container echo is in CrashLoopBackOff") && note.contains("paused"), "{note}");
    rollout.until_metric("narthex_rollout_watched_total{result=\"failed\"}", 1.0).await?;
    let (_, body) = receiver.until_notified("CrashLoopBackOff").await?;
    assert!(body.contains("\"color\":\"danger\""), "{body}");

    case.config("config", "fixed").await?;
    case.rolled_out(Kind::Deployment, "web", 2).await?;
    let object = case.workload(Kind::Deployment, "web").await?;
    assert!(object["spec"]["paused"] != true && object["metadata"]["annotations"]["rollout.narthex.dev/paused"].is_null());
    Ok(())
}

#[tokio::test]
async fn a_rollout_that_works_is_told_as_complete_and_others_are_reported_only() -> anyhow::Result<()> {
    let case = Case::new("ro-complete").await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &[AUTO])).await?;
    let rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    rollout.until_metric("narthex_rollout_watched_total{result=\"complete\"}", 1.0).await?;

    case.make(Wanted { kind: Kind::StatefulSet, ..deployment("set", &[AUTO]) }).await?;
    case.rolled_out(Kind::StatefulSet, "set", 0).await?;
    case.config("config", "3").await?;
    case.rolled_out(Kind::StatefulSet, "set", 1).await?;
    // No controller makes its Pods here.
    let template = case.workload(Kind::StatefulSet, "set").await?["spec"]["template"].clone();
    let pod: Pod =
        serde_json::from_value(json!({"metadata": {"name": "set-0", "labels": template["metadata"]["labels"]}, "spec": template["spec"]}))?;
    case.create(&pod).await?;
    break_new_pod(&case, "set").await?;
    assert!(!until_event(&case, "StatefulSet", "RolloutFailed").await?.contains("paused"));
    Ok(())
}

#[tokio::test]
async fn rollouts_are_not_watched_when_nobody_asks_for_it() -> anyhow::Result<()> {
    let case = Case::new("ro-unwatched").await?;
    case.config("config", "1").await?;
    let template = json!({"metadata": {"annotations": {"echo.narthex.dev/ready": "false"}}});
    case.make(Wanted { template, ..deployment("web", &[AUTO]) }).await?;
    let rollout = Rollout::start(&case, &["--watch-rollouts=0"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    break_new_pod(&case, "web").await?;
    case.fence().await?;
    case.settled().await?;
    assert!(case.workload(Kind::Deployment, "web").await?["spec"]["paused"] != true);
    drop(rollout);
    // The same rollout, watched by the next one.
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    until_event(&case, "Deployment", "RolloutFailed").await?;
    Ok(())
}
