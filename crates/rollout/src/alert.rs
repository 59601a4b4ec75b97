//! Messages for people: Slack, Teams, Google Chat, or text to a webhook.

use hyper::http::uri::InvalidUri;
use serde_json::{Value, json};

use crate::post::Post;

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// `slack`.
    Slack,
    /// `teams`.
    Teams,
    /// `gchat`.
    GoogleChat,
    /// `webhook`, and everything else: plain text.
    Text,
}

impl Sink {
    /// Reads `ALERT_SINK`.
    pub fn read(text: &str) -> Self {
        match text.trim().to_ascii_lowercase().as_str() {
            "slack" => Self::Slack,
            "teams" => Self::Teams,
            "gchat" => Self::GoogleChat,
            _ => Self::Text,
        }
    }
}

/// The environment variables `ALERT_*`.
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

/// Whether a message is about something good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
}

/// The body of a request: JSON, or plain text.
#[derive(Debug, PartialEq)]
enum Body {
    Json(Value),
    Text(String),
}

fn body(options: &AlertOptions, message: &str, tone: Tone) -> Body {
    let message = match &options.info {
        Some(info) => format!("{} : {message}", info.trim()),
        None => message.to_owned(),
    };
    let color = if tone == Tone::Good { "good" } else { "danger" };
    match options.sink {
        Sink::Slack => Body::Json(json!({"attachments": [{"text": message, "color": color, "author_name": "Reloader"}]})),
        Sink::Teams | Sink::GoogleChat => Body::Json(json!({"text": message})),
        Sink::Text => Body::Text(message.replace('*', "")),
    }
}

/// Sends alerts and tells webhooks.
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
    pub(crate) async fn alert(&self, message: &str, tone: Tone) {
        let Some((options, post)) = &self.alerts else { return };
        let sent = match body(options, message, tone) {
            Body::Json(value) => post.send(&options.url, "application/json", value.to_string()).await,
            Body::Text(text) => post.send(&options.url, "text/plain", text).await,
        };
        if let Err(error) = sent {
            tracing::warn!(error, "the alert could not be sent");
        }
    }

    /// Tells a webhook that something changed.
    ///
    /// # Errors
    /// No answer, or one that is not a success; without the URL, which may hold a secret.
    pub(crate) async fn tell(&self, url: &str) -> Result<(), String> {
        self.direct.send(url, "application/json", json!({"webhook": "update successful"}).to_string()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(sink: &str, info: Option<&str>) -> AlertOptions {
        AlertOptions { sink: Sink::read(sink), url: String::new(), proxy: None, info: info.map(str::to_owned) }
    }

    #[test]
    fn every_sink_has_its_form() {
        let said = |sink| body(&options(sink, Some("test ")), "*a* changed", Tone::Good);
        let slack = json!({"attachments": [{"text": "test : *a* changed", "color": "good", "author_name": "Reloader"}]});
        assert_eq!(said("Slack "), Body::Json(slack));
        assert_eq!(said("teams"), Body::Json(json!({"text": "test : *a* changed"})));
        assert_eq!(said("gchat"), said("teams"));
        assert_eq!(said("webhook"), Body::Text("test : a changed".into()));
        assert_eq!(body(&options("", None), "x", Tone::Bad), Body::Text("x".into()));
    }
}
