//! A node whose clock is two minutes off: who leads, what statuses say and what is served is what it is elsewhere.

use std::path::Path;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

use super::status::status_is;

const HOST: &str = "clock.example.com";
const LEASE: &str = "ingress-controller-leader";
/// More than one duration of the Lease, of which it is renewed each quarter.
const RENEWALS: usize = 6;

async fn replica(case: &Case, name: &str, address: &str, clock: Option<&Path>) -> anyhow::Result<Controller> {
    let launch = case.controller().flag("--election-ttl=4s").flag(&format!("--publish-status-address={address}"));
    let launch = launch.env("POD_NAME", name).env("POD_NAMESPACE", case.ns());
    let controller = clock.into_iter().fold(launch, |launch, file| launch.clock(file)).start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(controller)
}

async fn lease(case: &Case) -> anyhow::Result<LeaseSpec> {
    case.namespace.api::<Lease>().get(LEASE).await?.spec.context("a lease has a spec")
}

/// Waits until a replica leads; the answer is the time of its last renewal.
async fn leads(case: &Case, name: &str) -> anyhow::Result<Timestamp> {
    poll(PATIENCE, || async {
        let lease = lease(case).await?;
        ensure!(lease.holder_identity.as_deref() == Some(name), "{:?} leads", lease.holder_identity);
        Ok(lease.renew_time.context("a time")?.0)
    })
    .await
}

/// Waits for a while in which the leader renews the Lease; no other takes it.
async fn stays(case: &Case, name: &str) -> anyhow::Result<()> {
    let transitions = lease(case).await?.lease_transitions;
    let mut last = leads(case, name).await?;
    for _ in 0..RENEWALS {
        last = poll(PATIENCE, || async {
            let lease = lease(case).await?;
            let renewed = lease.renew_time.context("a time")?.0;
            ensure!(renewed != last, "not renewed since {last}");
            Ok(renewed)
        })
        .await?;
    }
    let lease = lease(case).await?;
    ensure!(lease.holder_identity.as_deref() == Some(name) && lease.lease_transitions == transitions, "{lease:?}");
    Ok(())
}

async fn two_minutes_off(seconds: &str) -> anyhow::Result<()> {
    let case = Case::new("clock").await?;
    let _servers = case.echo(1).await?;
    case.certificate("clock", &[HOST]).await?;
    let ingress = mk_ingress(HOST).class("nginx").host(HOST).path("/", PathType::Prefix, "echo", 80).tls(HOST, "clock");
    case.create(&ingress.annotation("ssl-redirect", "false").build()).await?;
    let scratch = tempfile::tempdir()?;
    let clock = scratch.path().join("clock");
    std::fs::write(&clock, seconds)?;

    let mut off = replica(&case, "off", "192.0.2.1", Some(&clock)).await?;
    let renewed = leads(&case, "off").await?;
    ensure!(Timestamp::now().duration_since(renewed).abs() > SignedDuration::from_secs(60), "its clock is right: {renewed}");
    status_is(&case, HOST, &["192.0.2.1"]).await?;
    let mut right = replica(&case, "right", "192.0.2.2", None).await?;
    stays(&case, "off").await?;
    status_is(&case, HOST, &["192.0.2.1"]).await?;
    for controller in [&off, &right] {
        let answer = controller.get_tls(HOST, "/").await?;
        ensure!(answer.status == 200, "{}", answer.status);
    }

    // Either takes over from the other, and only when it has gone.
    off.kill()?;
    leads(&case, "right").await?;
    status_is(&case, HOST, &["192.0.2.2"]).await?;
    off.start().await?;
    stays(&case, "right").await?;
    right.kill()?;
    leads(&case, "off").await?;
    status_is(&case, HOST, &["192.0.2.1"]).await?;
    off.until(HOST, "/", 200).await?;
    Ok(())
}

#[tokio::test]
async fn a_clock_that_is_two_minutes_slow_harms_nothing() -> anyhow::Result<()> {
    two_minutes_off("-120").await
}

#[tokio::test]
async fn a_clock_that_is_two_minutes_fast_harms_nothing() -> anyhow::Result<()> {
    two_minutes_off("+120").await
}
