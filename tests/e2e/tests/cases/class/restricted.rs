//! A user who may read what lies in the case's namespace, and nothing that belongs to the whole cluster.

use std::io::Write;

use anyhow::{Context, ensure};
use e2e::Case;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::networking::v1::IngressClass;
use kube::api::Api;
use serde_json::json;

const RIGHTS: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: restricted}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: restricted}
rules:
- {apiGroups: [""], resources: [services, secrets, configmaps, pods], verbs: [get, list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
- {apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [get, list, watch]}
- {apiGroups: [networking.k8s.io], resources: [ingresses/status], verbs: [update, patch]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: restricted}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: restricted}
subjects: [{kind: ServiceAccount, name: restricted, namespace: NS}]
"#;

/// Makes the ServiceAccount and returns a kubeconfig file with its token.
pub(super) async fn user(case: &Case) -> anyhow::Result<tempfile::NamedTempFile> {
    case.apply(RIGHTS).await?;
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": [], "expirationSeconds": 3600}}))?;
    let accounts = case.namespace.api::<ServiceAccount>();
    let granted = accounts.create_token_request("restricted", &Default::default(), &request).await?;
    let token = granted.status.context("a granted request has a status")?.token;
    let info = case.bed.info();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "bed",
        "clusters": [{"name": "bed", "cluster": {"server": info.server, "certificate-authority": info.ca}}],
        "users": [{"name": "restricted", "user": {"token": token}}],
        "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": "restricted"}}],
    });
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(&serde_json::to_vec(&kubeconfig)?)?;
    let classes: Api<IngressClass> = Api::all(testkit::kube::client(file.path()).await?);
    let refused = classes.list(&Default::default()).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "the user may list IngressClasses: {refused:?}");
    Ok(file)
}
