//! A workload, cut down to what decides about its rollouts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::Value;

use crate::complaint;
use crate::kind::{ContentId, ContentKind, Kind, WorkloadId};
use crate::policy::ReloadPolicy;
use crate::record::Record;
use crate::rules::{APPLIED, CHECK, LAST_RELOADED_FROM, Names, PAUSED, RESTARTED_AT};
use crate::uses::{Containers, Uses};

/// A workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Workload {
    /// Kind, namespace and name.
    pub(crate) id: WorkloadId,
    /// `metadata.uid`.
    pub(crate) uid: String,
    /// The version that decisions are about: patches are refused when it is not the newest any more.
    pub(crate) resource_version: String,
    /// `metadata.generation`.
    pub(crate) generation: i64,
    /// Its reload policies for ConfigMaps and for Secrets. Index: [`ContentKind`].
    pub(crate) policies: [ReloadPolicy; 2],
    /// Its references, and the container that stands for each.
    pub(crate) uses: Uses,
    /// Its containers and the digests in their environment.
    pub(crate) containers: Containers,
    /// The content that its Pods have, where we know.
    pub(crate) record: Option<Record>,
    /// `last-reloaded-from` of its template.
    pub(crate) last: Option<String>,
    /// Annotations of ours on the template, by which its newest Pods are known.
    pub(crate) marks: BTreeMap<String, String>,
    /// The annotation about checks.
    pub(crate) check: Option<String>,
    /// `spec.selector`, to find its Pods.
    pub(crate) selector: Option<LabelSelector>,
    /// Pause, with its reason.
    pub(crate) pause: Pause,
    /// `true` if an Argo Rollout wants to be restarted without a change of its template.
    pub(crate) restarts: bool,
    /// Annotations that could not be read, for people.
    pub(crate) complaints: Vec<String>,
}

/// Everything about `spec.paused`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pause {
    /// `spec.paused`.
    pub(crate) paused: bool,
    /// The time for which changes are to be collected.
    pub(crate) period: Option<SignedDuration>,
    /// Since when they are.
    pub(crate) since: Option<Timestamp>,
    /// We paused it because its first new Pod failed.
    pub(crate) failed: bool,
}

impl Pause {
    /// End of the collecting of changes; `None` if none are being collected.
    pub(crate) fn ends(&self) -> Option<Timestamp> {
        let since = self.since.filter(|_| self.paused)?;
        since.checked_add(self.period.unwrap_or_default()).ok().or(Some(since))
    }
}

impl Workload {
    /// Reads an object; `None` for what is never rolled out: without a Pod template, being deleted, or a Job that its CronJob makes.
    pub(crate) fn read(kind: Kind, object: &DynamicObject, names: &Names) -> Option<Self> {
        let meta = &object.metadata;
        let owned = meta.owner_references.iter().flatten().any(|owner| owner.controller == Some(true));
        if meta.deletion_timestamp.is_some() || (kind == Kind::Job && owned) {
            return None;
        }
        let template: PodTemplateSpec = serde_json::from_value(object.data.pointer(kind.template())?.clone()).ok()?;
        let (own, empty) = (object.annotations(), BTreeMap::new());
        let pod = template.metadata.as_ref().and_then(|meta| meta.annotations.as_ref()).unwrap_or(&empty);
        let spec = template.spec.as_ref()?;
        let mut complaints = complaint::of_annotations(own, pod, names);
        let policies = ContentKind::ALL.map(|source| ReloadPolicy::read(source, own, pod, names, &mut complaints));
        let marks = pod.iter().filter(|(name, _)| [LAST_RELOADED_FROM, RESTARTED_AT].contains(&name.as_str()));
        Some(Self {
            id: WorkloadId { namespace: object.namespace()?, kind, name: object.name_any() },
            uid: object.uid()?,
            resource_version: object.resource_version()?,
            generation: meta.generation.unwrap_or_default(),
            policies,
            uses: Uses::of(spec),
            containers: Containers::of(spec),
            record: own.get(APPLIED).and_then(|text| Record::read(text)),
            last: pod.get(LAST_RELOADED_FROM).cloned(),
            marks: marks.map(|(name, value)| (name.clone(), value.clone())).collect(),
            check: own.get(CHECK).cloned(),
            selector: serde_json::from_value(object.data.pointer("/spec/selector").cloned().unwrap_or(Value::Null)).ok(),
            pause: pause(kind, object, names, &mut complaints),
            restarts: kind == Kind::Rollout && own.get(&names.rollout_strategy).is_some_and(|value| value == "restart"),
            complaints,
        })
    }

