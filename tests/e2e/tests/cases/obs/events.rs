//! Events as `kubectl describe ingress` shows them.

use anyhow::{Context, ensure};
use e2e::{Case, PATIENCE, rule};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::ListParams;
use serde_json::json;
use testkit::poll;

/// The Events about an Ingress.
async fn events(case: &Case, ingress: &str) -> anyhow::Result<Vec<Event>> {
    let all = case.namespace.api::<Event>().list(&ListParams::default()).await?.items;
    Ok(all.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(ingress)).collect())
}

/// Waits for one with this reason.
async fn event_of(case: &Case, ingress: &str, reason: &str, count: i32) -> anyhow::Result<Event> {
    poll(PATIENCE, || async {
        let events = events(case, ingress).await?;
        let found = events.iter().find(|event| event.reason.as_deref() == Some(reason));
        let event = found.with_context(|| format!("no {reason} among {events:?}"))?;
        ensure!(event.count == Some(count), "{event:?}");
        Ok(event.clone())
    })
    .await
}

#[tokio::test]
async fn obs_05_an_ingress_is_scheduled_for_sync_when_it_is_taken_over_and_when_it_changes() -> anyhow::Result<()> {
    let case = Case::new("obs-05").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("ours", "ours.com").build()).await?;
    case.create(&rule("others", "others.com").class("another").build()).await?;
    let controller = case.controller().start().await?;
    controller.until("ours.com", "/", 200).await?;
    let event = event_of(&case, "ours", "Sync", 1).await?;
    assert_eq!((event.type_.as_deref(), event.message.as_deref()), (Some("Normal"), Some("Scheduled for sync")));
    assert_eq!(event.source.and_then(|source| source.component).as_deref(), Some("nginx-ingress-controller"));
    let changed = json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/app-root": "/x"}}});
    case.patch::<Ingress>("ours", changed).await?;
    controller.until("ours.com", "/", 302).await?;
    event_of(&case, "ours", "Sync", 2).await?;
    assert!(events(&case, "others").await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn obs_06_disable_sync_events_leaves_out_nothing_but_sync() -> anyhow::Result<()> {
    let case = Case::new("obs-06").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("ours", "ours.com").annotation("ssl-redirect", "maybe").build()).await?;
    let controller = case.controller().flag("--disable-sync-events=true").start().await?;
    controller.until("ours.com", "/", 200).await?;
    let event = event_of(&case, "ours", "InvalidValue", 1).await?;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(events(&case, "ours").await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn disable_sync_events_keeps_the_events_of_reloads_on_our_pod() -> anyhow::Result<()> {
    let case = Case::new("obs-reload").await?;
    let _servers = case.echo(1).await?;
    case.serve("ours.com").await?;
    let launch = case.controller().flag("--disable-sync-events=true").env("POD_NAME", "us").env("POD_NAMESPACE", case.ns());
    let controller = launch.start().await?;
    controller.until("ours.com", "/", 200).await?;
    case.settings(&[("keep-alive", "61")]).await?;
    let event = event_of(&case, "us", "RELOAD", 1).await?;
    assert_eq!((event.involved_object.kind.as_deref(), event.type_.as_deref()), (Some("Pod"), Some("Normal")));
    assert!(events(&case, "ours.com").await?.is_empty());
    Ok(())
}
