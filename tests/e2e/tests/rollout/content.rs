//! Changes, each of which is rolled out once.

use anyhow::ensure;
use e2e::rollout::{Kind, Rollout, Wanted, deployment};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::bed::Bed;
use testkit::poll;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];

fn variable(object: &Value, name: &str) -> Option<String> {
    let variables = object["spec"]["template"]["spec"]["containers"][0]["env"].as_array()?;
    variables.iter().find(|variable| variable["name"] == name)?["value"].as_str().map(str::to_owned)
}

/// Waits until all Pods are of the newest template and ready.
async fn pods_are_new(case: &Case, name: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let deployment = case.namespace.api::<Deployment>().get(name).await?;
        let status = deployment.status.unwrap_or_default();
        ensure!(status.observed_generation == deployment.metadata.generation, "the controller has not seen it");
        let counts = (status.replicas, status.updated_replicas, status.ready_replicas);
        ensure!(counts == (Some(1), Some(1), Some(1)), "{counts:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn other_content_is_one_rollout_and_the_same_content_none() -> anyhow::Result<()> {
    let case = Case::new("ro-content").await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.fence().await?;
    case.revisions("web", 1).await?;

    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    let object = case.workload(Kind::Deployment, "web").await?;
    assert_eq!(variable(&object, "STAKATER_CONFIG_CONFIGMAP").map(|digest| digest.len()), Some(64));
    pods_are_new(&case, "web").await?;
    let sets = case.namespace.api::<ReplicaSet>().list(&ListParams::default().labels("app=web")).await?;
    assert_eq!(sets.items.len(), 2, "one of before and one of the rollout");

    // Labels, annotations and another writing of the same: no other content.
    case.apply_map("config", json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "data": {"key": "2"}})).await?;
    case.config("config", "2").await?;
    case.settled().await?;
    case.revisions("web", 2).await?;

    // Away and back again, with the same content.
    case.delete::<k8s_openapi::api::core::v1::ConfigMap>("config").await?;
    case.settled().await?;
    case.config("config", "2").await?;
    case.settled().await?;
    case.revisions("web", 2).await?;

    case.apply_map("config", json!({"binaryData": {"bytes": "AAEC"}})).await?;
    case.rolled_out(Kind::Deployment, "web", 2).await?;
    case.secret("secret", "1").await?;
    case.settled().await?;
    case.secret("secret", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 3).await?;
    let series = "reloader_reload_executed_total{success=\"true\"}";
    assert!(rollout.metric(series).await? >= 3.0);
    Ok(())
}

#[tokio::test]
async fn several_changes_of_a_moment_are_one_rollout() -> anyhow::Result<()> {
    let case = Case::new("ro-moment").await?;
    for name in ["config", "a", "b", "c"] {
        case.config(name, "1").await?;
    }
    case.secret("secret", "1").await?;
    let annotations = [("reloader.stakater.com/auto", "true"), ("configmap.reloader.stakater.com/reload", "a,b,c")];
    case.make(deployment("web", &annotations)).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    let secret = case.secret("secret", "2");
    let (a, b, c, d, e) =
        tokio::join!(case.config("config", "2"), case.config("a", "2"), case.config("b", "2"), case.config("c", "2"), secret);
    for done in [a, b, c, d, e] {
        done?;
    }
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    let object = case.workload(Kind::Deployment, "web").await?;
    for name in
        ["STAKATER_CONFIG_CONFIGMAP", "STAKATER_A_CONFIGMAP", "STAKATER_B_CONFIGMAP", "STAKATER_C_CONFIGMAP", "STAKATER_SECRET_SECRET"]
    {
        assert!(variable(&object, name).is_some(), "{name}");
    }
    case.revisions("web", 2).await
}

#[tokio::test]
async fn references_are_found_in_volumes_and_init_containers() -> anyhow::Result<()> {
    let case = Case::new("ro-uses").await?;
    let names = ["volume", "projected", "init", "single"];
    for name in names {
        case.config(name, "1").await?;
    }
    let mounts = json!([{"name": "volume", "mountPath": "/v"}, {"name": "projected", "mountPath": "/p"}]);
    let single = json!([{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "single", "key": "key"}}}]);
    let template = json!({"spec": {
        "initContainers": [{"name": "init", "image": "echo", "envFrom": [{"configMapRef": {"name": "init"}}]}],
        "containers": [{"name": "echo", "image": "echo", "volumeMounts": mounts, "env": single}],
        "volumes": [
            {"name": "volume", "configMap": {"name": "volume"}},
            {"name": "projected", "projected": {"sources": [{"configMap": {"name": "projected"}}]}},
        ],
    }});
    case.make(Wanted { template, ..deployment("web", &AUTO) }).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    for (times, name) in (1..).zip(names) {
        case.config(name, "2").await?;
        case.rolled_out(Kind::Deployment, "web", times).await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_reloader_left_is_taken_over_without_a_rollout() -> anyhow::Result<()> {
    let case = Case::new("ro-takeover").await?;
    case.config("config", "1").await?;
    // SHA-512/256 of `key=1`, as newer Reloaders have it, and SHA-1 as older ones.
    let digest = "99f814c43e6c4f9623fb4649d4c85395cb1de945be71193a31033d60ce1d5863";
    for (name, value) in [("same", digest), ("older", "a4b089606e6a6d1521a502924c50cbce8e584798"), ("other", "0123456789abcdef")] {
        case.make(deployment(name, &AUTO)).await?;
        let variables = json!([{"name": "STAKATER_CONFIG_CONFIGMAP", "value": value}]);
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "echo", "env": variables}]}}}});
        case.workloads(Kind::Deployment).patch(name, &PatchParams::default(), &Patch::Strategic(patch)).await?;
    }
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "other", 1).await?;
    for name in ["same", "older"] {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }
    // Forgotten by us, and known by the variable alone.
    let patch = json!({"metadata": {"annotations": {"rollout.narthex.dev/applied": null}}});
    case.workloads(Kind::Deployment).patch("other", &PatchParams::default(), &Patch::Merge(patch)).await?;
    case.rolled_out(Kind::Deployment, "other", 0).await
}

#[tokio::test]
async fn an_api_server_that_starts_anew_starts_no_rollout() -> anyhow::Result<()> {
    let case = Case::with_bed(Bed::start_private().await?, "ro-restart").await?;
    case.config("config", "1").await?;
    case.secret("secret", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.fence().await?;
    for times in 0..2 {
        case.bed.api_server().kill().await?;
        case.bed.api_server().start().await?;
        case.settled().await?;
        case.rolled_out(Kind::Deployment, "web", times).await?;
        case.config("config", &format!("next {times}")).await?;
        case.rolled_out(Kind::Deployment, "web", times + 1).await?;
    }
    case.settled().await?;
    drop(rollout);
    // Nor does a rollout that starts again.
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.settled().await?;
    case.revisions("web", 3).await
}
