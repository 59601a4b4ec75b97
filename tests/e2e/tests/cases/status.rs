//! The status of Ingresses, and who writes it.

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use testkit::poll;

/// The addresses that an Ingress's status holds.
pub(super) async fn addresses(case: &Case, ingress: &str) -> anyhow::Result<Vec<String>> {
    let ingress = case.namespace.api::<Ingress>().get(ingress).await?;
    let balancer = ingress.status.and_then(|status| status.load_balancer).and_then(|balancer| balancer.ingress);
    Ok(balancer.into_iter().flatten().filter_map(|entry| entry.ip).collect())
}

/// Waits until a status holds these addresses and no others.
pub(super) async fn status_is(case: &Case, ingress: &str, expected: &[&str]) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let addresses = addresses(case, ingress).await?;
        ensure!(addresses == expected, "the status holds {addresses:?}");
        Ok(())
    })
    .await
}

/// A controller as the Pod `controller`, with this address.
async fn publishing(case: &Case, flags: &[&str]) -> anyhow::Result<Controller> {
    let launch = case.controller().flag("--publish-status-address=192.0.2.1");
    let launch = flags.iter().fold(launch, |launch, flag| launch.flag(flag));
    launch.env("POD_NAME", "controller").env("POD_NAMESPACE", case.ns()).start().await
}

/// A Pod of our set; it never runs.
async fn replica(case: &Case, name: &str) -> anyhow::Result<()> {
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": "narthex"}},
        "spec": {"containers": [{"name": "c", "image": "none"}], "schedulerName": "none", "serviceAccountName": "narthex"},
    });
    case.create(&serde_json::from_value::<Pod>(pod)?).await?;
    Ok(())
}

#[tokio::test]
async fn the_last_pod_empties_the_status_when_it_stops_and_others_hand_it_over() -> anyhow::Result<()> {
    let case = Case::new("status-end").await?;
    let _servers = case.echo(1).await?;
    case.serve("status.example.com").await?;
    case.create(&serde_json::from_value::<ServiceAccount>(json!({"metadata": {"name": "narthex"}}))?).await?;
    replica(&case, "controller").await?;
    replica(&case, "other").await?;
    for (flags, other, kept) in [(&[][..], true, true), (&["--update-status-on-shutdown=false"], false, true), (&[], false, false)] {
        if !other && case.namespace.api::<Pod>().get_opt("other").await?.is_some() {
            case.namespace.api::<Pod>().delete("other", &kube::api::DeleteParams::default().grace_period(0)).await?;
        }
        let controller = publishing(&case, flags).await?;
        status_is(&case, "status.example.com", &["192.0.2.1"]).await?;
        controller.until("status.example.com", "/", 200).await?;
        drop(controller);
        let expected: &[&str] = if kept { &["192.0.2.1"] } else { &[] };
        assert_eq!(addresses(&case, "status.example.com").await?, expected, "{flags:?} beside another: {other}");
    }
    Ok(())
}

#[tokio::test]
async fn the_lease_lasts_as_long_as_election_ttl_says() -> anyhow::Result<()> {
    let case = Case::new("status-ttl").await?;
    let _servers = case.echo(1).await?;
    case.serve("status.example.com").await?;
    let _controller = publishing(&case, &["--election-ttl=77s", "--election-id=mine"]).await?;
    status_is(&case, "status.example.com", &["192.0.2.1"]).await?;
    let spec = case.namespace.api::<Lease>().get("mine").await?.spec.context("a lease has a spec")?;
    assert_eq!(spec.lease_duration_seconds, Some(77));
    Ok(())
}

#[tokio::test]
async fn the_leader_writes_the_status_and_releases_its_lease_when_it_stops() -> anyhow::Result<()> {
    let case = Case::new("status").await?;
    let _servers = case.echo(1).await?;
    case.serve("status.example.com").await?;
    let controller = publishing(&case, &[]).await?;
    status_is(&case, "status.example.com", &["192.0.2.1"]).await?;
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

/// `narthex cleanup` as an administrator, for the Lease `mine` of the case's namespace.
async fn cleanup(case: &Case) -> anyhow::Result<String> {
    let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?;
    let mut command = tokio::process::Command::new(binary);
    command.args(["cleanup", "--election-id=mine", "--kubeconfig"]).arg(case.bed.kubeconfig());
    command.arg(format!("--watch-namespace={}", case.ns())).env("POD_NAMESPACE", case.ns());
    let output = command.output().await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test]
async fn what_a_controller_could_not_remove_at_its_end_is_removed_by_cleanup() -> anyhow::Result<()> {
    let case = Case::new("status-cleanup").await?;
    let _servers = case.echo(1).await?;
    for host in ["ours.example.com", "theirs.example.com"] {
        case.serve(host).await?;
    }
    let mut controller = publishing(&case, &["--election-id=mine"]).await?;
    for host in ["ours.example.com", "theirs.example.com"] {
        status_is(&case, host, &["192.0.2.1"]).await?;
    }
    controller.kill()?;
    // Another controller took this one over.
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}});
    case.namespace.api::<Ingress>().patch_status("theirs.example.com", &PatchParams::default(), &Patch::Merge(status)).await?;

    let said = cleanup(&case).await?;
    assert_eq!(said, format!("the status of 1 Ingresses is empty now; there is no Lease {}/mine\n", case.ns()));
    assert!(addresses(&case, "ours.example.com").await?.is_empty());
    assert_eq!(addresses(&case, "theirs.example.com").await?, ["192.0.2.9"]);
    assert!(case.namespace.api::<Lease>().get_opt("mine").await?.is_none());
    // It may be run again.
    assert!(cleanup(&case).await?.starts_with("the status of 0 Ingresses"));
    Ok(())
}
