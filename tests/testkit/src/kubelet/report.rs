//! The status of Pods with containers.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::status::seconds;

/// The state of one container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Report {
    pub(super) phase: Phase,
    pub(super) restarts: u32,
    pub(super) started: bool,
    pub(super) ready: bool,
}

/// The phase of one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not started yet, and why.
    Waiting { reason: &'static str, message: String },
    /// Started at this time.
    Running(Timestamp),
    /// Ended with a code.
    Ended { code: i32, started: Timestamp, ended: Timestamp },
}

impl Default for Phase {
    fn default() -> Self {
        Self::Waiting { reason: "ContainerCreating", message: String::new() }
    }
}

/// Where and since when a Pod runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) address: Ipv4Addr,
    pub(super) host: Ipv4Addr,
    pub(super) started: Timestamp,
}

/// The status of a Pod with these containers, in their order, as a merge patch.
pub(super) fn status(pod: &Pod, place: Place, reports: &[Report]) -> Value {
    let Place { address, host, started } = place;
    let ready = !reports.is_empty() && reports.iter().all(|report| report.ready);
    let waiting = reports.iter().any(|report| matches!(report.phase, Phase::Waiting { .. }));
    let over = reports.iter().all(|report| matches!(report.phase, Phase::Ended { .. }));
    let failed = reports.iter().any(|report| matches!(report.phase, Phase::Ended { code, .. } if code != 0));
    // Containers that ended are started again, unless the Pod is to end or says otherwise.
    let ending = pod.metadata.deletion_timestamp.is_some() || !restarts(pod);
    let phase = match (waiting, over && ending, failed) {
        (true, _, _) => "Pending",
        (false, false, _) => "Running",
        (false, true, false) => "Succeeded",
        (false, true, true) => "Failed",
    };
    json!({"status": {
        "phase": phase,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": seconds(started),
        "conditions": conditions(ready),
        "containerStatuses": containers(pod, reports),
    }})
}

/// Whether a Pod's containers are started again whenever they end.
pub(super) fn restarts(pod: &Pod) -> bool {
    let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    policy.unwrap_or("Always") == "Always"
}

/// The status of a Pod that its Node has no room for.
pub(super) fn evicted(pod: &Pod, reports: &[Report]) -> Value {
    json!({"status": {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on resource: memory.",
        "conditions": conditions(false),
        "containerStatuses": containers(pod, reports),
    }})
}

fn conditions(ready: bool) -> Vec<Value> {
    let all = [("PodScheduled", true), ("Initialized", true), ("ContainersReady", ready), ("Ready", ready)];
    let word = |on: bool| if on { "True" } else { "False" };
    all.into_iter().map(|(kind, on)| json!({"type": kind, "status": word(on), "lastTransitionTime": seconds(Timestamp::now())})).collect()
}

fn containers(pod: &Pod, reports: &[Report]) -> Vec<Value> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers).zip(reports);
    let statuses = containers.map(|(container, report)| {
        let image = container.image.as_deref().unwrap_or_default();
        let state = match &report.phase {
            Phase::Waiting { reason, message } => json!({"waiting": {"reason": reason, "message": message}}),
            Phase::Running(at) => json!({"running": {"startedAt": seconds(*at)}}),
            Phase::Ended { code, started, ended } => {
                let reason = if *code == 0 { "Completed" } else { "Error" };
                json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": seconds(*started), "finishedAt": seconds(*ended)}})
            }
        };
        json!({
            "name": container.name, "image": image, "imageID": image, "ready": report.ready, "started": report.started,
            "restartCount": report.restarts, "state": state,
        })
    });
    statuses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(ending: bool) -> Pod {
        let deleted = ending.then_some("2026-01-01T00:00:00Z");
        let pod = json!({"metadata": {"deletionTimestamp": deleted}, "spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_pod_is_ready_when_all_its_containers_are() {
        let place = Place { address: [10, 77, 16, 1].into(), host: [10, 77, 1, 11].into(), started: Timestamp::UNIX_EPOCH };
        let running = Report { phase: Phase::Running(Timestamp::UNIX_EPOCH), started: true, ready: true, ..Report::default() };
        let ended = |code| Report {
            phase: Phase::Ended { code, started: Timestamp::UNIX_EPOCH, ended: Timestamp::UNIX_EPOCH },
            ..Report::default()
        };
        for (ending, reports, phase, ready) in [
            (false, [Report::default(), running.clone()], "Pending", "False"),
            (false, [running.clone(), running.clone()], "Running", "True"),
            (false, [ended(1), running.clone()], "Running", "False"),
            (true, [ended(0), ended(0)], "Succeeded", "False"),
            (true, [ended(0), ended(137)], "Failed", "False"),
        ] {
            let status = status(&pod(ending), place, &reports);
            let status = serde_json::from_value::<Pod>(status).unwrap().status.unwrap();
            assert_eq!(status.phase.as_deref(), Some(phase));
            let found = status.conditions.unwrap().into_iter().find(|condition| condition.type_ == "Ready").unwrap();
            assert_eq!(found.status, ready, "{phase}");
        }
    }

    #[test]
    fn a_pod_of_a_job_is_over_when_its_container_has_ended() {
        let pod: Pod = serde_json::from_value(json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}})).unwrap();
        let place = Place { address: [10, 77, 16, 1].into(), host: [10, 77, 1, 11].into(), started: Timestamp::UNIX_EPOCH };
        let running = Phase::Running(Timestamp::UNIX_EPOCH);
        let ended = |code| Phase::Ended { code, started: Timestamp::UNIX_EPOCH, ended: Timestamp::UNIX_EPOCH };
        for (container, phase) in [(running, "Running"), (ended(0), "Succeeded"), (ended(1), "Failed")] {
            let status = status(&pod, place, &[Report { phase: container, ..Report::default() }]);
            assert_eq!(status["status"]["phase"], phase);
        }
    }
}
