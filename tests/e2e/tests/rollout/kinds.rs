//! Every kind of workload.

use anyhow::{Context, ensure};
use e2e::rollout::{Kind, Rollout, Wanted, deployment};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::{Value, json};
use testkit::poll;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];
const RESTART: [(&str, &str); 2] = [AUTO[0], ("reloader.stakater.com/rollout-strategy", "restart")];
const ARGO: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.argoproj.io}
spec:
  group: argoproj.io
  names: {kind: Rollout, plural: rollouts, singular: rollout}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

fn digest(kind: Kind, object: &Value) -> Option<&str> {
    let variables = object.pointer(kind.template())?["spec"]["containers"][0]["env"].as_array()?;
    variables.iter().find(|variable| variable["name"] == "STAKATER_CONFIG_CONFIGMAP")?["value"].as_str()
}

#[tokio::test]
async fn stateful_sets_and_daemon_sets_get_the_digest() -> anyhow::Result<()> {
    let case = Case::new("ro-sets").await?;
    case.config("config", "1").await?;
    let kinds = [Kind::StatefulSet, Kind::DaemonSet];
    for kind in kinds {
        case.make(Wanted { kind, ..deployment("web", &AUTO) }).await?;
    }
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    for kind in kinds {
        case.rolled_out(kind, "web", 0).await?;
    }
    case.config("config", "2").await?;
    for kind in kinds {
        case.rolled_out(kind, "web", 1).await?;
        let object = case.workload(kind, "web").await?;
        assert_eq!((digest(kind, &object).map(str::len), &object["metadata"]["generation"]), (Some(64), &json!(2)), "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_cron_job_makes_one_job_for_each_change() -> anyhow::Result<()> {
    let case = Case::new("ro-cron").await?;
    case.config("config", "1").await?;
    case.make(Wanted { kind: Kind::CronJob, ..deployment("nightly", &AUTO) }).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::CronJob, "nightly", 0).await?;
    for (times, value) in [(1, "2"), (2, "1"), (3, "2")] {
        case.config("config", value).await?;
        case.rolled_out(Kind::CronJob, "nightly", times).await?;
        let jobs = case.namespace.api::<Job>().list(&ListParams::default()).await?.items;
        assert_eq!(jobs.len(), usize::try_from(times)?, "one for each change, also for content that was there before");
        let job = serde_json::to_value(jobs.first().context("a Job")?)?;
        assert_eq!(job["metadata"]["annotations"]["cronjob.kubernetes.io/instantiate"], "manual");
        assert_eq!(job["metadata"]["ownerReferences"][0]["name"], "nightly");
        assert!(digest(Kind::Job, &job).is_some());
    }
    let cron_job = case.workload(Kind::CronJob, "nightly").await?;
    assert_eq!(digest(Kind::CronJob, &cron_job), None, "its own template stays as it is");
    Ok(())
}

#[tokio::test]
async fn a_job_is_made_again() -> anyhow::Result<()> {
    let case = Case::new("ro-job").await?;
    case.config("config", "1").await?;
    case.make(Wanted { kind: Kind::Job, ..deployment("migrate", &AUTO) }).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Job, "migrate", 0).await?;
    let before = case.namespace.api::<Job>().get("migrate").await?;
    case.config("config", "2").await?;
    let after = poll(PATIENCE, || async {
        let job = case.namespace.api::<Job>().get("migrate").await?;
        ensure!(job.uid() != before.uid(), "it is still the same");
        Ok(job)
    })
    .await?;
    assert!(digest(Kind::Job, &serde_json::to_value(after)?).is_some());
    case.rolled_out(Kind::Job, "migrate", 1).await
}

#[tokio::test]
async fn argo_rollouts_are_rolled_out_or_restarted_when_asked_for() -> anyhow::Result<()> {
    let case = Case::new("ro-argo").await?;
    case.namespace.apply(ARGO).await?;
    case.config("config", "1").await?;
    poll(PATIENCE, || async {
        case.workloads(Kind::Rollout).list(&ListParams::default()).await?;
        Ok(())
    })
    .await?;
    case.make(Wanted { kind: Kind::Rollout, ..deployment("web", &AUTO) }).await?;
    case.make(Wanted { kind: Kind::Rollout, ..deployment("again", &RESTART) }).await?;
    let _rollout = Rollout::start(&case, &["--is-Argo-Rollouts=true"], &[]).await?;
    for name in ["web", "again"] {
        case.rolled_out(Kind::Rollout, name, 0).await?;
    }
    case.config("config", "2").await?;
    for name in ["web", "again"] {
        case.rolled_out(Kind::Rollout, name, 1).await?;
    }
    let object = case.workload(Kind::Rollout, "web").await?;
    assert!(digest(Kind::Rollout, &object).is_some() && object["spec"]["restartAt"].is_null());
    assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], "echo", "all else of the container stays");
    let object = case.workload(Kind::Rollout, "again").await?;
    assert!(digest(Kind::Rollout, &object).is_none() && object["spec"]["restartAt"].is_string());
    Ok(())
}
