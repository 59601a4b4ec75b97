//! Receivers of alerts about rollouts: flags, or the environment variables of Reloader.

use anyhow::Context;
use clap::Args;
use rollout::{AlertOptions, Sink};
use tracing::warn;

use super::bool;

/// The receiver of alerts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Alerts")]
pub(crate) struct AlertArgs {
    /// Notify of rollouts, failed checks and failing rollouts; --alert-webhook-url alone says so, too
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", require_equals = true, value_parser = bool())]
    pub(crate) alert_on_reload: bool,
    /// The URL for alerts; often a secret, so rather ALERT_WEBHOOK_URL
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub(crate) alert_webhook_url: Option<String>,
    /// In which form: slack, teams, gchat, or webhook for plain text
    #[arg(long, value_name = "SINK")]
    pub(crate) alert_sink: Option<String>,
    /// Proxy on the way there
    #[arg(long, value_name = "URL")]
    pub(crate) alert_proxy: Option<String>,
    /// Stands before each message, such as the name of the cluster
    #[arg(long, value_name = "TEXT")]
    pub(crate) alert_additional_info: Option<String>,
    /// With --alert-sink=webhook: JSON instead of text, one request for each object that changed
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", require_equals = true, value_parser = bool())]
    pub(crate) alert_structured: bool,
}

impl AlertArgs {
    /// The receiver; `None` without one. `variable`: the environment.
    ///
    /// # Errors
    /// A sink that does not exist.
    pub(crate) fn options(&self, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<AlertOptions>> {
        let text = |flag: &Option<String>, names: &[&str]| {
            let all = flag.iter().cloned().chain(names.iter().filter_map(|name| variable(name)));
            all.map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
        };
        let is_true = |flag: bool, name: &str| flag || text(&None, &[name]).as_deref() == Some("true");
        let wanted = is_true(self.alert_on_reload, "ALERT_ON_RELOAD") || self.alert_webhook_url.as_ref().is_some_and(|url| !url.is_empty());
        if !wanted {
            return Ok(None);
        }
        let Some(url) = text(&self.alert_webhook_url, &["ALERT_WEBHOOK_URL"]) else {
            warn!("alerts are asked for, but neither --alert-webhook-url nor ALERT_WEBHOOK_URL is set: no receiver is alerted");
            return Ok(None);
        };
        let name = text(&self.alert_sink, &["ALERT_SINK"]).unwrap_or_default();
        let sink = Sink::read(&name).with_context(|| format!("--alert-sink {name:?}: expected slack, teams, gchat or webhook"))?;
        let sink = if sink == Sink::Text && is_true(self.alert_structured, "ALERT_STRUCTURED") { Sink::Json } else { sink };
        let proxy = text(&self.alert_proxy, &["ALERT_PROXY", "ALERT_WEBHOOK_PROXY"]);
        Ok(Some(AlertOptions { sink, url, proxy, info: text(&self.alert_additional_info, &["ALERT_ADDITIONAL_INFO"]) }))
    }
}
