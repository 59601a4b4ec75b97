//! Several replicas: one acts, and its successor neither repeats nor misses anything.

use anyhow::{Context, ensure};
use e2e::rollout::{Kind, Rollout, deployment};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::coordination::v1::Lease;
use testkit::poll;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];
const FLAGS: [&str; 2] = ["--enable-ha", "--election-ttl=2"];

async fn replica(case: &Case, name: &str) -> anyhow::Result<Rollout> {
    Rollout::start(case, &FLAGS, &[("POD_NAME", name), ("POD_NAMESPACE", case.ns())]).await
}

async fn until_leader(case: &Case, name: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let lease = case.namespace.api::<Lease>().get("stakater-reloader-lock").await?;
        let holder = lease.spec.context("a lease has a spec")?.holder_identity;
        ensure!(holder.as_deref() == Some(name), "{holder:?} leads");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_change_that_the_leader_did_not_live_to_roll_out_is_rolled_out_once() -> anyhow::Result<()> {
    let case = Case::new("ro-ha").await?;
    case.config("config", "0").await?;
    case.make(deployment("web", &AUTO)).await?;
    let mut first = replica(&case, "first").await?;
    until_leader(&case, "first").await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    let second = replica(&case, "second").await?;
    case.fence().await?;
    assert_eq!(second.metric("narthex_rollout_leader").await?, 0.0);

    // Killed within the quarter of a second in which changes are collected.
    case.config("config", "1").await?;
    first.kill()?;
    until_leader(&case, "second").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    case.settled().await?;
    case.revisions("web", 2).await?;

    // Killed after the rollout: the next one knows.
    let mut second = second;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 2).await?;
    second.kill()?;
    let mut third = replica(&case, "third").await?;
    until_leader(&case, "third").await?;
    case.settled().await?;
    case.revisions("web", 3).await?;

    // A change while no replica runs.
    third.kill()?;
    case.config("config", "3").await?;
    let _fourth = replica(&case, "fourth").await?;
    case.rolled_out(Kind::Deployment, "web", 3).await?;
    case.settled().await?;
    case.revisions("web", 4).await
}

#[tokio::test]
async fn a_leader_that_ends_in_order_gives_its_lease_away() -> anyhow::Result<()> {
    let case = Case::new("ro-release").await?;
    let flags = ["--enable-ha", "--election-ttl=600"];
    let env = |name: &'static str| [("POD_NAME", name), ("POD_NAMESPACE", case.ns())];
    let mut first = Rollout::start(&case, &flags, &env("first")).await?;
    until_leader(&case, "first").await?;
    first.terminate()?;
    first.ended().await?;
    let _second = Rollout::start(&case, &flags, &env("second")).await?;
    until_leader(&case, "second").await
}

#[tokio::test]
async fn the_lease_may_have_another_name_and_namespace() -> anyhow::Result<()> {
    let (case, other) = (Case::new("ro-lease").await?, Case::new("ro-lease-ns").await?);
    let flags = ["--enable-ha", "--leader-election-id=mine", &format!("--leader-election-namespace={}", other.ns())];
    let rollout = Rollout::start(&case, &flags, &[("POD_NAME", "one")]).await?;
    rollout.until_metric("narthex_rollout_leader", 1.0).await?;
    let lease = other.namespace.api::<Lease>().get("mine").await?;
    assert_eq!(lease.spec.context("a lease has a spec")?.holder_identity.as_deref(), Some("one"));
    Ok(())
}
