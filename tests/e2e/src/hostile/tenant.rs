//! A tenant whom the API server lets write its own namespace only.

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use testkit::bed::Bed;

use crate::{Case, Namespaced};

/// Its ServiceAccount, role and binding.
const NAME: &str = "tenant";

/// A namespace, and a client that has the rights of a tenant in it.
pub struct Tenant {
    case: Case,
    client: Client,
    /// Writes that the API server took.
    pub accepted: u64,
    /// Writes that it refused.
    pub refused: u64,
}

impl Tenant {
    /// Makes both, in this bed.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn new(bed: Bed) -> anyhow::Result<Self> {
        let case = Case::with_bed(bed, "evil").await?;
        let rule =
            |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
        let all = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": NAME},
            "rules": [
                rule(&[""], &["services", "secrets", "configmaps"], &all),
                rule(&["discovery.k8s.io"], &["endpointslices"], &all),
                rule(&["networking.k8s.io"], &["ingresses"], &all),
                rule(&["", "events.k8s.io"], &["events", "pods"], &all[..3]),
            ],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": NAME},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": case.ns()}],
        });
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME}});
        case.apply(&json!({"kind": "List", "apiVersion": "v1", "items": [account, role, binding]}).to_string()).await?;
        let kubeconfig = case.kubeconfig_of(NAME).await?;
        let client = testkit::kube::client(kubeconfig.path()).await?;
        Ok(Self { case, client, accepted: 0, refused: 0 })
    }

    /// Its namespace, as an administrator sees it.
    pub const fn case(&self) -> &Case {
        &self.case
    }

    /// Its namespace's name.
    pub fn ns(&self) -> &str {
        self.case.ns()
    }

    /// Its client.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    fn api<K: Namespaced>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), self.ns())
    }

    /// Writes an object, whether it is there or not. What the API server refuses is not there, and no error.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn put<K: Namespaced>(&mut self, object: &K) -> anyhow::Result<()> {
        let api = self.api::<K>();
        let replaced = api.replace(&object.name_any(), &Default::default(), object).await;
        let written = match replaced {
            Err(kube::Error::Api(status)) if status.code == 404 => api.create(&Default::default(), object).await,
            other => other,
        };
        match written {
            Ok(_) => self.accepted += 1,
            Err(kube::Error::Api(_)) => self.refused += 1,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Deletes an object, if it is there.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn delete<K: Namespaced>(&self, name: &str) -> anyhow::Result<()> {
        match self.api::<K>().delete(name, &Default::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }

    /// The Ingresses that there are.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn ingresses(&self) -> anyhow::Result<Vec<Ingress>> {
        Ok(self.api().list(&ListParams::default()).await?.items)
    }

    /// Deletes everything that it may write.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn clear(&self) -> anyhow::Result<()> {
        self.clear_of::<Ingress>().await?;
        self.clear_of::<EndpointSlice>().await?;
        self.clear_of::<Secret>().await?;
        self.clear_of::<ConfigMap>().await?;
        for service in self.api::<Service>().list(&ListParams::default()).await? {
            self.delete::<Service>(&service.name_any()).await?;
        }
        Ok(())
    }

    async fn clear_of<K: Namespaced>(&self) -> anyhow::Result<()> {
        self.api::<K>().delete_collection(&Default::default(), &ListParams::default()).await?;
        Ok(())
    }
}
