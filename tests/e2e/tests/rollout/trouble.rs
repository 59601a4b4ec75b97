//! Trouble with the API server in the log: once, and in words.

use anyhow::ensure;
use e2e::rollout::{Kind, Rollout, deployment};
use e2e::{Case, PATIENCE};
use serde_json::json;
use testkit::bed::Bed;
use testkit::poll;

/// So that attempts that are not logged can be counted.
const VERBOSE: &str = "--log-level=info,cluster=debug";
const STILL: &str = "still can't be watched";
const LOST: &str = "can't be watched; what is known stays in use";

/// Waits until the log has this so often.
async fn says(rollout: &Rollout, text: &str, times: usize) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let found = rollout.log().matches(text).count();
        ensure!(found >= times, "{found} times: {text}");
        Ok(())
    })
    .await
}

/// The lines of the log above `debug` that have this.
fn lines(rollout: &Rollout, text: &str) -> Vec<String> {
    rollout.log().lines().filter(|line| line.contains(text) && !line.contains("DEBUG")).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_away_is_said_once_for_each_kind() -> anyhow::Result<()> {
    let case = Case::with_bed(Bed::start_private().await?, "ro-away").await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &[("reloader.stakater.com/auto", "true")])).await?;
    let rollout = Rollout::start(&case, &[VERBOSE], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.bed.api_server().kill().await?;
    // Two sources and five kinds of workloads, each of them tried several times.
    says(&rollout, LOST, 7).await?;
    says(&rollout, STILL, 20).await?;
    case.bed.api_server().start().await?;
    says(&rollout, "is watched again", 7).await?;
    for kind in ["ConfigMap", "Secret", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"] {
        let said = lines(&rollout, LOST).iter().filter(|line| line.contains(&format!("kind=\"{kind}\""))).count();
        assert_eq!(said, 1, "{kind}:\n{}", rollout.log());
    }
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await
}

#[tokio::test]
async fn a_right_that_is_missing_is_said_once_with_resource_verb_and_namespace() -> anyhow::Result<()> {
    let case = Case::new("ro-denied").await?;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nothing"}});
    case.apply(&account.to_string()).await?;
    let kubeconfig = case.kubeconfig_of("nothing").await?;
    let rollout = Rollout::start_as(&case, kubeconfig.path(), &[VERBOSE], &[("KUBERNETES_NAMESPACE", case.ns())]).await?;
    says(&rollout, STILL, 7).await?;
    let denied = format!("cannot list resource \"deployments\" in API group \"apps\" in the namespace \"{}\"", case.ns());
    let said: Vec<String> = lines(&rollout, "can't be watched").into_iter().map(|line| line.replace("\\\"", "\"")).collect();
    assert_eq!(said.iter().filter(|line| line.contains(&denied)).count(), 1, "{said:#?}");
    assert_eq!(said.len(), 7, "{said:#?}");
    assert!(said.iter().all(|line| line.contains("the rights to list and watch are missing") && !line.contains("Status {")), "{said:#?}");
    Ok(())
}
