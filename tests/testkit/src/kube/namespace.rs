//! A namespace per test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use k8s_openapi::api::core::v1;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::core::NamespaceResourceScope;

use crate::bed::Bed;

/// Set: namespaces of tests stay, to be looked at.
const KEEP_ENV: &str = "NARTHEX_KEEP_NAMESPACES";

/// A namespace with a name of its own; its deletion begins when it is dropped, in a panic too.
pub struct Namespace {
    bed: Bed,
    client: Client,
    name: String,
}

impl Namespace {
    /// Creates `<prefix>-<unique>`.
    ///
    /// # Errors
    /// The API server refuses it.
    pub(crate) async fn create(bed: Bed, prefix: &str) -> anyhow::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is set")?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{prefix}-{:x}-{}-{number}", now.as_millis() & 0xff_ffff, std::process::id());
        let client = bed.client().await?;
        let api: Api<v1::Namespace> = Api::all(client.clone());
        let object =
            v1::Namespace { metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() }, ..v1::Namespace::default() };
        api.create(&PostParams::default(), &object).await.with_context(|| format!("create namespace {name:?}"))?;
        Ok(Self { bed, client, name })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An administrator's client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The API of one kind in it.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Applies a manifest in it; see [`super::apply`].
    ///
    /// # Errors
    /// As [`super::apply`].
    pub async fn apply(&self, manifest: &str) -> anyhow::Result<()> {
        super::apply(&self.client, &self.name, manifest).await.map(drop)
    }
}

impl std::fmt::Debug for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Namespace").field(&self.name).finish()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if std::env::var_os(KEEP_ENV).is_none()
            && let Err(error) = self.bed.delete_namespace_later(&self.name)
        {
            tracing::warn!(name = %self.name, %error, "cannot delete a namespace");
        }
    }
}
