//! The receivers of notifications: webhooks, alerts, Events, metrics.

use std::io::Write;

use anyhow::Context;
use e2e::Case;
use e2e::receiver::{Notification, Receiver};
use e2e::rollout::{Kind, Rollout, deployment};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use serde_json::{Value, json};
use testkit::kube::mk_authority;
use testkit::poll;
use testkit::ports::Ports;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];

#[tokio::test]
async fn a_webhook_is_told_of_each_change_and_nothing_is_rolled_out() -> anyhow::Result<()> {
    let case = Case::new("ro-webhook").await?;
    let receiver = Receiver::start().await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let rollout = Rollout::start(&case, &[&format!("--webhook-url={}", receiver.url())], &[]).await?;
    // A notification of the first change that is seen: the list may not be there yet.
    poll(e2e::PATIENCE, || async {
        let map = case.namespace.api::<ConfigMap>().get("config").await?;
        case.config("config", &map.metadata.resource_version.unwrap_or_default()).await?;
        anyhow::ensure!(!receiver.notifications().is_empty(), "nothing is reported");
        Ok(())
    })
    .await?;
    let (head, body) = receiver.until_notified("webhook").await?;
    assert!(head.starts_with("POST /hook HTTP/1.1\r\n") && head.to_ascii_lowercase().contains("content-type: application/json"), "{head}");
    assert_eq!(body, "{\"webhook\":\"update successful\"}");
    poll(e2e::PATIENCE, || async {
        let notified = rollout.metric("narthex_rollout_webhooks_total{success=\"true\"}").await?;
        anyhow::ensure!(notified >= 1.0, "{notified}");
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
    let marked = format!("lab : *config* of type *ConfigMap* changed in namespace *{}*; rolled out *web* of type *Deployment*", case.ns());
    let slack = json!({"attachments": [{"text": marked, "color": "good", "author_name": "Reloader"}]}).to_string();
    let text = json!({"text": marked}).to_string();
    let plain = marked.replace('*', "");
    for (times, sink, content_type, expected) in [
        (1, "slack", "application/json", &slack),
        (2, "teams", "application/json", &text),
        (3, "gchat", "application/json", &text),
        (4, "webhook", "text/plain", &plain),
        (5, "", "text/plain", &plain),
    ] {
        let url = receiver.url();
        let env = [("ALERT_ON_RELOAD", "true"), ("ALERT_SINK", sink), ("ALERT_WEBHOOK_URL", &*url), ("ALERT_ADDITIONAL_INFO", "lab")];
        let _rollout = Rollout::start(&case, &[], &env).await?;
        case.rolled_out(Kind::Deployment, "web", times - 1).await?;
        case.config("config", &times.to_string()).await?;
        case.rolled_out(Kind::Deployment, "web", times).await?;
        let (head, body) = newest(&receiver, times).await?;
        assert!(head.to_ascii_lowercase().contains(&format!("content-type: {content_type}")), "{sink}: {head}");
        assert_eq!(&body, expected, "{sink}");
    }
    Ok(())
}

/// The newest of so many requests.
async fn newest(receiver: &Receiver, count: u64) -> anyhow::Result<Notification> {
    poll(e2e::PATIENCE, || async {
        let notified = receiver.notifications();
        anyhow::ensure!(notified.len() == usize::try_from(count)?, "{notified:?}");
        Ok(notified[notified.len() - 1].clone())
    })
    .await
}

#[tokio::test]
async fn alerts_may_be_structured_and_asked_for_by_flags() -> anyhow::Result<()> {
    let case = Case::new("ro-structured").await?;
    let receiver = Receiver::start().await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let flags =
        [&format!("--alert-webhook-url={}", receiver.url()), "--alert-sink=raw", "--alert-structured", "--alert-additional-info=lab"];
    let _rollout = Rollout::start(&case, &flags, &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    let (_, body) = newest(&receiver, 1).await?;
    let mut said: Value = serde_json::from_str(&body)?;
    let _: Timestamp = said["timestamp"].take().as_str().context("when")?.parse()?;
    let expected = json!({
        "event": "reload", "timestamp": null, "additional": "lab",
        "workloadKind": "Deployment", "workloadName": "web", "workloadNamespace": case.ns(),
        "resourceKind": "ConfigMap", "resourceName": "config", "resourceNamespace": case.ns(),
    });
    assert_eq!(said, expected);
    Ok(())
}

#[tokio::test]
async fn nothing_waits_for_an_alert_that_nobody_answers() -> anyhow::Result<()> {
    let case = Case::new("ro-hang").await?;
    let listener = TcpListener::bind(("127.0.0.1", Ports::one()?)).await?;
    let url = format!("--alert-webhook-url=http://{}/hook", listener.local_addr()?);
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let mut rollout = Rollout::start(&case, &[&url, "--check=command", "--check-command=false"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    let (mut connection, _) = listener.accept().await?;
    rollout.until_metric("narthex_rollout_held", 1.0).await?;
    // It is waited for at the end.
    rollout.terminate()?;
    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
    rollout.ended().await?;
    assert!(!rollout.log().contains("could not be sent"), "{}", rollout.log());
    Ok(())
}

#[tokio::test]
async fn alerts_go_over_https_and_through_a_proxy() -> anyhow::Result<()> {
    let case = Case::new("ro-https").await?;
    let authority = mk_authority("alerts")?;
    let (receiver, proxy) = (Receiver::start_tls(&authority.sign(&["localhost"])?).await?, Receiver::start().await?);
    let mut trusted = tempfile::NamedTempFile::new()?;
    trusted.write_all(authority.certificate_pem.as_bytes())?;
    let trusted = trusted.path().display().to_string();
    let (url, through) = (receiver.url(), proxy.url());
    case.config("config", "0").await?;
    case.make(deployment("web", &AUTO)).await?;
    let alerts = [("ALERT_ON_RELOAD", "true"), ("ALERT_WEBHOOK_URL", &*url)];

    // An unknown authority: reported in the log, without the address, and the rollout goes on.
    let stranger = Rollout::start(&case, &[], &alerts).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "1").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    poll(e2e::PATIENCE, || async {
        let log = stranger.log();
        anyhow::ensure!(log.contains("the alert could not be sent") && !log.contains("/hook"), "{log}");
        Ok(())
    })
    .await?;
    drop(stranger);
    assert_eq!(receiver.notifications().len(), 0);

    for (times, flags) in [(2, vec![]), (3, vec![format!("--alert-proxy={through}")])] {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let _rollout = Rollout::start(&case, &flags, &[alerts[0], alerts[1], ("SSL_CERT_FILE", &trusted)]).await?;
        case.rolled_out(Kind::Deployment, "web", times - 1).await?;
        case.config("config", &times.to_string()).await?;
        newest(&receiver, times - 1).await?;
    }
    let notified = proxy.notifications();
    let port = url.trim_end_matches("/hook").rsplit(':').next().context("a port")?;
    assert!(notified.len() == 1 && notified[0].0.starts_with(&format!("CONNECT localhost:{port} HTTP/1.1")), "{notified:?}");
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
