//! Pods that end without being asked to.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use e2e::Case;
use e2e::helm::Release;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::Ingress;
use kube::ResourceExt;
use serde_json::json;
use testkit::poll_every;

use super::pods::{case, directory, kill_container, logs, pods, rolled_out};
use super::release::{SELECTOR, balance, controller, published, values};
use super::traffic::{Backends, Traffic, rule};

/// Longest time until everything is as before.
const RECOVERED: Duration = Duration::from_secs(120);
const INTERVAL: Duration = Duration::from_millis(250);

fn address(pod: &Pod) -> anyhow::Result<IpAddr> {
    Ok(pod.status.as_ref().and_then(|status| status.pod_ip.as_deref()).context("a Pod without address")?.parse()?)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"))
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// The Pod that holds the Lease.
async fn leader(case: &Case) -> anyhow::Result<Pod> {
    poll_every(INTERVAL, RECOVERED, || async {
        let lease = case.namespace.api::<Lease>().get(&format!("{}-narthex-leader", case.ns())).await?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity).filter(|holder| !holder.is_empty()).context("no leader")?;
        Ok(case.namespace.api::<Pod>().get(&holder).await?)
    })
    .await
}

/// Waits until three Pods are ready and all of them are endpoints.
async fn whole(case: &Case, traffic: &Traffic) -> anyhow::Result<()> {
    let done = poll_every(INTERVAL, RECOVERED, || async {
        let ready: Vec<Pod> = pods(case, SELECTOR).await?.into_iter().filter(is_ready).collect();
        let addresses = ready.iter().map(address).collect::<anyhow::Result<BTreeSet<_>>>()?;
        let targets: BTreeSet<IpAddr> = traffic.targets().into_iter().collect();
        ensure!(ready.len() == 3 && addresses == targets, "ready: {addresses:?}, endpoints: {targets:?}");
        Ok(())
    });
    done.await.with_context(|| logs(case))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_leader_and_an_evicted_pod_harm_nothing_but_what_they_had_open() -> anyhow::Result<()> {
    let Some(case) = case("victims").await? else { return Ok(()) };
    let _backends = Backends::start(&case, case.ns()).await?;
    let _release = Release::install(&case, &values(&case, "1"))?;
    let name = controller(&case);
    balance(&case, &name).await?;
    rolled_out(&case, &name, SELECTOR).await?;
    published(&case, "web.example.com").await?;
    let traffic = Traffic::start(&case, &name, Some(Duration::from_secs(3600))).await?;
    whole(&case, &traffic).await?;
    traffic.flow(500).await;

    let killed = leader(&case).await?;
    kill_container(&case, &killed)?;
    case.create(&rule(case.ns(), "killed.example.com", "echo").build()).await?;
    published(&case, "killed.example.com").await?;
    poll_every(INTERVAL, RECOVERED, || async {
        let pod = case.namespace.api::<Pod>().get(&killed.name_any()).await?;
        let restarts: i32 =
            pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten()).map(|one| one.restart_count).sum();
        ensure!(restarts == 1 && directory(&case, &pod).join("1.log").exists(), "{restarts} restarts");
        Ok(())
    })
    .await?;
    whole(&case, &traffic).await?;
    traffic.flow(500).await;

    // The leader again, if it may be: it is the one that has most to hand over.
    let evicted = leader(&case).await?;
    case.patch::<Pod>(&evicted.name_any(), json!({"metadata": {"annotations": {"echo.narthex.dev/evict": "true"}}})).await?;
    poll_every(INTERVAL, RECOVERED, || async {
        let pod = case.namespace.api::<Pod>().get(&evicted.name_any()).await?;
        ensure!(phase(&pod) == "Failed", "{}", phase(&pod));
        Ok(())
    })
    .await?;
    case.create(&rule(case.ns(), "evicted.example.com", "echo").build()).await?;
    published(&case, "evicted.example.com").await?;
    whole(&case, &traffic).await?;
    traffic.flow(500).await;
    let victims = BTreeSet::from([address(&killed)?, address(&evicted)?]);
    traffic.stop(&victims).await.with_context(|| logs(&case))?;
    emptied_by_the_last(&case, &name).await
}

/// Scales to none: the last Pod empties the statuses and releases the Lease. One that was evicted does not count.
async fn emptied_by_the_last(case: &Case, name: &str) -> anyhow::Result<()> {
    case.patch::<Deployment>(name, json!({"spec": {"replicas": 0}})).await?;
    let done = poll_every(INTERVAL, RECOVERED, || async {
        let left: Vec<String> =
            pods(case, SELECTOR).await?.iter().filter(|pod| phase(pod) != "Failed").map(ResourceExt::name_any).collect();
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    });
    done.await.with_context(|| logs(case))?;
    let status = json!(case.namespace.api::<Ingress>().get("web.example.com").await?.status);
    ensure!(status["loadBalancer"]["ingress"].is_null(), "{status}\n{}", logs(case));
    let lease = case.namespace.api::<Lease>().get(&format!("{}-narthex-leader", case.ns())).await?;
    let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
    ensure!(holder.is_empty(), "{holder}\n{}", logs(case));
    Ok(())
}