    /// The policy about one kind of source.
    pub(crate) fn policy(&self, source: ContentKind) -> &ReloadPolicy {
        &self.policies[source as usize]
    }

    /// `true` if a change of this object may be one for this workload.
    pub(crate) fn concerns(&self, id: &ContentId) -> bool {
        self.uses.container(id).is_some()
            || self.policy(id.source).names(&id.name)
            || self.record.as_ref().is_some_and(|record| record.get(id).is_some())
    }
}

fn pause(kind: Kind, object: &DynamicObject, names: &Names, complaints: &mut Vec<String>) -> Pause {
    if kind != Kind::Deployment {
        return Pause::default();
    }
    let own = object.annotations();
    let period = own.get(&names.pause_period).and_then(|text| {
        let period = ngx_value::parse_duration(text.trim()).ok().filter(|period| !period.is_zero());
        let period = period.and_then(|period| SignedDuration::try_from(period).ok());
        if period.is_none() {
            complaints
                .push(format!("annotation {} {text:?} is not a duration such as 30s or 5m: changes are not collected", names.pause_period));
        }
        period
    });
    Pause {
        paused: object.data.pointer("/spec/paused").and_then(Value::as_bool).unwrap_or(false),
        period,
        // An unreadable time counts as long ago: it must not stay paused for ever.
        since: own.get(&names.paused_at).map(|text| text.parse().unwrap_or(Timestamp::UNIX_EPOCH)),
        failed: own.contains_key(PAUSED),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A workload with one container `app`; `extra` is merged into it.
    pub(crate) fn workload(kind: Kind, extra: Value) -> Workload {
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": kind.name(),
            "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "7", "generation": 1},
            "spec": {},
        });
        let template = json!({"metadata": {}, "spec": {"containers": [{"name": "app", "image": "x"}]}});
        match kind {
            Kind::CronJob => object["spec"]["jobTemplate"] = json!({"spec": {"template": template}}),
            _ => object["spec"]["template"] = template,
        }
        merge(&mut object, extra);
        Workload::read(kind, &serde_json::from_value(object).unwrap(), &Names::default()).unwrap()
    }

    pub(crate) fn merge(into: &mut Value, from: Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                from.into_iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value))
            }
            (into, from) => *into = from,
        }
    }

    #[test]
    fn the_collecting_of_changes_ends_after_its_period_even_if_its_begin_is_unreadable() {
        let annotations = |at: &str| {
            json!({"metadata": {"annotations": {
            "deployment.reloader.stakater.com/pause-period": "1m30s", "deployment.reloader.stakater.com/paused-at": at,
        }}, "spec": {"paused": true}})
        };
        let pause = workload(Kind::Deployment, annotations("2026-01-01T00:00:00Z")).pause;
        assert_eq!(pause.ends(), Some("2026-01-01T00:01:30Z".parse().unwrap()));
        assert!(workload(Kind::Deployment, annotations("soon")).pause.ends().unwrap() < Timestamp::now());
        assert_eq!(workload(Kind::StatefulSet, annotations("soon")).pause, Pause::default());
    }

    #[test]
    fn a_job_of_a_cron_job_and_what_is_being_deleted_are_left_alone() {
        let read = |extra: Value| {
            let mut object = json!({"metadata": {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "1"}, "spec": {"template": {"spec": {"containers": []}}}});
            merge(&mut object, extra);
            Workload::read(Kind::Job, &serde_json::from_value(object).unwrap(), &Names::default())
        };
        assert!(read(json!({})).is_some());
        let owner = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "2", "controller": true}]);
        assert!(read(json!({"metadata": {"ownerReferences": owner}})).is_none());
        assert!(read(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})).is_none());
        assert!(read(json!({"spec": {"template": null}})).is_none());
    }
}
