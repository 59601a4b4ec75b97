//! The objects that most cases begin with.

use std::fmt::Debug;
use std::net::SocketAddr;

use anyhow::ensure;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use testkit::echo::Handle;
use testkit::http::{Request, Response};
use testkit::kube::{Certificate, IngressBuilder, PathType, mk_certificate, mk_ingress, mk_tls_secret};
use testkit::poll;

use crate::{Case, Controller, Echo, PATIENCE};

/// Common name of the certificate that is made when there is no other.
const FAKE_CERTIFICATE: &[u8] = b"Kubernetes Ingress Controller Fake Certificate";

/// Begins an Ingress of our class with one rule: everything of `host` to port 80 of the Service `echo`.
pub fn rule(name: &str, host: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(host).path("/", PathType::Prefix, "echo", 80)
}

/// The servers of a Service. Dropping them ends them.
pub struct Servers(Vec<Handle>);

impl Servers {
    /// Where they listen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(Handle::address).collect()
    }

    /// The same as sorted text, as [`Controller::endpoints`] has it.
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

    /// The Service `echo` and its EndpointSlice of the same name, with `n` servers.
    ///
    /// # Errors
    /// As [`Self::echo_service`].
    pub async fn echo(&self, n: usize) -> anyhow::Result<Servers> {
        Ok(Servers(self.echo_service(Echo { endpoints: n, ..Echo::named("echo") }).await?))
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

impl Controller {
    /// Waits until `GET /` over TLS is answered 200 with exactly this certificate.
    ///
    /// # Errors
    /// It is not within [`PATIENCE`].
    pub async fn until_certificate(&self, host: &str, certificate: &Certificate) -> anyhow::Result<Response> {
        poll(PATIENCE, || async {
            let response = self.get_tls(host, "/").await?;
            ensure!(response.certificates == [certificate.der.clone()], "{host} shows another certificate");
            ensure!(response.status == 200, "{host}: {}", response.status);
            Ok(response)
        })
        .await
    }

    /// Waits until `GET /` over TLS is answered 200 with the generated certificate.
    ///
    /// # Errors
    /// It is not within [`PATIENCE`].
    pub async fn until_fake_certificate(&self, host: &str) -> anyhow::Result<Response> {
        poll(PATIENCE, || async {
            let response = self.get_tls(host, "/").await?;
            ensure!(has_fake_certificate(&response), "{host} shows another certificate than the generated one");
            ensure!(response.status == 200, "{host}: {}", response.status);
            Ok(response)
        })
        .await
    }

    /// `GET path` over HTTP with more headers.
    ///
    /// # Errors
    /// No answer.
    pub async fn get_with(&self, host: &str, path: &str, headers: &[(&str, &str)]) -> anyhow::Result<Response> {
        let request = Request::get(self.http(), path).host(host);
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await
    }
}

/// Whether a server showed one certificate, the generated one.
pub fn has_fake_certificate(response: &Response) -> bool {
    let contains = |text: &[u8]| response.certificates.iter().all(|der| der.windows(text.len()).any(|window| window == text));
    response.certificates.len() == 1 && contains(FAKE_CERTIFICATE) && contains(b"ingress.local")
}
