//! Messages for people: Slack, Teams, Google Chat, or text or JSON to a webhook.

use hyper::http::uri::InvalidUri;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kind::ContentId;
use crate::post::Post;

/// The receiver of alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// `slack`.
    Slack,
    /// `teams`.
    Teams,
    /// `gchat`.
    GoogleChat,
    /// `webhook`, `raw` or nothing: plain text.
    Text,
    /// The same with `--alert-structured`: JSON, a request for each object.
    Json,
}

impl Sink {
    /// Reads `ALERT_SINK`; `None` for what is none.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "slack" => Some(Self::Slack),
            "teams" => Some(Self::Teams),
            "gchat" => Some(Self::GoogleChat),
            "" | "webhook" | "raw" => Some(Self::Text),
            _ => None,
        }
    }
}

/// The flags `--alert-*`, or the environment variables `ALERT_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertOptions {
    /// `ALERT_SINK`.
    pub sink: Sink,
    /// `ALERT_WEBHOOK_URL`.
    pub url: String,
    /// `ALERT_WEBHOOK_PROXY`.
    pub proxy: Option<String>,
    /// `ALERT_ADDITIONAL_INFO`: before every message.
    pub info: Option<String>,
}

/// The event that an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// Something was rolled out.
    Reload,
    /// Content did not pass its check.
    CheckFailed,
    /// The first new Pods of a rollout fail.
    RolloutFailed,
}

/// One message, before it has the form of a sink.
#[derive(Debug)]
pub(crate) struct Alert<'a> {
    pub(crate) occasion: Occasion,
    /// For people; names stand between asterisks.
    pub(crate) message: String,
    pub(crate) namespace: &'a str,
    /// The workload that it is about: kind and name.
    pub(crate) workload: Option<(&'a str, &'a str)>,
    /// The objects that it is about.
    pub(crate) objects: Vec<&'a ContentId>,
}

/// The body of a request: JSON, or plain text.
#[derive(Debug, PartialEq)]
enum Body {
    Json(Value),
    Text(String),
}

/// The bodies to send: one, or with [`Sink::Json`] one for each object.
fn bodies(options: &AlertOptions, alert: &Alert<'_>, now: Timestamp) -> Vec<Body> {
    let message = match &options.info {
        Some(info) => format!("{} : {}", info.trim(), alert.message),
        None => alert.message.clone(),
    };
    let color = if alert.occasion == Occasion::Reload { "good" } else { "danger" };
    match options.sink {
        Sink::Slack => vec![Body::Json(json!({"attachments": [{"text": message, "color": color, "author_name": "Reloader"}]}))],
        Sink::Teams | Sink::GoogleChat => vec![Body::Json(json!({"text": message}))],
        Sink::Text => vec![Body::Text(message.replace('*', ""))],
        Sink::Json if alert.objects.is_empty() => vec![Body::Json(structured(options, alert, None, now))],
        Sink::Json => alert.objects.iter().map(|object| Body::Json(structured(options, alert, Some(object), now))).collect(),
    }
}

