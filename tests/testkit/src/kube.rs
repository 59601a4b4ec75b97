//! Kubernetes objects for tests: clients, namespaces, manifests, builders.

mod build;
mod manifest;
mod namespace;
mod tls;

use std::fmt::Debug;
use std::path::Path;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Client, Config, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use build::{IngressBuilder, PathType, mk_deployment, mk_ingress, mk_ingress_class, mk_service, mk_slice};
pub use manifest::{apply, documents, read};
pub use namespace::Namespace;
pub use tls::{
    Authority, Certificate, mk_authority, mk_certificate, mk_ended_certificate, mk_openssl_certificate, mk_rsa_certificate, mk_tls_secret,
};

/// A client by a kubeconfig file, without retries: what the API server says is what the caller sees.
///
/// # Errors
/// The file can't be used.
pub async fn client(kubeconfig: &Path) -> anyhow::Result<Client> {
    let what = || format!("kubeconfig {}", kubeconfig.display());
    let file = Kubeconfig::read_from(kubeconfig).with_context(what)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.with_context(what)?;
    config.default_retry = false;
    Client::try_from(config).with_context(what)
}

/// Creates many objects of a namespace, 50 at once; returns them as stored, in no order.
///
/// # Errors
/// The first refusal; the rest is left.
pub async fn create_all<K>(client: &Client, namespace: &str, objects: impl IntoIterator<Item = K>) -> anyhow::Result<Vec<K>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let created = stream::iter(objects).map(|object| {
        let api = api.clone();
        async move {
            let created = api.create(&PostParams::default(), &object).await;
            created.with_context(|| format!("create {} {namespace}/{}", K::kind(&()), object.name_any()))
        }
    });
    created.buffer_unordered(50).try_collect().await
}
