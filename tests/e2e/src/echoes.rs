//! Services whose endpoints are echo servers in the case's own process: they need no Pods, and their answers can be told apart.

use std::net::SocketAddr;

use anyhow::ensure;
use testkit::echo::{self, Format, Handle, Identity, Seen};
use testkit::kube::{mk_service, mk_slice};
use testkit::ports;

use crate::{Case, Controller};

/// Port on which the servers listen, each on an address of its own.
const TARGET_PORT: u16 = 8080;

/// A Service to be made.
#[derive(Debug, Clone, Copy)]
pub struct Echo<'a> {
    /// Name of the Service; its servers say it in their answers.
    pub service: &'a str,
    /// Port of the Service, named `http`.
    pub port: u16,
    /// How many servers, named `<service>-<number>`.
    pub endpoints: usize,
    /// How they answer.
    pub format: Format,
}

impl<'a> Echo<'a> {
    /// One server that answers as text, port 80.
    pub fn named(service: &'a str) -> Self {
        Self { service, port: 80, endpoints: 1, format: Format::Text }
    }
}

impl Case {
    /// Makes Services of port 80 with one echo server each, which end when the value returned is dropped.
    ///
    /// # Errors
    /// As [`Self::echo_service`].
    pub async fn echoes(&self, services: &[&str]) -> anyhow::Result<Vec<Handle>> {
        let mut servers = Vec::new();
        for service in services {
            servers.extend(self.echo_service(Echo::named(service)).await?);
        }
        Ok(servers)
    }

    /// Makes a Service, its servers, and the EndpointSlice that joins them.
    ///
    /// # Errors
    /// The API server refuses it, or an address can't be listened on.
    pub async fn echo_service(&self, wanted: Echo<'_>) -> anyhow::Result<Vec<Handle>> {
        let Echo { service, port, endpoints, format } = wanted;
        let mut servers = Vec::with_capacity(endpoints);
        for (number, address) in ports::addresses(endpoints)?.into_iter().enumerate() {
            let (service, namespace) = (service.to_owned(), self.ns().to_owned());
            let identity = Identity { name: format!("{service}-{number}"), service, namespace, format };
            servers.push(echo::start((address, TARGET_PORT).into(), identity).await?);
        }
        let addresses: Vec<SocketAddr> = servers.iter().map(Handle::address).collect();
        self.create(&mk_service(service, port, TARGET_PORT, None)).await?;
        self.create(&mk_slice(service, service, &addresses)).await?;
        Ok(servers)
    }

    /// Lets Ingresses bring snippets.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn allow_snippets(&self) -> anyhow::Result<()> {
        self.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]).await
    }
}

impl Controller {
    /// The statuses with which `GET` is answered, path by path.
    ///
    /// # Errors
    /// No answer.
    pub async fn statuses<const N: usize>(&self, host: &str, paths: [&str; N]) -> anyhow::Result<[u16; N]> {
        let mut statuses = [0; N];
        for (status, path) in statuses.iter_mut().zip(paths) {
            *status = self.get(host, path).await?.status;
        }
        Ok(statuses)
    }

    /// What the echo server that answers `GET` with 200 saw of it.
    ///
    /// # Errors
    /// Another status, or another server's answer.
    pub async fn seen(&self, host: &str, path: &str) -> anyhow::Result<Seen> {
        let response = self.get(host, path).await?;
        ensure!(response.status == 200, "{host}{path}: {} {}", response.status, response.text());
        Seen::read(&response.body)
    }
}