/// Reloader's fields, and for what is not a rollout `message`, which says what it is.
fn structured(options: &AlertOptions, alert: &Alert<'_>, object: Option<&ContentId>, now: Timestamp) -> Value {
    let event = match alert.occasion {
        Occasion::Reload => "reload",
        Occasion::CheckFailed => "check-failed",
        Occasion::RolloutFailed => "rollout-failed",
    };
    let mut body = json!({"event": event, "timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
    if let Some((kind, name)) = alert.workload {
        body["workloadKind"] = kind.into();
        body["workloadName"] = name.into();
        body["workloadNamespace"] = alert.namespace.into();
    }
    if let Some(object) = object {
        body["resourceKind"] = object.source.name().into();
        body["resourceName"] = object.name.as_str().into();
        body["resourceNamespace"] = alert.namespace.into();
    }
    if alert.occasion != Occasion::Reload {
        body["message"] = alert.message.replace('*', "").into();
    }
    if let Some(info) = &options.info {
        body["additional"] = info.trim().into();
    }
    body
}

/// Sends alerts and notifies webhooks.
pub(crate) struct Sender {
    direct: Post,
    alerts: Option<(AlertOptions, Post)>,
}

impl Sender {
    /// # Errors
    /// The proxy is not a URL.
    pub(crate) fn new(alerts: Option<AlertOptions>) -> Result<Self, InvalidUri> {
        let alerts = match alerts {
            Some(options) => {
                let post = Post::new(options.proxy.as_deref())?;
                Some((options, post))
            }
            None => None,
        };
        Ok(Self { direct: Post::new(None)?, alerts })
    }

    /// Sends an alert, where one is asked for. A failure is logged only.
    pub(crate) async fn alert(&self, alert: &Alert<'_>) {
        let Some((options, post)) = &self.alerts else { return };
        for body in bodies(options, alert, Timestamp::now()) {
            let sent = match body {
                Body::Json(value) => post.send(&options.url, "application/json", value.to_string()).await,
                Body::Text(text) => post.send(&options.url, "text/plain", text).await,
            };
            if let Err(error) = sent {
                tracing::warn!(error, "the alert could not be sent");
            }
        }
    }

    /// Tells a webhook that something changed.
    ///
    /// # Errors
    /// No answer, or one that is not a success; without the URL, which may hold a secret.
    pub(crate) async fn notify(&self, url: &str) -> Result<(), String> {
        self.direct.send(url, "application/json", json!({"webhook": "update successful"}).to_string()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::ContentKind;

    fn options(sink: Sink, info: Option<&str>) -> AlertOptions {
        AlertOptions { sink, url: String::new(), proxy: None, info: info.map(str::to_owned) }
    }

    fn said(sink: Sink, occasion: Occasion, objects: &[ContentId]) -> Vec<Body> {
        let objects = objects.iter().collect();
        let workload = Some(("Deployment", "web"));
        let alert = Alert { occasion, message: "*a* changed".into(), namespace: "shop", workload, objects };
        bodies(&options(sink, Some("test ")), &alert, "2026-01-02T03:04:05.6Z".parse().unwrap())
    }

    #[test]
    fn every_sink_has_its_form() {
        let slack = |color| json!({"attachments": [{"text": "test : *a* changed", "color": color, "author_name": "Reloader"}]});
        assert_eq!(said(Sink::Slack, Occasion::Reload, &[]), [Body::Json(slack("good"))]);
        assert_eq!(said(Sink::Slack, Occasion::RolloutFailed, &[]), [Body::Json(slack("danger"))]);
        for sink in [Sink::Teams, Sink::GoogleChat] {
            assert_eq!(said(sink, Occasion::Reload, &[]), [Body::Json(json!({"text": "test : *a* changed"}))]);
        }
        assert_eq!(said(Sink::Text, Occasion::CheckFailed, &[]), [Body::Text("test : a changed".into())]);
        let names = ["Slack ", "teams", "gchat", "raw", "webhook", "", "pager"].map(Sink::read);
        let text = Some(Sink::Text);
        assert_eq!(names, [Some(Sink::Slack), Some(Sink::Teams), Some(Sink::GoogleChat), text, text, text, None]);
    }

    #[test]
    fn a_structured_alert_is_one_request_for_each_object() {
        let objects = [ContentId::new(ContentKind::ConfigMap, "a"), ContentId::new(ContentKind::Secret, "b")];
        let one = |kind: &str, name: &str| {
            Body::Json(json!({
                "event": "reload", "timestamp": "2026-01-02T03:04:05Z", "additional": "test",
                "workloadKind": "Deployment", "workloadName": "web", "workloadNamespace": "shop",
                "resourceKind": kind, "resourceName": name, "resourceNamespace": "shop",
            }))
        };
        assert_eq!(said(Sink::Json, Occasion::Reload, &objects), [one("ConfigMap", "a"), one("Secret", "b")]);
        let failed = json!({
            "event": "rollout-failed", "timestamp": "2026-01-02T03:04:05Z", "additional": "test", "message": "a changed",
            "workloadKind": "Deployment", "workloadName": "web", "workloadNamespace": "shop",
        });
        assert_eq!(said(Sink::Json, Occasion::RolloutFailed, &[]), [Body::Json(failed)]);
    }
}
