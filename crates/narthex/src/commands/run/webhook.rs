//! The admission webhook: its address, its certificate, its metrics.

use std::sync::Arc;

use anyhow::{Context, bail};
use controller::metrics::Identity;
use controller::{Metrics, Tasks};
use model::Builder;
use tokio::net::TcpListener;
use tokio::sync::watch;
use webhook::{Certificates, Data, Rotation, Stored};

use crate::args::{WebhookArgs, key};

/// A webhook that is not served yet.
pub(super) struct Webhook {
    listener: TcpListener,
    certificate: Certificate,
    reviewer: watch::Sender<Option<Arc<Builder>>>,
}

/// The source of the certificate.
enum Certificate {
    /// `--validating-webhook-certificate` and `--validating-webhook-key`.
    Files,
    /// The controller makes it.
    Made(Made),
}

struct Made {
    registration: Registration,
    rotation: Rotation,
}

/// Checks the flags and listens. `None`: there is no webhook.
pub(super) async fn bind(args: &WebhookArgs, client: Option<cluster::Client>) -> anyhow::Result<Option<Webhook>> {
    let address = args.validating_webhook.as_str();
    if address.is_empty() {
        return Ok(None);
    }
    let files = [&args.validating_webhook_certificate, &args.validating_webhook_key];
    let certificate = match files.map(String::is_empty) {
        [false, false] => Certificate::Files,
        [true, true] => Certificate::Made(made(args, client)?),
        _ => bail!("of --validating-webhook-certificate and --validating-webhook-key one is given, expected both or none"),
    };
    let listener = listen(address).await.with_context(|| format!("can't listen on --validating-webhook {address}"))?;
    Ok(Some(Webhook { listener, certificate, reviewer: watch::Sender::new(None) }))
}

fn made(args: &WebhookArgs, client: Option<cluster::Client>) -> anyhow::Result<Made> {
    let client =
        client.context("--validating-webhook with --manifests: expected --validating-webhook-certificate and --validating-webhook-key")?;
    let secret = key("--validating-webhook-secret", Some(&args.validating_webhook_secret))?;
    let (Some(secret), false, false) = (secret, args.validating_webhook_configuration.is_empty(), args.validating_webhook_names.is_empty())
    else {
        bail!(
            "--validating-webhook without a certificate: expected --validating-webhook-certificate and --validating-webhook-key, \
             or --validating-webhook-secret, --validating-webhook-configuration and --validating-webhook-names"
        )
    };
    let registration = Registration(cluster::Registration::new(client, secret, args.validating_webhook_configuration.clone()));
    let rotation = Rotation { names: args.validating_webhook_names.clone(), lifetime: args.validating_webhook_lifetime };
    Ok(Made { registration, rotation })
}

/// Listens on `host:port`; without a host on both families where there are two.
async fn listen(address: &str) -> std::io::Result<TcpListener> {
    match address.strip_prefix(':') {
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(format!("0.0.0.0:{port}")).await,
        },
        None => TcpListener::bind(address).await,
    }
}

impl Webhook {
    /// The end that gets the builder after each build.
    pub(super) fn reviewer(&self) -> watch::Sender<Option<Arc<Builder>>> {
        self.reviewer.clone()
    }

    /// The port it listens on.
    pub(super) fn port(&self) -> Option<u16> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Starts to serve.
    pub(super) fn spawn(self, args: &WebhookArgs, metrics: &Metrics, identity: &Identity, tasks: &mut Tasks) {
        let certificates = Arc::new(Certificates::default());
        match self.certificate {
            Certificate::Files => {
                let (certificate, key) = (args.validating_webhook_certificate.as_str().into(), args.validating_webhook_key.as_str().into());
                tasks.spawn(webhook::follow_files(certificate, key, certificates.clone()));
            }
            Certificate::Made(Made { registration, rotation }) => {
                tasks.spawn(webhook::rotate(rotation, registration, certificates.clone()));
            }
        }
        let labels = [
            ("controller_namespace", identity.namespace.as_str()),
            ("controller_class", identity.class.as_str()),
            ("controller_pod", identity.pod.as_str()),
        ];
        let counted = webhook::Metrics::new(metrics.registry(), &labels);
        tracing::info!(address = args.validating_webhook, "admission webhook");
        tasks.spawn(webhook::serve(self.listener, certificates, self.reviewer.subscribe(), counted));
    }
}

/// The cluster's end of the rotation.
struct Registration(cluster::Registration);

impl webhook::Registration for Registration {
    async fn read(&self) -> Result<Option<Stored>, String> {
        Ok(self.0.read().await?.map(|(data, version)| Stored { data, version }))
    }

    async fn write(&self, version: &str, data: &Data) -> Result<bool, String> {
        self.0.write(version, data).await
    }

    async fn announce(&self, authorities: &[u8]) -> Result<(), String> {
        self.0.announce(authorities).await
    }
}
