//! The zone that we run in.

use backon::Retryable;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, Client};

use crate::backoff::Retry;
use crate::chain::chain;

const LABEL: &str = "topology.kubernetes.io/zone";
const RETRIES: usize = 4;

/// The zone of the node that our own Pod runs on (`topology.kubernetes.io/zone`), for `--enable-topology-aware-routing`.
///
/// `None` when the node has no such label, and when it can't be found out after a few attempts; the reason is logged.
pub async fn zone(client: Client, pod_namespace: &str, pod_name: &str) -> Option<String> {
    let permanent =
        |error: &kube::Error| matches!(error, kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429);
    let find = || find(&client, pod_namespace, pod_name);
    let found = find.retry(Retry::default().waits().with_max_times(RETRIES)).when(|error| !permanent(error)).await;
    match &found {
        Ok(Some(_)) => {}
        Ok(None) => tracing::warn!(label = LABEL, "our node has no zone; zone hints are not used"),
        Err(error) => {
            tracing::warn!(error = chain(error), pod = %format!("{pod_namespace}/{pod_name}"), "the zone of our node can't be found out; zone hints are not used");
        }
    }
    found.ok().flatten()
}

async fn find(client: &Client, namespace: &str, name: &str) -> Result<Option<String>, kube::Error> {
    let pod = Api::<Pod>::namespaced(client.clone(), namespace).get(name).await?;
    let Some(node) = pod.spec.and_then(|spec| spec.node_name).filter(|node| !node.is_empty()) else { return Ok(None) };
    let node = Api::<Node>::all(client.clone()).get(&node).await?;
    Ok(node.metadata.labels.and_then(|mut labels| labels.remove(LABEL)).filter(|zone| !zone.is_empty()))
}
