//! Events on the Pod about what people must know of, with the rights of deploy/watch-sidecar.yaml.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use anyhow::Context;
use e2e::watch::Watch;
use e2e::{Case, PATIENCE};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::ListParams;
use serde_json::json;
use testkit::poll;
use testkit::ports::Ports;

const MANIFEST: &str = include_str!("../../../../deploy/watch-sidecar.yaml");

/// The account of the manifest with its rules, and the Pod that it is about.
async fn prepared(case: &Case) -> anyhow::Result<tempfile::NamedTempFile> {
    let objects = testkit::kube::read(MANIFEST)?;
    let role = objects.iter().find(|object| object.types.as_ref().is_some_and(|types| types.kind == "Role")).context("a role")?;
    let objects = json!({"kind": "List", "apiVersion": "v1", "items": [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "watch"}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "watch"}, "rules": role.data["rules"]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "watch"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "watch"},
            "subjects": [{"kind": "ServiceAccount", "name": "watch", "namespace": "{NS}"}]},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}, "spec": {"containers": [{"name": "echo", "image": "echo"}]}},
    ]});
    case.apply(&objects.to_string()).await?;
    case.kubeconfig_of("watch").await
}

fn local() -> anyhow::Result<SocketAddr> {
    Ok(([127, 0, 0, 1], Ports::one()?).into())
}

fn kubeconfig(path: &Path) -> Vec<String> {
    vec![format!("--kubeconfig={}", path.display())]
}

/// Waits for an Event with this reason on the Pod: its type and message.
async fn event_of(case: &Case, reason: &str) -> anyhow::Result<(String, String)> {
    let uid = case.namespace.api::<Pod>().get("web-0").await?.metadata.uid;
    poll(PATIENCE, || async {
        let events = case.namespace.api::<Event>().list(&ListParams::default()).await?.items;
        let found = events.iter().find(|event| event.reason.as_deref() == Some(reason));
        let event = found.with_context(|| format!("no {reason} among {events:?}"))?;
        let object = &event.involved_object;
        anyhow::ensure!(object.name.as_deref() == Some("web-0") && object.uid == uid, "{object:?}");
        Ok((event.type_.clone().unwrap_or_default(), event.message.clone().unwrap_or_default()))
    })
    .await
}

#[tokio::test]
async fn a_refusal_a_failed_reload_and_their_end_are_events_on_the_pod() -> anyhow::Result<()> {
    let case = Case::new("wa-events").await?;
    let account = prepared(&case).await?;
    let env = [("POD_NAME", "web-0"), ("POD_NAMESPACE", case.ns())];
    let watch = Watch::start(local()?, &kubeconfig(account.path()), &env).await?;

    fs::write(watch.conf("more.conf"), "nonsense on;\n")?;
    let (kind, message) = event_of(&case, "ConfigurationRefused").await?;
    assert_eq!(kind, "Warning");
    assert!(message.contains("unknown directive \"nonsense\"") && message.contains("more.conf:1"), "{message}");
    assert!(message.contains("stays active: "), "{message}");

    // `nginx -t` is content with a port that another process has.
    let taken = TcpListener::bind("127.0.0.1:0")?;
    fs::write(watch.conf("more.conf"), format!("server {{ listen {}; }}\n", taken.local_addr()?))?;
    let (kind, message) = event_of(&case, "ReloadFailed").await?;
    assert!(kind == "Warning" && message.contains("Address already in use"), "{message}");

    fs::write(watch.conf("more.conf"), "# repaired\n")?;
    watch.write("v1")?;
    watch.until("v1").await?;
    let (kind, message) = event_of(&case, "Recovered").await?;
    assert!(kind == "Normal" && message.starts_with("NGINX runs what stands there again: revision "), "{message}");
    assert!(!watch.log().contains("forbidden"), "{}", watch.log());
    Ok(())
}

#[tokio::test]
async fn without_rights_a_server_or_a_name_everything_else_works() -> anyhow::Result<()> {
    let case = Case::new("wa-none").await?;
    case.apply(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody"}}).to_string()).await?;
    let nobody = case.kubeconfig_of("nobody").await?;
    let away = vec!["--apiserver-host=https://127.0.0.1:1".to_owned()];
    let pod = [("POD_NAME", "web-0"), ("POD_NAMESPACE", case.ns())];
    let none: [(&str, &str); 0] = [];
    let missing = kubeconfig(Path::new("/nonexistent"));
    for (flags, env) in [(kubeconfig(nobody.path()), &pod[..]), (away, &pod), (missing, &pod), (kubeconfig(case.bed.kubeconfig()), &none)] {
        let watch = Watch::start(local()?, &flags, env).await?;
        fs::write(watch.conf("more.conf"), "nonsense on;\n")?;
        assert_eq!(watch.reload().await?.status, 422);
        fs::remove_file(watch.conf("more.conf"))?;
        watch.write("v1")?;
        watch.until("v1").await?;
    }
    let events = case.namespace.api::<Event>().list(&ListParams::default()).await?.items;
    assert!(events.is_empty(), "{events:?}");
    Ok(())
}
