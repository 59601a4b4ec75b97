//! Changes of the other tenants, and the time until each is served.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::echo::Seen;
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress};
use testkit::poll_every;

use super::victims;
use crate::{Case, Echo, Servers};

/// Interval of looks for an effect.
const INTERVAL: Duration = Duration::from_millis(2);

/// The longest waits. Not the targets, which are in docs/benchmarks.md: the machine may be busy, and the binary not optimised.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a changed endpoint.
    pub endpoint: Duration,
    /// For a new Ingress.
    pub ingress: Duration,
    /// For a new Ingress that needs a reload.
    pub profile: Duration,
}

/// Times from the API server's answer to the first right answer over HTTP.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// Times of changed endpoints.
    pub endpoint: Vec<Duration>,
    /// Times of new Ingresses.
    pub ingress: Vec<Duration>,
    /// Times of new Ingresses that need a reload.
    pub profile: Vec<Duration>,
}

impl Times {
    /// These and others.
    #[must_use]
    pub fn with(mut self, others: Self) -> Self {
        self.endpoint.extend(others.endpoint);
        self.ingress.extend(others.ingress);
        self.profile.extend(others.profile);
        self
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, times) in [("endpoints", &self.endpoint), ("new Ingresses", &self.ingress), ("new profiles", &self.profile)] {
            write!(f, "{what}: {} times, longest {:?}; ", times.len(), times.iter().max().copied().unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Changes of one namespace, one at a time.
pub struct Changes<'a> {
    case: &'a Case,
    host: String,
    http: SocketAddr,
    servers: Servers,
    number: usize,
    patience: Patience,
    /// So far.
    pub times: Times,
}

impl<'a> Changes<'a> {
    /// Two servers of which the Service `moving` has one at a time, and a host for it, named after the namespace.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn new(case: &'a Case, http: SocketAddr, patience: Patience) -> anyhow::Result<Self> {
        let servers = case.deploy(&[Echo { endpoints: 2, ..Echo::named("moving") }]).await?;
        let host = format!("moving-{}", case.ns());
        let mut changes = Self { case, host, http, servers, number: 0, patience, times: Times::default() };
        case.create(&changes.ingress(&changes.host).build()).await?;
        changes.endpoint().await?;
        changes.times = Times::default();
        Ok(changes)
    }

    fn ingress(&self, name: &str) -> testkit::kube::IngressBuilder {
        mk_ingress(name).class("nginx").host(&victims::host(name)).path("/", PathType::Prefix, "moving", 80)
    }

    /// Waits until a host of this name is answered by one of these servers.
    async fn served(&self, name: &str, by: &[SocketAddr], patience: Duration) -> anyhow::Result<Duration> {
        let began = Instant::now();
        poll_every(INTERVAL, patience, || async {
            let response = Request::get(self.http, "/").host(victims::host(name)).send().await?;
            ensure!(response.status == 200, "{name} is answered {}", response.status);
            let seen = Seen::read(&response.body)?.address.parse()?;
            ensure!(by.contains(&seen), "{name} is answered by {seen}, not by {by:?}");
            Ok(())
        })
        .await?;
        Ok(began.elapsed())
    }

    /// The Service moves to its other server.
    ///
    /// # Errors
    /// When it is not served there in time.
    pub async fn endpoint(&mut self) -> anyhow::Result<()> {
        self.number += 1;
        let to = self.servers.addresses()[self.number % 2];
        let patch = json!({"endpoints": [{"addresses": [to.ip()], "conditions": {"ready": true}}]});
        self.case.patch::<EndpointSlice>("moving", patch).await?;
        let took = self.served(&self.host, &[to], self.patience.endpoint).await?;
        self.times.endpoint.push(took);
        Ok(())
    }

    /// An Ingress comes, and goes when it was served.
    ///
    /// # Errors
    /// When it is not served in time.
    pub async fn new_ingress(&mut self) -> anyhow::Result<()> {
        let took = self.come_and_go(None, self.patience.ingress).await?;
        self.times.ingress.push(took);
        Ok(())
    }

    /// The same with a profile that no other Ingress has.
    ///
    /// # Errors
    /// When it is not served in time.
    pub async fn new_profile(&mut self) -> anyhow::Result<()> {
        let size = format!("{}k", 100 + self.number);
        let took = self.come_and_go(Some(("client-body-buffer-size", &size)), self.patience.profile).await?;
        self.times.profile.push(took);
        Ok(())
    }

    async fn come_and_go(&mut self, annotation: Option<(&str, &str)>, patience: Duration) -> anyhow::Result<Duration> {
        self.number += 1;
        let name = format!("new-{}-{}", self.number, self.case.ns());
        let ingress = self.ingress(&name);
        let ingress = annotation.into_iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
        self.case.create(&ingress.build()).await?;
        let took = self.served(&name, &self.servers.addresses(), patience).await?;
        self.case.delete::<Ingress>(&name).await?;
        Ok(took)
    }
}
