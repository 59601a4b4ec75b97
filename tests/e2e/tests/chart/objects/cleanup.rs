//! The hook that removes what the controller wrote, after everything else.

use anyhow::{Context, ensure};
use e2e::helm::Helm;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use testkit::bed::Bed;

const ACCOUNT: &str = "ServiceAccount narthex/narthex-cleanup";
const JOB: &str = "Job narthex/narthex-cleanup";

fn names(objects: &[DynamicObject]) -> Vec<String> {
    let name = |object: &DynamicObject| {
        let kind = object.types.as_ref().map(|types| types.kind.as_str()).unwrap_or_default();
        format!("{kind} {}/{}", object.namespace().unwrap_or_default(), object.name_any())
    };
    let mut names: Vec<String> = objects.iter().map(name).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_hook_has_rights_as_wide_as_the_scope_and_comes_behind_everything() -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    let cluster = ["ClusterRole /narthex-cleanup", "ClusterRoleBinding /narthex-cleanup"];
    let own = ["Role narthex/narthex-cleanup", "RoleBinding narthex/narthex-cleanup"];
    let there = ["Role shop/narthex-cleanup", "RoleBinding shop/narthex-cleanup"];
    for (values, rights) in [
        (json!({}), [&cluster[..], &own].concat()),
        (json!({"rbac": {"scope": true}, "controller": {"scope": {"enabled": true}}}), own.to_vec()),
        (json!({"controller": {"scope": {"enabled": true, "namespace": "shop"}}}), [&own[..], &there].concat()),
    ] {
        let hooks = helm.hooks("narthex", &values)?;
        let mut expected: Vec<&str> = [&[ACCOUNT, JOB][..], &rights].concat();
        expected.sort_unstable();
        ensure!(names(&hooks) == expected, "{values}: {:?}", names(&hooks));
        for object in &hooks {
            let hook = |name: &str| object.annotations().get(&format!("helm.sh/{name}")).map(String::as_str);
            ensure!(hook("hook") == Some("post-delete") && hook("hook-delete-policy") == Some("before-hook-creation,hook-succeeded"));
            let is_job = names(std::slice::from_ref(object)) == [JOB];
            ensure!(hook("hook-weight") == Some(if is_job { "0" } else { "-1" }), "{}: {:?}", object.name_any(), hook("hook-weight"));
        }
    }
    Ok(())
}

#[test]
fn there_is_none_where_nothing_would_be_left_or_no_account_may_be_made() -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    for values in [
        json!({"controller": {"enabled": false}}),
        json!({"controller": {"cleanup": {"enabled": false}}}),
        json!({"controller": {"disableLeaderElection": true}}),
        json!({"controller": {"extraArgs": {"update-status": "false"}}}),
        json!({"rbac": {"create": false}}),
        json!({"serviceAccount": {"create": false}}),
    ] {
        ensure!(helm.hooks("narthex", &values)?.is_empty(), "{values}");
    }
    Ok(())
}

#[test]
fn the_job_runs_the_controllers_image_where_the_controller_may_run() -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    let values = json!({"imagePullSecrets": [{"name": "pull"}], "controller": {
        "image": {"registry": "r.example.com"}, "nodeSelector": {"edge": "yes"}, "electionID": "mine",
        "cleanup": {"activeDeadlineSeconds": 30, "resources": {"limits": {"memory": "64Mi"}}},
        "scope": {"enabled": true, "namespace": "shop"},
    }});
    let hooks = helm.hooks("narthex", &values)?;
    let job = hooks.iter().find(|object| names(std::slice::from_ref(object)) == [JOB]).context("a Job")?;
    let pod = &job.data["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    for (found, expected) in [
        (&job.data["spec"]["activeDeadlineSeconds"], json!(30)),
        (&pod["serviceAccountName"], json!("narthex-cleanup")),
        (&pod["imagePullSecrets"], json!([{"name": "pull"}])),
        (&pod["nodeSelector"], json!({"edge": "yes", "kubernetes.io/os": "linux"})),
        (&container["image"], json!("r.example.com/narthex:0.1.0")),
        (&container["args"], json!(["cleanup", "--election-id=mine", "--watch-namespace=shop"])),
        (&container["resources"], json!({"limits": {"memory": "64Mi"}})),
        (&container["securityContext"]["runAsNonRoot"], json!(true)),
    ] {
        ensure!(*found == expected, "{found}, expected {expected}");
    }
    // The Services of the controller do not lead to it.
    ensure!(job.data["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"] == Value::from("cleanup"));
    Ok(())
}
