//! Who is told: webhooks, alerts, Events, metrics.

use e2e::Case;
use e2e::receiver::Receiver;
use e2e::rollout::{Kind, Rollout, deployment};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use testkit::poll;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];

#[tokio::test]
async fn a_webhook_is_told_of_each_change_and_nothing_is_rolled_out() -> anyhow::Result<()> {
    let case = Case::new("ro-webhook").await?;
    let receiver = Receiver::start().await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let rollout = Rollout::start(&case, &[&format!("--webhook-url={}", receiver.url())], &[]).await?;
    // Told of the first change that is seen: the list may not be there yet.
    poll(e2e::PATIENCE, || async {
        let map = case.namespace.api::<ConfigMap>().get("config").await?;
        case.config("config", &map.metadata.resource_version.unwrap_or_default()).await?;
        anyhow::ensure!(!receiver.told().is_empty(), "nothing is told");
        Ok(())
    })
    .await?;
    let (head, body) = receiver.until_told("webhook").await?;
    assert!(head.starts_with("POST /hook HTTP/1.1\r\n") && head.to_ascii_lowercase().contains("content-type: application/json"), "{head}");
    assert_eq!(body, "{\"webhook\":\"update successful\"}");
    poll(e2e::PATIENCE, || async {
        let told = rollout.metric("narthex_rollout_webhooks_total{success=\"true\"}").await?;
        anyhow::ensure!(told >= 1.0, "{told}");
        Ok(())
    })
    .await?;
    assert_eq!(case.rollouts(Kind::Deployment, "web").await?, None);
    Ok(())
}

#[tokio::test]
async fn alerts_go_to_the_sink_in_its_form() -> anyhow::Result<()> {
    let case = Case::new("ro-alert").await?;
    let receiver = Receiver::start().await?;
    case.config("config", "0").await?;
    case.make(deployment("web", &AUTO)).await?;
    for (times, sink, content_type, begin) in [
        (1, "slack", "application/json", "{\"attachments\":[{"),
        (2, "teams", "application/json", "{\"text\":\"lab : *config*"),
        (3, "gchat", "application/json", "{\"text\":\"lab : *config*"),
        (4, "webhook", "text/plain", "lab : config of type ConfigMap changed"),
    ] {
        let url = receiver.url();
        let env = [("ALERT_ON_RELOAD", "true"), ("ALERT_SINK", sink), ("ALERT_WEBHOOK_URL", &*url), ("ALERT_ADDITIONAL_INFO", "lab")];
        let _rollout = Rollout::start(&case, &[], &env).await?;
        case.rolled_out(Kind::Deployment, "web", times - 1).await?;
        case.config("config", &times.to_string()).await?;
        case.rolled_out(Kind::Deployment, "web", times).await?;
        let (head, body) = poll(e2e::PATIENCE, || async {
            let told = receiver.told();
            anyhow::ensure!(told.len() == usize::try_from(times)?, "{told:?}");
            Ok(told[told.len() - 1].clone())
        })
        .await?;
        assert!(head.to_ascii_lowercase().contains(&format!("content-type: {content_type}")), "{sink}: {head}");
        assert!(body.starts_with(begin) && body.contains("web"), "{sink}: {body}");
    }
    Ok(())
}

#[tokio::test]
async fn events_and_metrics_tell_of_each_rollout() -> anyhow::Result<()> {
    let case = Case::new("ro-tell").await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let rollout = Rollout::start(&case, &[], &[("METRICS_COUNT_BY_NAMESPACE", "enabled")]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    assert!(rollout.metric("reloader_reload_executed_total{success=\"false\"}").await?.abs() < 0.5);
    case.config("config", "2").await?;
    rollout.until_metric("reloader_reload_executed_total{success=\"true\"}", 1.0).await?;
    let series = format!("reloader_reload_executed_total_by_namespace{{namespace=\"{}\",success=\"true\"}}", case.ns());
    rollout.until_metric(&series, 1.0).await?;
    poll(e2e::PATIENCE, || async {
        let events = case.namespace.api::<Event>().list(&ListParams::default()).await?.items;
        let reloaded = events.iter().find(|event| event.reason.as_deref() == Some("Reloaded"));
        anyhow::ensure!(
            reloaded.is_some_and(|event| event.note.as_deref() == Some("ConfigMap config changed; rolled out Deployment web")),
            "{events:?}"
        );
        Ok(())
    })
    .await
}
