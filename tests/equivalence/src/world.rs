//! A small cluster as data, and an NGINX that serves it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use model::{BuildOptions, Builder, ObjectKey, Snapshot};
use render::Capabilities;
use testkit::http::{Request, Response};
use testkit::kube::{IngressBuilder, mk_service, mk_slice};
use testkit::ports::Ports;

use crate::rules::{self, NAMESPACE};
use crate::sides::Side;

/// How long a state may take to come.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Objects, and the NGINX that serves them.
#[derive(Debug)]
pub struct World {
    caps: Capabilities,
    ports: Vec<u16>,
    settings: BuildOptions,
    snapshot: Snapshot,
    side: Side,
}

impl World {
    /// Without objects, nothing running yet.
    ///
    /// # Errors
    /// There is no NGINX with Lua on this machine, or no ports are free.
    pub async fn new() -> anyhow::Result<Self> {
        let (caps, ports) = (nginx::detect(None).await?, Ports::take(2)?);
        let settings = BuildOptions { default_backend_service: None, ..rules::settings(ports[0], ports[1])? };
        let side = Side::open(&caps).await?;
        Ok(Self { caps, ports, settings, snapshot: Snapshot::default(), side }.configured(&[]))
    }

    /// With settings of the ConfigMap besides quiet ones.
    #[must_use]
    pub fn configured(mut self, settings: &[(&str, &str)]) -> Self {
        let quiet = [("disable-access-log", "true"), ("error-log-level", "error"), ("worker-processes", "1")];
        let all =
            quiet.iter().chain([("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")].iter()).chain(settings);
        let data = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.snapshot.config_maps.insert(key("settings"), Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
        self
    }

    /// With other settings of the process.
    #[must_use]
    pub fn set(mut self, change: impl FnOnce(&mut BuildOptions)) -> Self {
        change(&mut self.settings);
        self
    }

    /// With an Ingress of this name.
    #[must_use]
    pub fn ingress(mut self, name: &str, ingress: IngressBuilder) -> Self {
        let mut ingress = ingress.build();
        ingress.metadata.namespace = Some(NAMESPACE.into());
        self.snapshot.ingresses.insert(key(name), Arc::new(ingress.into()));
        self
    }

    /// With a ConfigMap.
    #[must_use]
    pub fn config_map(mut self, name: &str, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.snapshot.config_maps.insert(key(name), Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
        self
    }

    /// With a Secret.
    #[must_use]
    pub fn secret(mut self, name: &str, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(name, value)| ((*name).to_owned(), ByteString(value.as_bytes().to_vec()))).collect();
        self.snapshot.secrets.insert(key(name), Arc::new(Secret { data: Some(data), ..Secret::default() }));
        self
    }

    /// With a Service on port 80 and its endpoints.
    #[must_use]
    pub fn service(mut self, name: &str, endpoints: &[SocketAddr]) -> Self {
        self.snapshot.services.insert(key(name), Arc::new(mk_service(name, 80, 8080, None).into()));
        self.snapshot.endpoint_slices.insert(key(name), Arc::new(mk_slice(name, name, endpoints).into()));
        self
    }

    /// Served by NGINX.
    ///
    /// # Errors
    /// NGINX refuses what is made of the objects.
    pub async fn serve(mut self) -> anyhow::Result<Self> {
        let built = Builder::new(self.settings.clone()).build(&self.snapshot);
        self.side.apply(&built.model, &self.caps).await?;
        Ok(self)
    }

    /// Where plain HTTP is served.
    pub fn http(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[0]))
    }

    /// Where HTTPS is served.
    pub fn https(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[1]))
    }

    /// A request over plain HTTP.
    pub fn request(&self, method: &str, host: &str, target: &str) -> Request {
        Request::new(method, self.http(), target).host(host)
    }

    /// The answer to a GET.
    ///
    /// # Errors
    /// There is none.
    pub async fn get(&self, host: &str, target: &str) -> anyhow::Result<Response> {
        self.request("GET", host, target).send().await
    }

    /// The NGINX.
    pub const fn side(&self) -> &Side {
        &self.side
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(NAMESPACE, name)
}
