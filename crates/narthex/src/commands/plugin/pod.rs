//! The Pod of a controller, by name, by its Deployment, or by labels.

use std::collections::BTreeSet;

use anyhow::bail;
use serde_json::Value;

use super::kubectl::Kubectl;
use crate::args::PodArgs;

/// The name that ingress-nginx's chart and manifests give the controller's objects.
pub(super) const USUAL: &str = "ingress-nginx-controller";
/// Labels of the controllers of this chart and of ingress-nginx's.
pub(super) const LABELS: &str = "app.kubernetes.io/component=controller,app.kubernetes.io/name in (narthex, ingress-nginx)";
/// The most names in a message.
const NAMED: usize = 10;

/// A container of a Pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) container: String,
}

impl Target {
    /// The words of kubectl that lead there, with the verb before them.
    pub(super) fn words<'a>(&'a self, verb: &[&'a str]) -> Vec<&'a str> {
        let place = ["--namespace", &self.namespace, "--container", &self.container, &self.pod];
        verb.iter().copied().chain(place).collect()
    }
}

/// Finds it.
///
/// # Errors
/// There is none: what was looked for and what there is.
pub(super) fn choose(kubectl: &Kubectl, args: &PodArgs) -> anyhow::Result<Target> {
    let target = |pod: &Value| Target {
        namespace: text(pod, "/metadata/namespace").to_owned(),
        pod: text(pod, "/metadata/name").to_owned(),
        container: args.container.clone(),
    };
    if let Some(selector) = args.selector.as_deref().filter(|_| args.pod.is_none()) {
        let pods = kubectl.list(&["pods", "--selector", selector], false)?;
        return match best(pods.iter()) {
            Some(pod) => Ok(target(pod)),
            None => {
                bail!(
                    "no Pod with the labels {selector:?} in namespace {:?}: {}",
                    kubectl.namespace(),
                    found(&kubectl.list(&["pods"], false)?)
                )
            }
        };
    }
    let pods = kubectl.list(&["pods"], false)?;
    if let Some(name) = &args.pod {
        return match pods.iter().find(|pod| text(pod, "/metadata/name") == name) {
            Some(pod) => Ok(target(pod)),
            None => bail!("no Pod {name:?} in namespace {:?}: {}", kubectl.namespace(), found(&pods)),
        };
    }
    let workload = args.deployment.as_deref().unwrap_or(USUAL);
    if let Some(pod) = best(pods.iter().filter(|pod| is_of(pod, workload))) {
        return Ok(target(pod));
    }
    if args.deployment.is_some() {
        bail!("no Pod of a Deployment or DaemonSet {workload:?} in namespace {:?}: {}", kubectl.namespace(), found(&pods));
    }
    let labelled = kubectl.list(&["pods", "--selector", LABELS], false)?;
    match best(labelled.iter()) {
        Some(pod) => Ok(target(pod)),
        None => bail!(
            "no Pod of a Deployment or DaemonSet {USUAL:?}, and none with the labels {LABELS:?}, in namespace {:?}: {}{}",
            kubectl.namespace(),
            found(&pods),
            elsewhere(kubectl)
        ),
    }
}

/// A text of an object; empty where there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A ready Pod before one that is not, and one that ends last; then by name.
fn best<'a>(pods: impl Iterator<Item = &'a Value>) -> Option<&'a Value> {
    let is_ready = |pod: &Value| {
        let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    pods.min_by_key(|pod| (pod.pointer("/metadata/deletionTimestamp").is_some(), !is_ready(pod), text(pod, "/metadata/name").to_owned()))
}

/// `true` if a workload of this name made a Pod: a DaemonSet itself, a Deployment by a ReplicaSet with its name and a hash.
fn is_of(pod: &Value, workload: &str) -> bool {
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().filter(|owner| owner["controller"] == true).any(|owner| {
        let name = text(owner, "/name");
        match text(owner, "/kind") {
            "ReplicaSet" => name.rsplit_once('-').is_some_and(|(deployment, _)| deployment == workload),
            "DaemonSet" | "StatefulSet" => name == workload,
            _ => false,
        }
    })
}

/// The Pods of a namespace, for a message.
fn found(pods: &[Value]) -> String {
    let names: Vec<&str> = pods.iter().take(NAMED).map(|pod| text(pod, "/metadata/name")).collect();
    match (names.is_empty(), pods.len().saturating_sub(NAMED)) {
        (true, _) => "it has no Pods".into(),
        (false, 0) => format!("its Pods are {}", names.join(", ")),
        (false, more) => format!("its Pods are {} and {more} more", names.join(", ")),
    }
}

/// Other namespaces with controllers, where they may be listed.
fn elsewhere(kubectl: &Kubectl) -> String {
    let pods = kubectl.list(&["pods", "--selector", LABELS], true).unwrap_or_default();
    let namespaces: BTreeSet<&str> = pods.iter().map(|pod| text(pod, "/metadata/namespace")).collect();
    if namespaces.is_empty() {
        return String::new();
    }
    format!("; there are controllers in {}: --namespace says which", namespaces.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, kind: &str, owner: &str, ready: bool, ending: bool) -> Value {
        let mut pod = json!({
            "metadata": {"name": name, "ownerReferences": [{"kind": kind, "name": owner, "controller": true}]},
            "status": {"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
        });
        if ending {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        pod
    }

    #[test]
    fn a_pod_belongs_to_the_deployment_of_its_replica_set_by_the_whole_name() {
        let of = |kind, owner| is_of(&pod("p", kind, owner, true, false), "edge-controller");
        assert!(of("ReplicaSet", "edge-controller-7d9f") && of("DaemonSet", "edge-controller"));
        assert!(
            !of("ReplicaSet", "edge-controller-internal-7d9f") && !of("ReplicaSet", "edge-controller") && !of("Job", "edge-controller")
        );
    }

    #[test]
    fn a_ready_pod_is_taken_before_others() {
        let pods = [
            pod("a", "DaemonSet", "x", true, true),
            pod("b", "DaemonSet", "x", false, false),
            pod("d", "DaemonSet", "x", true, false),
            pod("c", "DaemonSet", "x", true, false),
        ];
        assert_eq!(best(pods.iter()).map(|pod| text(pod, "/metadata/name")), Some("c"));
        assert_eq!(best(pods[..2].iter()).map(|pod| text(pod, "/metadata/name")), Some("b"));
    }

    #[test]
    fn a_message_names_some_pods() {
        let pods: Vec<Value> = (0..12).map(|number| pod(&format!("p{number}"), "Job", "j", true, false)).collect();
        assert_eq!(found(&[]), "it has no Pods");
        assert_eq!(found(&pods[..2]), "its Pods are p0, p1");
        assert!(found(&pods).ends_with("p9 and 2 more"));
    }
}
