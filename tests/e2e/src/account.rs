//! Users with few rights.

use std::io::Write;

use anyhow::Context;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use serde_json::json;

use crate::Case;

/// Validity of a token: a long run of random tests takes hours.
const VALID_SECONDS: u32 = 24 * 3600;

impl Case {
    /// A kubeconfig file with a token of a ServiceAccount of the case's namespace.
    ///
    /// # Errors
    /// There is no such account.
    pub async fn kubeconfig_of(&self, account: &str) -> anyhow::Result<tempfile::NamedTempFile> {
        let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": [], "expirationSeconds": VALID_SECONDS}}))?;
        let accounts = self.namespace.api::<ServiceAccount>();
        let granted = accounts.create_token_request(account, &Default::default(), &request).await?;
        let token = granted.status.context("a granted request has a status")?.token;
        let info = self.bed.info();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "bed",
            "clusters": [{"name": "bed", "cluster": {"server": info.server, "certificate-authority": info.ca}}],
            "users": [{"name": account, "user": {"token": token}}],
            "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": account}}],
        });
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(&serde_json::to_vec(&kubeconfig)?)?;
        Ok(file)
    }
}
