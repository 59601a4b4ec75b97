//! The rights of deploy/rollout.yaml: enough for everything, and no more than it says.

use anyhow::Context;
use e2e::rollout::{Kind, Rollout, Wanted, deployment};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use serde_json::json;
use testkit::poll;

const MANIFEST: &str = include_str!("../../../../deploy/rollout.yaml");

#[tokio::test]
async fn the_rights_of_the_manifest_are_enough() -> anyhow::Result<()> {
    let case = Case::new("ro-rights").await?;
    // The same rules, for this namespace alone: a Role instead of the ClusterRole.
    let role = |kind: &str| -> anyhow::Result<serde_json::Value> {
        let objects = testkit::kube::read(MANIFEST)?;
        let object = objects.iter().find(|object| object.types.as_ref().is_some_and(|types| types.kind == kind)).context("a role")?;
        Ok(object.data["rules"].clone())
    };
    let mut rules = role("ClusterRole")?.as_array().context("rules")?.clone();
    rules.extend(role("Role")?.as_array().context("rules")?.clone());
    let objects = json!({"kind": "List", "apiVersion": "v1", "items": [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rollout"}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "rollout"}, "rules": rules},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "rollout"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "rollout"},
            "subjects": [{"kind": "ServiceAccount", "name": "rollout", "namespace": "{NS}"}]},
    ]});
    case.apply(&objects.to_string()).await?;
    let kubeconfig = case.kubeconfig_of("rollout").await?;

    case.config("config", "1").await?;
    let annotations = [("reloader.stakater.com/auto", "true"), ("rollout.narthex.dev/check", "nginx")];
    let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::CronJob, Kind::Job];
    for kind in kinds {
        case.make(Wanted { kind, ..deployment("web", &annotations) }).await?;
    }
    let env = [("KUBERNETES_NAMESPACE", case.ns()), ("POD_NAME", "one"), ("POD_NAMESPACE", case.ns())];
    let rollout = Rollout::start_as(&case, kubeconfig.path(), &["--enable-ha"], &env).await?;
    for kind in kinds {
        case.rolled_out(kind, "web", 0).await?;
    }
    case.config("config", "2").await?;
    for kind in kinds {
        case.rolled_out(kind, "web", 1).await?;
    }
    poll(PATIENCE, || async {
        let events = case.namespace.api::<Event>().list(&ListParams::default()).await?.items;
        let written = events.iter().filter(|event| event.reason.as_deref() == Some("Reloaded")).count();
        anyhow::ensure!(written == kinds.len(), "{written} Events");
        Ok(())
    })
    .await?;
    rollout.until_metric("narthex_rollout_watched_total{result=\"complete\"}", 1.0).await?;
    let log = rollout.log();
    assert!(!log.contains("forbidden"), "{log}");
    Ok(())
}
