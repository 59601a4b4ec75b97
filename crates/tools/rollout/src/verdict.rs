//! The progress of a rollout, from the workload's status and its Pods. Pure.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde_json::Value;

use crate::kind::Kind;
use crate::rules::RESTARTED_AT;
use crate::workload::Workload;

/// Reasons of a waiting container that don't go away by waiting.
const HOPELESS: [&str; 7] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "ErrImageNeverPull",
];

/// The progress of a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RolloutVerdict {
    /// Not decided yet.
    Open,
    /// All Pods are new and ready.
    Complete,
    /// A new Pod fails, or there is no progress: reason and detail.
    Failed(String, String),
}

/// Judges. `object` is the workload as it is now, `pods` are those of its selector.
pub(crate) fn judge(workload: &Workload, object: &Value, pods: &[Pod]) -> RolloutVerdict {
    for pod in pods.iter().filter(|pod| is_new(workload, pod)) {
        if let Some((reason, detail)) = failure(pod) {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            return RolloutVerdict::Failed(reason, format!("Pod {name}: {detail}"));
        }
    }
    let status = &object["status"];
    if status["observedGeneration"].as_i64().or_else(|| status["observedGeneration"].as_str()?.parse().ok())
        < object["metadata"]["generation"].as_i64()
    {
        return RolloutVerdict::Open;
    }
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(condition) =
        conditions.iter().find(|condition| condition["reason"] == "ProgressDeadlineExceeded" && condition["status"] == "False")
    {
        return RolloutVerdict::Failed("ProgressDeadlineExceeded".into(), condition["message"].as_str().unwrap_or_default().to_owned());
    }
    if is_complete(workload.id.kind, object) { RolloutVerdict::Complete } else { RolloutVerdict::Open }
}

fn is_complete(kind: Kind, object: &Value) -> bool {
    let count = |name: &str| object["status"][name].as_i64().unwrap_or(0);
    let wanted = match kind {
        Kind::DaemonSet => count("desiredNumberScheduled"),
        _ => object["spec"]["replicas"].as_i64().unwrap_or(1),
    };
    match kind {
        Kind::DaemonSet => count("updatedNumberScheduled") == wanted && count("numberAvailable") == wanted,
        Kind::StatefulSet => count("updatedReplicas") == wanted && count("readyReplicas") == wanted,
        _ => count("updatedReplicas") == wanted && count("availableReplicas") == wanted && count("replicas") == wanted,
    }
}

/// `true` if a Pod is from the newest template: it has every mark of it.
fn is_new(workload: &Workload, pod: &Pod) -> bool {
    let annotations = pod.metadata.annotations.as_ref();
    let annotated = workload.marks.iter().all(|(name, value)| annotations.and_then(|own| own.get(name)) == Some(value));
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let variables: Vec<(&str, &str, Option<&str>)> = containers
        .flat_map(|container| {
            let own = container.env.iter().flatten();
            own.map(|variable| (container.name.as_str(), variable.name.as_str(), variable.value.as_deref()))
        })
        .collect();
    let marked = workload.containers.digests().all(|(container, name, value)| variables.contains(&(container, name, Some(value))));
    // A Pod from before a restart by annotation lacks the annotation; one from before a removed variable still has it.
    let leftover = variables
        .iter()
        .any(|(_, name, value)| name.starts_with("STAKATER_") && value.is_some() && workload.containers.holder(name).is_none());
    let restarted = annotations.is_some_and(|own| own.contains_key(RESTARTED_AT)) == workload.marks.contains_key(RESTARTED_AT);
    annotated && marked && !leftover && restarted
}

fn failure(pod: &Pod) -> Option<(String, String)> {
    let status = pod.status.as_ref()?;
    let containers: Vec<&ContainerStatus> =
        [&status.init_container_statuses, &status.container_statuses].into_iter().flatten().flatten().collect();
    let waiting = containers.iter().filter_map(|container| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref().filter(|reason| HOPELESS.contains(reason))?;
        let message = waiting.message.as_deref().unwrap_or_default();
        Some((reason.to_owned(), format!("container {} is in {reason} {message}", container.name).trim_end().to_owned()))
    });
    let failed = (status.phase.as_deref() == Some("Failed")).then(|| {
        let reason = status.reason.as_deref().unwrap_or("Failed");
        (reason.to_owned(), format!("it failed: {}", status.message.as_deref().unwrap_or(reason)))
    });
    waiting.into_iter().next().or(failed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workload::tests::workload;

    fn rolled(kind: Kind) -> Workload {
        let containers = json!([{"name": "app", "env": [{"name": "STAKATER_A_CONFIGMAP", "value": "new"}]}]);
        workload(kind, json!({"spec": {"template": {"spec": {"containers": containers}}}}))
    }

    fn pod(digest: &str, state: Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "web-1"},
            "spec": {"containers": [{"name": "app", "env": [{"name": "STAKATER_A_CONFIGMAP", "value": digest}]}]},
            "status": {"phase": "Pending", "containerStatuses": [
                {"name": "app", "image": "x", "imageID": "x", "ready": false, "restartCount": 0, "state": state},
            ]},
        }))
        .unwrap()
    }

    fn waiting(reason: &str) -> Value {
        json!({"waiting": {"reason": reason, "message": "back-off 10s"}})
    }

    fn object(updated: i64, available: i64) -> Value {
        json!({"metadata": {"generation": 2}, "spec": {"replicas": 2},
            "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": updated, "availableReplicas": available}})
    }

    #[test]
    fn a_new_pod_that_can_t_start_fails_the_rollout_and_an_old_one_does_not() {
        let one = rolled(Kind::Deployment);
        for reason in HOPELESS {
            let verdict = judge(&one, &object(1, 2), &[pod("new", waiting(reason))]);
            assert_eq!(verdict, RolloutVerdict::Failed(reason.into(), format!("Pod web-1: container app is in {reason} back-off 10s")));
        }
        assert_eq!(judge(&one, &object(1, 2), &[pod("old", waiting("CrashLoopBackOff"))]), RolloutVerdict::Open);
        assert_eq!(judge(&one, &object(1, 2), &[pod("new", waiting("ContainerCreating"))]), RolloutVerdict::Open);
    }

    #[test]
    fn a_rollout_is_complete_when_all_pods_are_new_and_ready() {
        let one = rolled(Kind::Deployment);
        assert_eq!(judge(&one, &object(2, 2), &[]), RolloutVerdict::Complete);
        assert_eq!(judge(&one, &object(2, 1), &[]), RolloutVerdict::Open);
        let mut unseen = object(2, 2);
        unseen["metadata"]["generation"] = json!(3);
        assert_eq!(judge(&one, &unseen, &[]), RolloutVerdict::Open);
        let daemons = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberAvailable": 1}});
        assert_eq!(judge(&rolled(Kind::DaemonSet), &daemons, &[]), RolloutVerdict::Complete);
    }

    #[test]
    fn no_progress_is_a_failure() {
        let mut stuck = object(1, 2);
        stuck["status"]["conditions"] =
            json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}]);
        assert_eq!(
            judge(&rolled(Kind::Deployment), &stuck, &[]),
            RolloutVerdict::Failed("ProgressDeadlineExceeded".into(), "timed out".into())
        );
    }
}
