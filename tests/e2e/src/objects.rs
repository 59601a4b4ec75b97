//! Deployments of cases: objects, and Services whose endpoints are echo servers in the case's own process. These need no Pods, and their
//! answers can be distinguished.

use std::fmt::Debug;
use std::net::SocketAddr;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use testkit::echo::{self, Format, Handle, Identity, Seen};
use testkit::kube::{Certificate, IngressBuilder, PathType, mk_certificate, mk_ingress, mk_service, mk_slice, mk_tls_secret};
use testkit::ports;

use crate::Case;

/// Port on which the servers listen, each on an address of its own.
const TARGET_PORT: u16 = 8080;

/// Begins an Ingress of our class with one rule: everything of `host` to port 80 of the Service `echo`.
pub fn rule(name: &str, host: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(host).path("/", PathType::Prefix, "echo", 80)
}

/// A Service of echo servers, to be made.
#[derive(Debug, Clone, Copy)]
pub struct Echo<'a> {
    /// Name of the Service; its servers say it in their answers, and are named `<service>-<number>`.
    pub service: &'a str,
    /// Port of the Service, named `http`.
    pub port: u16,
    /// Number of servers.
    pub endpoints: usize,
    /// The form of their answers.
    pub format: Format,
}

impl<'a> Echo<'a> {
    /// One server that answers as text, port 80.
    pub fn named(service: &'a str) -> Self {
        Self { service, port: 80, endpoints: 1, format: Format::Text }
    }
}

/// Echo servers. Dropping them ends them.
pub struct Servers(Vec<Handle>);

impl Servers {
    /// Their addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(Handle::address).collect()
    }

    /// Number of requests that arrived so far.
    pub fn requests(&self) -> u64 {
        self.0.iter().map(Handle::requests).sum()
    }

    /// The request that the first server read last.
    pub fn last(&self) -> Option<Seen> {
        self.0.first()?.last()
    }

    /// The same as sorted text, as [`crate::Controller::endpoints`] has it.
    pub fn endpoints(&self) -> Vec<String> {
        let mut endpoints: Vec<String> = self.addresses().iter().map(SocketAddr::to_string).collect();
        endpoints.sort();
        endpoints
    }
}

/// A kind that lives in a namespace.
pub trait Namespaced: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned {}
impl<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned> Namespaced for K {}

impl Case {
    /// Creates an object and returns it as stored.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn create<K: Namespaced>(&self, object: &K) -> anyhow::Result<K> {
        Ok(self.namespace.api::<K>().create(&Default::default(), object).await?)
    }

    /// Applies a JSON merge patch.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn patch<K: Namespaced>(&self, name: &str, patch: Value) -> anyhow::Result<K> {
        Ok(self.namespace.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn delete<K: Namespaced>(&self, name: &str) -> anyhow::Result<()> {
        self.namespace.api::<K>().delete(name, &Default::default()).await?;
        Ok(())
    }

    /// Makes the Service `echo` with `n` servers.
    ///
    /// # Errors
    /// As [`Self::deploy`].
    pub async fn echo(&self, n: usize) -> anyhow::Result<Servers> {
        self.deploy(&[Echo { endpoints: n, ..Echo::named("echo") }]).await
    }

    /// Makes Services, their servers, and the EndpointSlices, named like the Services, that join them.
    ///
    /// # Errors
    /// The API server refuses it, or an address can't be listened on.
    pub async fn deploy(&self, services: &[Echo<'_>]) -> anyhow::Result<Servers> {
        let mut servers = Vec::new();
        for wanted in services {
            let own = self.echo_servers(wanted).await?;
            let addresses: Vec<SocketAddr> = own.iter().map(Handle::address).collect();
            self.create(&mk_service(wanted.service, wanted.port, TARGET_PORT, None)).await?;
            self.create(&mk_slice(wanted.service, wanted.service, &addresses)).await?;
            servers.extend(own);
        }
        Ok(Servers(servers))
    }

    async fn echo_servers(&self, wanted: &Echo<'_>) -> anyhow::Result<Vec<Handle>> {
        let &Echo { service, endpoints, format, .. } = wanted;
        let mut servers = Vec::with_capacity(endpoints);
        for (number, address) in ports::addresses(endpoints)?.into_iter().enumerate() {
            let (service, namespace) = (service.to_owned(), self.ns().to_owned());
            let identity = Identity { name: format!("{service}-{number}"), service, namespace, format };
            servers.push(echo::start((address, TARGET_PORT).into(), identity).await?);
        }
        Ok(servers)
    }

    /// Lets Ingresses bring snippets.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn allow_snippets(&self) -> anyhow::Result<()> {
        self.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]).await
    }

    /// Creates a TLS Secret with a new certificate for these names.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn certificate(&self, secret: &str, names: &[&str]) -> anyhow::Result<Certificate> {
        let certificate = mk_certificate(names)?;
        self.create::<Secret>(&mk_tls_secret(secret, &certificate)).await?;
        Ok(certificate)
    }

    /// Creates the Ingress of [`rule`], named like its host.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn serve(&self, host: &str) -> anyhow::Result<Ingress> {
        self.create(&rule(host, host).build()).await
    }
}
