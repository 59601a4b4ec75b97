//! Keys of the ConfigMap that have no id of their own in the list of cases: what a client, a backend or a log sees of each.

mod auth;
mod clients;
mod endpoints;
mod logs;
mod refused;
mod status;
mod traces;

use e2e::{Case, Controller, Servers, rule};

const HOST: &str = "keys.example.com";

/// A controller that serves [`HOST`] from one echo server.
struct Serving {
    case: Case,
    _servers: Servers,
    controller: Controller,
}

impl Serving {
    async fn start(id: &str, settings: &[(&str, &str)]) -> anyhow::Result<Self> {
        Self::with(id, settings, &[]).await
    }

    /// The same with annotations.
    async fn with(id: &str, settings: &[(&str, &str)], annotations: &[(&str, &str)]) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        let servers = case.echo(1).await?;
        case.settings(settings).await?;
        let ingress = annotations.iter().fold(rule("keys", HOST), |ingress, (name, value)| ingress.annotation(name, value));
        case.create(&ingress.build()).await?;
        let controller = case.controller().start().await?;
        controller.until(HOST, "/", 200).await?;
        Ok(Self { case, _servers: servers, controller })
    }
}
