//! The scheduler's part: which Node a Pod runs on.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

/// The Binding of `pod` to a Node.
pub(super) fn binding(pod: &Pod, node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name_any(), "namespace": pod.namespace(), "uid": pod.uid()},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    })
}

/// The number of one of `nodes` Nodes: by the Pod's uid, so that the Pods of a Deployment spread.
pub(super) fn node_number(pod: &Pod, nodes: u8) -> u8 {
    let sum = pod.uid().unwrap_or_default().bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    u8::try_from(sum % u64::from(nodes.max(1))).expect("smaller than a u8") + 1
}
