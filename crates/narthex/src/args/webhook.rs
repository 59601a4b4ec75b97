//! Flags of the admission webhook.

use std::time::Duration;

use clap::Args;

use super::duration::duration;

/// The admission webhook.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Admission webhook")]
pub(crate) struct WebhookArgs {
    /// Review Ingresses for the API server on this address, such as :8443; off unless given
    #[arg(long, value_name = "ADDRESS", default_value = "")]
    pub(crate) validating_webhook: String,
    /// Its certificate, as PEM; read again when it changes. Without it the controller makes one itself and rotates it
    #[arg(long, value_name = "FILE", default_value = "")]
    pub(crate) validating_webhook_certificate: String,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", default_value = "")]
    pub(crate) validating_webhook_key: String,
    /// Secret where the certificate is kept that the controller makes, as namespace/name; it must exist, and may be empty
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "")]
    pub(crate) validating_webhook_secret: String,
    /// ValidatingWebhookConfiguration whose webhooks get the authority of that certificate
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) validating_webhook_configuration: String,
    /// Names and addresses in that certificate, by commas: those by which API servers call
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) validating_webhook_names: Vec<String>,
    /// Life of that certificate; a third of it before its end comes the next one
    #[arg(long, value_name = "TIME", default_value = "2160h", value_parser = duration)]
    pub(crate) validating_webhook_lifetime: Duration,
}
