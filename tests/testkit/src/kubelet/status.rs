//! The status of Nodes and Pods that the kubelet reports.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

/// A Node that is ready.
pub(super) fn node(cluster: u8, number: u8) -> Node {
    let now = Timestamp::now();
    let name = node_name(number);
    let room = json!({"cpu": "64", "memory": "256Gi", "pods": "20000"});
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": node_address(cluster, number)},
                {"type": "Hostname", "address": name},
            ],
            "capacity": room,
            "allocatable": room,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "the test bed's kubelet runs",
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            }],
            "nodeInfo": {
                "machineID": name, "systemUUID": name, "bootID": name, "kernelVersion": "-", "osImage": "-", "operatingSystem": "linux",
                "architecture": "amd64", "containerRuntimeVersion": "echo://1", "kubeletVersion": "v1.34.2", "kubeProxyVersion": "",
            },
        },
    });
    serde_json::from_value(node).expect("a Node is written as the API has it")
}

/// Name of a Node by its number.
pub(super) fn node_name(number: u8) -> String {
    format!("node-{number}")
}

/// Address of a Node: 10.77.1.x, ten for each control plane, wrapping around.
pub(super) fn node_address(cluster: u8, number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 1, cluster.wrapping_mul(10).wrapping_add(number))
}

/// Address of the API server.
pub(super) fn api_address(cluster: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, cluster)
}

/// The status of a running Pod as a merge patch.
pub(super) fn running(pod: &Pod, address: Ipv4Addr, host: Ipv4Addr, started: Timestamp, ready: bool) -> Value {
    let containers: Vec<Value> = pod
        .spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .map(|container| {
            let image = container.image.as_deref().unwrap_or("echo");
            json!({
                "name": container.name, "image": image, "imageID": image, "containerID": format!("echo://{address}"),
                "ready": ready, "started": true, "restartCount": 0, "state": {"running": {"startedAt": seconds(started)}},
            })
        })
        .collect();
    let conditions: Vec<Value> = [("PodScheduled", true), ("Initialized", true), ("ContainersReady", ready), ("Ready", ready)]
        .into_iter()
        .map(|(kind, on)| json!({"type": kind, "status": if on { "True" } else { "False" }, "lastTransitionTime": seconds(Timestamp::now())}))
        .collect();
    json!({"status": {
        "phase": "Running",
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": seconds(started),
        "conditions": conditions,
        "containerStatuses": containers,
    }})
}

/// The status of a Pod that has done its work as a merge patch.
pub(super) fn succeeded() -> Value {
    json!({"status": {"phase": "Succeeded"}})
}

/// Kubernetes' times have no fractions.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pods_status_is_what_the_api_has() {
        let pod: Pod = serde_json::from_value(json!({"spec": {"containers": [{"name": "a"}]}})).unwrap();
        let address = Ipv4Addr::new(10, 77, 16, 1);
        let patch = running(&pod, address, node_address(1, 1), Timestamp::UNIX_EPOCH, false);
        let pod: Pod = serde_json::from_value(patch).unwrap();
        let status = pod.status.unwrap();
        assert_eq!((status.pod_ip.as_deref(), status.host_ip.as_deref()), (Some("10.77.16.1"), Some("10.77.1.11")));
        let ready = status.conditions.unwrap().into_iter().find(|condition| condition.type_ == "Ready").unwrap();
        assert_eq!(ready.status, "False");
    }

    #[test]
    fn a_node_is_what_the_api_has() {
        assert_eq!(node(20, 2).status.unwrap().addresses.unwrap()[0].address, "10.77.1.202");
    }
}
