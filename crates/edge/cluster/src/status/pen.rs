//! Writes the status of one Ingress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::networking::v1::{Ingress, IngressLoadBalancerIngress, IngressLoadBalancerStatus, IngressStatus};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use model::ObjectKey;
use serde_json::json;
use tokio::time::timeout;

use crate::address::Address;
use crate::chain::chain;
use crate::decode::Fetched;
use crate::kinds::Watched;

/// Writes at a time when all is emptied.
pub(crate) const PARALLEL: usize = 10;
/// Longest wait for one write.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest name of a field manager that the API server takes.
const LONGEST: usize = 128;

/// The field manager of the statuses that the holders of a Lease write. The API server keeps with each field who wrote it last
/// (`managedFields`), so that the statuses of one controller can be found when its objects are gone.
pub(crate) fn manager(lease: &ObjectKey) -> String {
    let mut name = format!("narthex:{}/{}", lease.namespace, lease.name);
    // Names of objects are ASCII.
    name.truncate(LONGEST);
    name
}

/// What writes them.
#[derive(Clone)]
pub(crate) struct Pen {
    client: Client,
    manager: Arc<str>,
    /// We may update but not patch: the permissions are those of the predecessor.
    put: Arc<AtomicBool>,
}

impl Pen {
    pub(crate) fn new(client: Client, manager: String) -> Self {
        Self { client, manager: manager.into(), put: Arc::default() }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Writes these addresses; none empties it. An Ingress that is gone has no status to write.
    ///
    /// # Errors
    /// The API server refuses it, or does not answer in time: in words.
    pub(crate) async fn write(&self, key: &ObjectKey, addresses: &[Address]) -> Result<(), String> {
        match timeout(TIMEOUT, self.attempt(key, addresses)).await {
            Ok(Ok(())) => Ok(()),
            // Deleted meanwhile: there is nothing to write to.
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
            Ok(Err(kube::Error::Api(status))) => Err(format!("{} (status {})", status.message, status.code)),
            Ok(Err(error)) => Err(chain(&error)),
            Err(_) => Err(format!("no answer within {} seconds", TIMEOUT.as_secs())),
        }
    }

    async fn attempt(&self, key: &ObjectKey, addresses: &[Address]) -> Result<(), kube::Error> {
        let field_manager = Some(self.manager.to_string());
        if !self.put.load(Ordering::Relaxed) {
            let entries = if addresses.is_empty() { None } else { Some(entries(addresses)) };
            let patch = json!({"status": {"loadBalancer": {"ingress": entries}}});
            let params = PatchParams { field_manager: field_manager.clone(), ..PatchParams::default() };
            let api: Api<Fetched<model::Ingress>> = Watched::api(self.client.clone(), Some(&key.namespace));
            match api.patch_status(&key.name, &params, &Patch::Merge(&patch)).await {
                Err(kube::Error::Api(status)) if status.is_forbidden() => {}
                outcome => return outcome.map(|_| ()),
            }
        }
        let api: Api<Ingress> = Api::namespaced(self.client.clone(), &key.namespace);
        let mut ingress = api.get(&key.name).await?;
        let balancer = IngressLoadBalancerStatus { ingress: (!addresses.is_empty()).then(|| entries(addresses)) };
        ingress.status = Some(IngressStatus { load_balancer: Some(balancer) });
        let params = PostParams { field_manager, ..PostParams::default() };
        api.replace_status(&key.name, &params, &ingress).await?;
        self.put.store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn entries(addresses: &[Address]) -> Vec<IngressLoadBalancerIngress> {
    let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
    let entry =
        |address: &Address| IngressLoadBalancerIngress { hostname: filled(&address.hostname), ip: filled(&address.ip), ports: None };
    addresses.iter().map(entry).collect()
}
