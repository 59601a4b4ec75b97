//! A user who may read what lies in the case's namespace, and nothing that belongs to the whole cluster.

use anyhow::ensure;
use e2e::Case;
use k8s_openapi::api::networking::v1::IngressClass;
use kube::api::Api;

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
subjects: [{kind: ServiceAccount, name: restricted, namespace: {NS}}]
"#;

/// Makes the ServiceAccount and returns a kubeconfig file with its token.
pub(super) async fn user(case: &Case) -> anyhow::Result<tempfile::NamedTempFile> {
    case.apply(RIGHTS).await?;
    let file = case.kubeconfig_of("restricted").await?;
    let classes: Api<IngressClass> = Api::all(testkit::kube::client(file.path()).await?);
    let refused = classes.list(&Default::default()).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "the user may list IngressClasses: {refused:?}");
    Ok(file)
}
