//! The registration of the admission webhook, and the Secret with its certificate.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use model::ObjectKey;
use serde_json::{Value, json};

use crate::PRODUCT;
use crate::chain::chain;

/// Reads and writes both. Nothing is retried, nothing is created: an installation does that, so `get` and `update` of the one Secret, and `get` and
/// `patch` of the one registration are all the rights that are needed.
#[derive(Clone)]
pub struct Registration {
    client: Client,
    secret: ObjectKey,
    configuration: String,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("secret", &self.secret).field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

impl Registration {
    /// For this Secret and this ValidatingWebhookConfiguration.
    pub fn new(client: Client, secret: ObjectKey, configuration: String) -> Self {
        Self { client, secret, configuration }
    }

    /// The data of the Secret with its version; `None` if there is no such Secret.
    ///
    /// # Errors
    /// The API server's answer, or why there is none.
    pub async fn read(&self) -> Result<Option<(BTreeMap<String, Vec<u8>>, String)>, String> {
        let secret = self.secrets().get_opt(&self.secret.name).await.map_err(|error| self.failed("read Secret", &error))?;
        Ok(secret.map(|secret| {
            let data = secret.data.unwrap_or_default().into_iter().map(|(name, value)| (name, value.0)).collect();
            (data, secret.metadata.resource_version.unwrap_or_default())
        }))
    }

    /// Replaces the data of exactly this version. False: it is another version by now.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn write(&self, version: &str, data: &BTreeMap<String, Vec<u8>>) -> Result<bool, String> {
        let failed = |error| self.failed("write Secret", &error);
        let Some(mut secret) = self.secrets().get_opt(&self.secret.name).await.map_err(failed)? else { return Ok(false) };
        if secret.metadata.resource_version.as_deref() != Some(version) {
            return Ok(false);
        }
        secret.data = Some(data.iter().map(|(name, value)| (name.clone(), ByteString(value.clone()))).collect());
        let params = PostParams { field_manager: Some(PRODUCT.to_owned()), ..PostParams::default() };
        match self.secrets().replace(&self.secret.name, &params, &secret).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes the authorities (PEM) to every webhook of the registration that has others.
    ///
    /// # Errors
    /// As [`Self::read`]; also where there is no such registration.
    pub async fn announce(&self, authorities: &[u8]) -> Result<(), String> {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let failed = |error| self.failed("register the webhook in ValidatingWebhookConfiguration", &error);
        let found = api.get(&self.configuration).await.map_err(failed)?;
        let others = patch(&found, authorities);
        if others.is_empty() {
            return Ok(());
        }
        let params = PatchParams { field_manager: Some(PRODUCT.to_owned()), ..PatchParams::default() };
        let patch = Patch::Strategic(json!({"webhooks": others}));
        api.patch(&self.configuration, &params, &patch).await.map(drop).map_err(failed)
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.secret.namespace)
    }

    fn failed(&self, what: &str, error: &kube::Error) -> String {
        let name = if what.contains("Secret") { self.secret.to_string() } else { self.configuration.clone() };
        format!("{what} {name}: {}", chain(error))
    }
}

/// The webhooks that lack these authorities, as a strategic patch merges them: by name.
fn patch(found: &ValidatingWebhookConfiguration, authorities: &[u8]) -> Vec<Value> {
    let lacks = |bundle: Option<&ByteString>| bundle.is_none_or(|bundle| bundle.0 != authorities);
    let others = found.webhooks.iter().flatten().filter(|webhook| lacks(webhook.client_config.ca_bundle.as_ref()));
    let bundle = json!(ByteString(authorities.to_vec()));
    others.map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": bundle}})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_webhooks_with_other_authorities_are_patched() {
        let webhook = |name: &str, bundle: Option<&str>| {
            json!({
                "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "s", "namespace": "n"}, "caBundle": bundle},
            })
        };
        // "new" in base64.
        let webhooks = [webhook("a", None), webhook("b", Some("bmV3")), webhook("c", Some("b2xk"))];
        let found = serde_json::from_value(json!({"metadata": {"name": "x"}, "webhooks": webhooks})).unwrap();
        let with = |name: &str| json!({"name": name, "clientConfig": {"caBundle": "bmV3"}});
        let expected = json!([with("a"), with("c")]);
        assert_eq!(Value::Array(patch(&found, b"new")), expected);
    }
}
