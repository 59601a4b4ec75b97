//! The options in the spec and the annotations of a Pod.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::echo::Identity;

const PREFIX: &str = "echo.narthex.dev/";
/// Tests don't wait half a minute for a Pod to go away.
const LONGEST_GRACE: Duration = Duration::from_secs(1);
/// Port of a Pod that names none.
const DEFAULT_PORT: u16 = 8080;

/// The value of an annotation; an unusable one counts as absent.
fn annotation<T: FromStr>(pod: &Pod, name: &str) -> Option<T> {
    pod.annotations().get(&format!("{PREFIX}{name}"))?.parse().ok()
}

/// The identity that its servers answer.
pub(super) fn identity(pod: &Pod) -> Identity {
    Identity {
        name: pod.name_any(),
        service: annotation(pod, "service").or_else(|| pod.labels().get("app").cloned()).unwrap_or_default(),
        namespace: pod.namespace().unwrap_or_default(),
        format: annotation(pod, "format").unwrap_or_default(),
    }
}

/// The TCP ports of all containers, each once.
pub(super) fn ports(pod: &Pod) -> BTreeSet<u16> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    let tcp = ports.filter(|port| port.protocol.as_deref().unwrap_or("TCP") == "TCP");
    let mut ports: BTreeSet<u16> = tcp.filter_map(|port| u16::try_from(port.container_port).ok()).collect();
    if ports.is_empty() {
        ports.insert(DEFAULT_PORT);
    }
    ports
}

/// Time for which it isn't ready after its start.
pub(super) fn ready_after(pod: &Pod) -> Duration {
    Duration::from_millis(annotation(pod, "ready-after-ms").unwrap_or(0))
}

/// Whether it may be ready at all.
pub(super) fn may_be_ready(pod: &Pod) -> bool {
    let terminating = pod.metadata.deletion_timestamp.is_some();
    annotation(pod, "ready").unwrap_or(true) && !(terminating && annotation(pod, "unready-on-termination").unwrap_or(false))
}

/// Whether its Node has no room for it.
pub(super) fn is_evicted(pod: &Pod) -> bool {
    annotation(pod, "evict").unwrap_or(false)
}

/// Time for which it still serves when it is being deleted.
pub(super) fn grace(pod: &Pod) -> Duration {
    let asked = pod.metadata.deletion_grace_period_seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
    annotation(pod, "grace-ms").map_or_else(|| asked.unwrap_or(LONGEST_GRACE).min(LONGEST_GRACE), Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::Format;

    fn pod(json: serde_json::Value) -> Pod {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn defaults_are_those_of_a_plain_pod() {
        let pod = pod(serde_json::json!({
            "metadata": {"name": "shop-1", "namespace": "default", "labels": {"app": "shop"}, "deletionGracePeriodSeconds": 30},
            "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
        }));
        let expected = Identity { service: "shop".into(), namespace: "default".into(), ..Identity::named("shop-1") };
        assert_eq!(identity(&pod), expected);
        assert_eq!(ports(&pod), BTreeSet::from([8080]));
        assert_eq!((ready_after(&pod), may_be_ready(&pod), grace(&pod)), (Duration::ZERO, true, LONGEST_GRACE));
    }

    #[test]
    fn annotations_change_them() {
        let pod = pod(serde_json::json!({
            "metadata": {"name": "shop-1", "deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {
                "echo.narthex.dev/format": "json", "echo.narthex.dev/service": "store", "echo.narthex.dev/ready-after-ms": "50",
                "echo.narthex.dev/grace-ms": "1500", "echo.narthex.dev/unready-on-termination": "true",
            }},
            "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]}]},
        }));
        assert_eq!((identity(&pod).format, identity(&pod).service.as_str()), (Format::Json, "store"));
        assert_eq!(ports(&pod), BTreeSet::from([80]));
        assert_eq!((ready_after(&pod), may_be_ready(&pod), grace(&pod)), (Duration::from_millis(50), false, Duration::from_millis(1500)));
    }
}
