//! Follows the addresses that Ingress status should hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::api::ListParams;
use kube::{Api, Client};
use model::ObjectKey;
use tokio::sync::watch;

use crate::address::{Address, of_service, sorted};
use crate::backoff::Retry;
use crate::chain::chain;
use crate::list_watch::{Closed, ListWatch, Sink, Step};

const TASK: &str = "watch of the published addresses";

/// The source of the addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressSource {
    /// `--publish-status-address`: always these.
    Fixed(Vec<Address>),
    /// `--publish-service`: those of this Service.
    Service(ObjectKey),
    /// Neither flag: those of the nodes that we and our replicas run on.
    Nodes {
        /// Our own Pod. Replicas are the Pods of its namespace that have all its labels.
        pod: ObjectKey,
        /// `--report-node-internal-ip-address`.
        internal: bool,
    },
}

/// Keeps `addresses` current; `None` in it until they are known.
pub(crate) async fn follow(
    client: Client,
    source: AddressSource,
    interval: Duration,
    retry: Retry,
    addresses: watch::Sender<Option<Arc<[Address]>>>,
) -> &'static str {
    match source {
        AddressSource::Fixed(fixed) => {
            publish(&addresses, sorted(fixed));
            addresses.closed().await;
        }
        AddressSource::Service(key) => tokio::select! {
            () = follow_service(client, key, retry, &addresses) => {}
            () = addresses.closed() => {}
        },
        AddressSource::Nodes { pod, internal } => tokio::select! {
            () = follow_nodes(client, pod, internal, interval, &addresses) => {}
            () = addresses.closed() => {}
        },
    }
    TASK
}

async fn follow_service(client: Client, key: ObjectKey, retry: Retry, addresses: &watch::Sender<Option<Arc<[Address]>>>) {
    let watch = ListWatch {
        api: Api::namespaced(client, &key.namespace),
        kind: "Service",
        scope: format!("{key} only, for --publish-service"),
        labels: None,
        fields: Some(format!("metadata.name={}", key.name)),
        page: 1,
        retry,
        forbidden_retry: None,
    };
    let Closed = watch.run(Published { key, found: false, addresses }).await;
}

/// The Service of `--publish-service`.
struct Published<'a> {
    key: ObjectKey,
    found: bool,
    addresses: &'a watch::Sender<Option<Arc<[Address]>>>,
}

impl Sink<Service> for Published<'_> {
    async fn take(&mut self, step: Step<Service>) -> Result<(), Closed> {
        let found = match step {
            Step::Begin => {
                self.found = false;
                None
            }
            Step::Page(services) => services.into_iter().next(),
            Step::Apply(service) => Some(service),
            Step::Delete(_) => {
                self.absent();
                None
            }
            Step::End if !self.found => {
                self.absent();
                None
            }
            Step::End | Step::Failed { .. } | Step::Running => None,
        };
        if let Some(service) = found {
            self.found = true;
            publish(self.addresses, of_service(&service));
        }
        Ok(())
    }
}

impl Published<'_> {
    /// The statuses stay as they are: a Service that is being replaced is no reason to withdraw every address.
    fn absent(&self) {
        tracing::warn!(service = %self.key, "--publish-service does not exist; Ingress status is left as it is");
    }
}

async fn follow_nodes(
    client: Client,
    pod: ObjectKey,
    internal: bool,
    interval: Duration,
    addresses: &watch::Sender<Option<Arc<[Address]>>>,
) {
    loop {
        match nodes(&client, &pod, internal).await {
            Ok(found) => publish(addresses, found),
            Err(error) => tracing::warn!(%pod, error = chain(&error), "the addresses of our nodes can't be found out"),
        }
        tokio::time::sleep(interval).await;
    }
}

async fn nodes(client: &Client, pod: &ObjectKey, internal: bool) -> Result<Vec<Address>, kube::Error> {
    let replicas = replicas(client, pod, &[]).await?;
    let api: Api<Node> = Api::all(client.clone());
    let mut nodes = BTreeMap::new();
    for name in replicas.iter().filter(|pod| is_ready(pod)).filter_map(|pod| pod.spec.as_ref()?.node_name.clone()) {
        if !nodes.contains_key(&name)
            && let Some(node) = api.get_opt(&name).await?
        {
            nodes.insert(name, node);
        }
    }
    Ok(sorted(nodes.values().flat_map(|node| of_node(node, internal)).collect()))
}

/// The Pods that have all labels of `pod`, those named in `except` aside; itself among them.
pub(crate) async fn replicas(client: &Client, pod: &ObjectKey, except: &[&str]) -> Result<Vec<Pod>, kube::Error> {
    let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let own = api.get(&pod.name).await?;
    let labels = own.metadata.labels.unwrap_or_default();
    let terms: Vec<String> =
        labels.iter().filter(|(name, _)| !except.contains(&name.as_str())).map(|(name, value)| format!("{name}={value}")).collect();
    Ok(api.list(&ListParams::default().labels(&terms.join(","))).await?.items)
}

fn is_ready(pod: &Pod) -> bool {
    let Some(status) = &pod.status else { return false };
    let ready = status.conditions.iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    status.phase.as_deref() == Some("Running") && ready
}

/// A node's external addresses; its internal ones when it has none, or when they are asked for.
fn of_node(node: &Node, internal: bool) -> Vec<Address> {
    let of_type = |wanted: &str| -> Vec<Address> {
        let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
        addresses.filter(|address| address.type_ == wanted).map(|address| Address::ip(&address.address)).collect()
    };
    match of_type("ExternalIP") {
        external if !internal && !external.is_empty() => external,
        _ => of_type("InternalIP"),
    }
}

fn publish(addresses: &watch::Sender<Option<Arc<[Address]>>>, found: Vec<Address>) {
    addresses.send_if_modified(|known| {
        let differs = known.as_deref() != Some(&*found);
        if differs {
            *known = Some(found.into());
        }
        differs
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_give_external_addresses_and_else_internal_ones() {
        let node = |types: &[&str]| -> Node {
            let addresses: Vec<_> = types.iter().map(|kind| json!({"type": kind, "address": format!("a-{kind}")})).collect();
            serde_json::from_value(json!({"status": {"addresses": addresses}})).unwrap()
        };
        let both = node(&["InternalIP", "ExternalIP", "Hostname"]);
        assert_eq!(of_node(&both, false), [Address::ip("a-ExternalIP")]);
        assert_eq!(of_node(&both, true), [Address::ip("a-InternalIP")]);
        assert_eq!(of_node(&node(&["InternalIP"]), false), [Address::ip("a-InternalIP")]);
    }

    #[test]
    fn only_running_and_ready_pods_count() {
        let pod = |phase: &str, ready: &str| -> Pod {
            serde_json::from_value(json!({"status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}})).unwrap()
        };
        assert!(is_ready(&pod("Running", "True")));
        assert!(!is_ready(&pod("Running", "False")) && !is_ready(&pod("Succeeded", "True")) && !is_ready(&Pod::default()));
    }
}
