//! Which zone we run in.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, Client};

use crate::backoff::{Backoff, Retry};
use crate::chain::chain;

const LABEL: &str = "topology.kubernetes.io/zone";
const ATTEMPTS: usize = 5;

/// The zone of the node that our own Pod runs on (`topology.kubernetes.io/zone`), for `--enable-topology-aware-routing`.
///
/// `None` when the node has no such label, and when it can't be found out after a few attempts; the reason is logged.
pub async fn zone(client: Client, pod_namespace: &str, pod_name: &str) -> Option<String> {
    let mut backoff = Backoff::new(Retry::default());
    for attempt in 1..=ATTEMPTS {
        match find(&client, pod_namespace, pod_name).await {
            Ok(zone) => {
                if zone.is_none() {
                    tracing::warn!(label = LABEL, "our node has no zone; zone hints are not used");
                }
                return zone;
            }
            Err(error) => {
                let permanent = matches!(&error, kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429);
                if permanent || attempt == ATTEMPTS {
                    tracing::warn!(error = chain(&error), pod = %format!("{pod_namespace}/{pod_name}"), "the zone of our node can't be found out; zone hints are not used");
                    return None;
                }
            }
        }
        tokio::time::sleep(backoff.next()).await;
    }
    None
}

async fn find(client: &Client, namespace: &str, name: &str) -> Result<Option<String>, kube::Error> {
    let pod = Api::<Pod>::namespaced(client.clone(), namespace).get(name).await?;
    let Some(node) = pod.spec.and_then(|spec| spec.node_name).filter(|node| !node.is_empty()) else { return Ok(None) };
    let node = Api::<Node>::all(client.clone()).get(&node).await?;
    Ok(node.metadata.labels.and_then(|mut labels| labels.remove(LABEL)).filter(|zone| !zone.is_empty()))
}
