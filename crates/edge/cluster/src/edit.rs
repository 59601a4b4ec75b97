//! Reads and changes single objects: for commands that end, where a person waits and hears every refusal.

use std::collections::BTreeMap;

use http::header::CONTENT_TYPE;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kube::api::{ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use model::ObjectKey;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::PRODUCT;
use crate::chain::chain;

/// Objects of a page of a list.
pub(crate) const PAGE: u32 = 500;

/// The reason why an object could not be read or changed.
#[derive(Debug, Error)]
pub enum EditError {
    /// The server says no.
    #[error("{what}: {message} (status {code})")]
    Refused {
        /// The operation, with the object.
        what: String,
        /// Status code: 403 without permission, 409 after another client's change, 422 when a `test` of a patch fails.
        code: u16,
        /// The server's own words.
        message: String,
    },
    /// There is no answer, or none that can be read.
    #[error("{what}: {cause}")]
    Unreachable {
        /// The operation, with the object.
        what: String,
        /// The chain of causes.
        cause: String,
    },
}

impl EditError {
    /// The status code, if the server answered.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Unreachable { .. } => None,
        }
    }
}

/// Reads and changes objects one at a time. Nothing is retried.
#[derive(Clone)]
pub struct Editor {
    client: Client,
}

impl std::fmt::Debug for Editor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor").finish_non_exhaustive()
    }
}

impl Editor {
    /// With a client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// All Ingresses of a namespace, or of all, that a label selector selects; an empty one selects all.
    ///
    /// # Errors
    /// [`EditError`].
    pub async fn ingresses(&self, namespace: Option<&str>, selector: &str) -> Result<Vec<(ObjectKey, model::Ingress)>, EditError> {
        let api: Api<Ingress> = match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let mut found = Vec::new();
        let mut page = ListParams { limit: Some(PAGE), label_selector: Some(selector.to_owned()), ..ListParams::default() };
        loop {
            let list = api.list(&page).await.map_err(|error| refused("list Ingresses", error))?;
            found.extend(list.items.into_iter().map(|object| {
                let meta = &object.metadata;
                let key = ObjectKey::new(meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
                (key, object.into())
            }));
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page.continue_token = Some(token),
                None => return Ok(found),
            }
        }
    }

    /// Names of all IngressClasses.
    ///
    /// # Errors
    /// [`EditError`].
    pub async fn ingress_classes(&self) -> Result<Vec<String>, EditError> {
        let api: Api<IngressClass> = Api::all(self.client.clone());
        let list = api.list(&ListParams::default()).await.map_err(|error| refused("list IngressClasses", error))?;
        Ok(list.items.into_iter().filter_map(|class| class.metadata.name).collect())
    }

    /// The Pods of a namespace that have these labels: by name, whether they are ready and not about to end.
    ///
    /// # Errors
    /// [`EditError`].
    pub async fn pods(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Result<Vec<(String, bool)>, EditError> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let selector: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let list = api.list(&ListParams::default().labels(&selector.join(","))).await;
        let list = list.map_err(|error| refused(&format!("list Pods of {namespace}"), error))?;
        let is_ready = |pod: &Pod| {
            let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
            let ready = conditions.is_some_and(|all| all.iter().any(|found| found.type_ == "Ready" && found.status == "True"));
            ready && pod.metadata.deletion_timestamp.is_none()
        };
        Ok(list.items.into_iter().map(|pod| (pod.metadata.name.clone().unwrap_or_default(), is_ready(&pod))).collect())
    }

    /// An Ingress, if it is there.
    ///
    /// # Errors
    /// [`EditError`].
    pub async fn ingress(&self, key: &ObjectKey) -> Result<Option<Ingress>, EditError> {
        self.get("Ingress", key).await
    }

    /// A Service, if it is there.
    ///
    /// # Errors
    /// [`EditError`].
    pub async fn service(&self, key: &ObjectKey) -> Result<Option<Service>, EditError> {
        self.get("Service", key).await
    }

    /// Applies a JSON patch (RFC 6902) to an Ingress, whole or not at all.
    ///
    /// # Errors
    /// [`EditError`]; code 422 when one of its tests does not hold.
    pub async fn patch_ingress(&self, key: &ObjectKey, patch: &Value) -> Result<Ingress, EditError> {
        self.patch("Ingress", key, patch).await
    }

    /// The same to a Service.
    ///
    /// # Errors
    /// As [`Self::patch_ingress`].
    pub async fn patch_service(&self, key: &ObjectKey, patch: &Value) -> Result<Service, EditError> {
        self.patch("Service", key, patch).await
    }

    /// A ConfigMap, if it is there.
    ///
    /// # Errors
    /// [`EditError`].
    pub async fn config_map(&self, key: &ObjectKey) -> Result<Option<ConfigMap>, EditError> {
        self.get("ConfigMap", key).await
    }

    /// The ConfigMaps of a namespace that a label selector selects.
    ///
    /// # Errors
    /// [`EditError`].
    pub async fn config_maps(&self, namespace: &str, selector: &str) -> Result<Vec<ConfigMap>, EditError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let list = api.list(&ListParams::default().labels(selector)).await;
        Ok(list.map_err(|error| refused(&format!("list ConfigMaps of {namespace}"), error))?.items)
    }

    /// Writes a ConfigMap: as a new one, or, with a `resourceVersion`, in place of exactly that version.
    ///
    /// # Errors
    /// [`EditError`]; code 409 when it exists already, or is another version by now.
    pub async fn write_config_map(&self, key: &ObjectKey, map: &ConfigMap) -> Result<ConfigMap, EditError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &key.namespace);
        let params = PostParams { field_manager: Some(PRODUCT.to_owned()), ..PostParams::default() };
        let written = match map.metadata.resource_version {
            None => api.create(&params, map).await,
            Some(_) => api.replace(&key.name, &params, map).await,
        };
        written.map_err(|error| refused(&format!("write ConfigMap {key}"), error))
    }

    async fn get<K>(&self, kind: &str, key: &ObjectKey) -> Result<Option<K>, EditError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &key.namespace);
        api.get_opt(&key.name).await.map_err(|error| refused(&format!("read {kind} {key}"), error))
    }

    async fn patch<K>(&self, kind: &str, key: &ObjectKey, patch: &Value) -> Result<K, EditError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned,
    {
        let what = format!("change {kind} {key}");
        let unreadable = |cause: String| EditError::Unreachable { what: what.clone(), cause };
        // The client has JSON patches only with two more crates.
        let path = format!("{}/{}?fieldManager={}", K::url_path(&(), Some(&key.namespace)), key.name, PRODUCT.replace('/', "%2F"));
        let request = http::Request::patch(path).header(CONTENT_TYPE, "application/json-patch+json").body(patch.to_string().into_bytes());
        let request = request.map_err(|error| unreadable(error.to_string()))?;
        self.client.request(request).await.map_err(|error| refused(&what, error))
    }
}

/// The error for a person.
pub(crate) fn refused(what: &str, error: kube::Error) -> EditError {
    let what = what.to_owned();
    match error {
        kube::Error::Api(status) => EditError::Refused { what, code: status.code, message: status.message.clone() },
        error => EditError::Unreachable { what, cause: chain(&error) },
    }
}
