//! The chart's life: installed, upgraded, rolled back, uninstalled, with everything open.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use e2e::helm::Release;
use e2e::rollout::merge;
use e2e::{Case, PATIENCE};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::{poll, poll_every};

use super::audit::{Audit, granted};
use super::objects::all;
use super::pods::{case, forbidden, logs, pods, rolled_out};
use super::traffic::{Backends, Traffic};

/// `worker-shutdown-timeout` of the releases: longer than the answers that take long.
pub(crate) const DRAIN: Duration = Duration::from_secs(30);
/// Longest time of an end: grace period, drain, the last scrape.
const UNINSTALLED: Duration = Duration::from_secs(180);
pub(crate) const SELECTOR: &str = "app.kubernetes.io/component=controller";

/// Values of a release with three replicas, a class of its own, and probes that lose no time.
pub(crate) fn values(case: &Case, version: &str) -> Value {
    let class = json!({"name": case.ns(), "controllerValue": format!("narthex.dev/{}", case.ns())});
    let probe = json!({"initialDelaySeconds": 1, "periodSeconds": 1});
    json!({"controller": {
        "replicaCount": 3, "ingressClass": case.ns(), "ingressClassResource": class, "podAnnotations": {"version": version},
        "readinessProbe": probe, "config": {"worker-shutdown-timeout": format!("{}s", DRAIN.as_secs()), "worker-processes": "1"},
    }})
}

pub(crate) fn controller(case: &Case) -> String {
    format!("{}-narthex-controller", case.ns())
}

/// Gives the Service of a release the address of a load balancer.
pub(crate) async fn balance(case: &Case, service: &str) -> anyhow::Result<()> {
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}});
    case.namespace.api::<Service>().patch_status(service, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// Waits until an Ingress has the address of the load balancer.
pub(crate) async fn published(case: &Case, ingress: &str) -> anyhow::Result<()> {
    let done = poll(PATIENCE * 3, || async {
        let status = json!(case.namespace.api::<Ingress>().get(ingress).await?.status);
        ensure!(status["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.7", "{ingress}: {status}");
        Ok(())
    });
    done.await.with_context(|| logs(case))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_upgraded_and_rolled_back_without_a_failed_request_and_leaves_nothing() -> anyhow::Result<()> {
    let Some(case) = case("release").await? else { return Ok(()) };
    let _backends = Backends::start(&case, case.ns()).await?;
    let before = all(case.namespace.client()).await?;
    // With the rights of the webhook.
    let values = |version: &str| {
        let mut values = values(&case, version);
        merge(&mut values, json!({"controller": {"admissionWebhooks": {"enabled": true}}}));
        values
    };
    let release = Release::install(&case, &values("1"))?;
    let name = controller(&case);
    balance(&case, &name).await?;
    rolled_out(&case, &name, SELECTOR).await?;
    published(&case, "web.example.com").await?;

    let traffic = Traffic::start(&case, &name, Some(DRAIN)).await?;
    ensure!(traffic.targets().len() == 3, "{:?}", traffic.targets());
    traffic.flow(1000).await;
    let first = names(&case).await?;
    release.upgrade(&values("2"))?;
    rolled_out(&case, &name, SELECTOR).await?;
    let second = names(&case).await?;
    release.rollback(1)?;
    rolled_out(&case, &name, SELECTOR).await?;
    let third = names(&case).await?;
    ensure!(first.is_disjoint(&second) && second.is_disjoint(&third), "{first:?} {second:?} {third:?}");
    let version = |pod: &k8s_openapi::api::core::v1::Pod| pod.metadata.annotations.as_ref().and_then(|all| all.get("version").cloned());
    ensure!(pods(&case, SELECTOR).await?.iter().all(|pod| version(pod).as_deref() == Some("1")), "it was not rolled back");
    traffic.flow(1000).await;
    let requests = traffic.stop(&BTreeSet::new()).await.with_context(|| logs(&case))?;
    ensure!(requests > 10_000, "only {requests} requests");

    rights_are_those_that_are_needed(&case, None).await?;
    uninstalled(&case, release, before).await
}

/// Uninstalls the release: what was there before is left, and nothing more.
pub(crate) async fn uninstalled(case: &Case, release: Release<'_>, expected: BTreeSet<String>) -> anyhow::Result<()> {
    release.uninstall().with_context(|| logs(case))?;
    for ingress in Api::<Ingress>::all(case.namespace.client().clone()).list(&ListParams::default()).await?.items {
        let status = json!(ingress.status);
        ensure!(status["loadBalancer"]["ingress"].is_null(), "{status}\n{}", logs(case));
    }
    // Those of the controller have gone before its end.
    let refused = Audit::read(case)?.refused.into_iter().filter(|right| right.contains("-cleanup\"")).collect::<Vec<_>>();
    ensure!(refused.is_empty(), "{refused:#?}");
    poll_every(Duration::from_secs(1), UNINSTALLED, || async {
        let after = all(case.namespace.client()).await?;
        let (left, lost): (Vec<_>, Vec<_>) = (after.difference(&expected).collect(), expected.difference(&after).collect());
        ensure!(left.is_empty() && lost.is_empty(), "left: {left:?}, lost: {lost:?}");
        Ok(())
    })
    .await
}

async fn names(case: &Case) -> anyhow::Result<BTreeSet<String>> {
    Ok(pods(case, SELECTOR).await?.into_iter().filter_map(|pod| pod.metadata.name).collect())
}

/// No request was refused but for those about `may_not`, and each right was used: what another configuration alone needs is granted with that.
pub(crate) async fn rights_are_those_that_are_needed(case: &Case, may_not: Option<&str>) -> anyhow::Result<()> {
    let audit = Audit::read(case)?;
    let is_new = |line: &&String| may_not.is_none_or(|resource| !line.contains(resource));
    let refused: Vec<&String> = audit.refused.iter().filter(is_new).collect();
    ensure!(refused.is_empty(), "{refused:#?}");
    let lines = forbidden(case);
    let lines: Vec<&String> = lines.iter().filter(is_new).collect();
    ensure!(lines.is_empty(), "{lines:#?}");
    let unused = audit.unused(&granted(case).await?);
    ensure!(unused.is_empty(), "granted and never used: {unused:#?}");
    Ok(())
}
