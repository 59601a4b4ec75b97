//! The status of Ingresses, and who writes it.

use anyhow::{Context, ensure};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::networking::v1::Ingress;
use testkit::poll;

#[tokio::test]
async fn the_leader_writes_the_status_and_releases_its_lease_when_it_stops() -> anyhow::Result<()> {
    let case = Case::new("status").await?;
    let _servers = case.echo(1).await?;
    case.serve("status.example.com").await?;
    let launch = case.controller().flag("--publish-status-address=192.0.2.1");
    let controller = launch.env("POD_NAME", "controller").env("POD_NAMESPACE", case.ns()).start().await?;
    poll(PATIENCE, || async {
        let ingress = case.namespace.api::<Ingress>().get("status.example.com").await?;
        let balancer = ingress.status.and_then(|status| status.load_balancer).and_then(|balancer| balancer.ingress);
        let addresses: Vec<_> = balancer.into_iter().flatten().filter_map(|entry| entry.ip).collect();
        ensure!(addresses == ["192.0.2.1"], "the status holds {addresses:?}");
        Ok(())
    })
    .await?;
    controller.until("status.example.com", "/", 200).await?;
    let leases = case.namespace.api::<Lease>();
    let holder = || async {
        let lease = leases.get("ingress-controller-leader").await?;
        anyhow::Ok(lease.spec.context("a lease has a spec")?.holder_identity.unwrap_or_default())
    };
    assert_eq!(holder().await?, "controller");
    drop(controller);
    assert_eq!(holder().await?, "");
    Ok(())
}
