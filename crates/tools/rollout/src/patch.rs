//! The patches: nothing in them but what is meant, and the version that they were decided for.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::decide::Plan;
use crate::kind::Kind;
use crate::record::{Content, Record};
use crate::rules::{APPLIED, LAST_RELOADED_FROM, PAUSED, RESTARTED_AT, Rules, Strategy};
use crate::uses::variable;
use crate::workload::Workload;

/// The changes of a Pod template.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Edit {
    /// Annotations to set.
    pub(crate) annotations: Map<String, Value>,
    /// Container, variable, value; `None` takes the variable away.
    pub(crate) variables: Vec<(String, String, Option<String>)>,
}

/// The change of the Pod template that a plan makes; never none at all.
pub(crate) fn edit(workload: &Workload, plan: &Plan, rules: &Rules, now: Timestamp) -> Edit {
    let mut edit = Edit::default();
    match rules.strategy {
        Strategy::EnvVars => variables(workload, plan, &mut edit),
        Strategy::Annotations => {
            let last = last_reloaded_from(workload, plan, now);
            if workload.last.as_ref() != Some(&last) {
                edit.annotations.insert(LAST_RELOADED_FROM.into(), json!(last));
            }
        }
    }
    if edit == Edit::default() {
        edit.annotations.insert(RESTARTED_AT.into(), json!(now.to_string()));
    }
    edit
}

fn variables(workload: &Workload, plan: &Plan, edit: &mut Edit) {
    for change in &plan.changes {
        let name = variable(&change.id);
        let holder = workload.containers.holder(&name);
        let digest = match &change.to {
            Content::Present(digest) => Some(digest.as_str().to_owned()),
            Content::Absent => None,
        };
        if holder.map(|(_, value)| value) == digest.as_deref() {
            continue;
        }
        let container = holder.map(|(container, _)| container).or_else(|| workload.containers.name(change.container));
        // Two objects whose names give the same variable: the last one's digest.
        edit.variables.retain(|(_, other, _)| *other != name);
        edit.variables.extend(container.map(|container| (container.to_owned(), name, digest)));
    }
}

fn last_reloaded_from(workload: &Workload, plan: &Plan, now: Timestamp) -> String {
    let change = plan.changes.last().expect("a plan is about at least one change");
    json!({
        "type": change.id.source.tag(),
        "name": change.id.name,
        "namespace": workload.id.namespace,
        "hash": change.to.digest(),
        "containerRefs": workload.containers.name(change.container).into_iter().collect::<Vec<_>>(),
        "observedAt": now.as_second(),
    })
    .to_string()
}

/// A rollout as a strategic merge patch, for the kinds of Kubernetes itself.
pub(crate) fn roll(workload: &Workload, plan: &Plan, edit: &Edit, rules: &Rules, now: Timestamp) -> Value {
    let mut template = Map::new();
    if !edit.annotations.is_empty() {
        template.insert("metadata".into(), json!({"annotations": edit.annotations}));
    }
    let mut containers: Vec<Value> = Vec::new();
    for (container, name, value) in &edit.variables {
        let entry = match value {
            Some(value) => json!({"name": name, "value": value}),
            None => json!({"name": name, "$patch": "delete"}),
        };
        match containers.iter_mut().find(|known| known["name"] == container.as_str()) {
            Some(known) => known["env"].as_array_mut().expect("made below").push(entry),
            None => containers.push(json!({"name": container, "env": [entry]})),
        }
    }
    if !containers.is_empty() {
        template.insert("spec".into(), json!({"containers": containers}));
    }
    let mut patch = metadata(workload, json!({APPLIED: plan.record.write()}));
    patch["spec"] = json!({"template": template});
    pause(workload, rules, now, &mut patch);
    patch
}

/// Pauses a Deployment that collects its changes, and resumes one that was paused because of what now changes.
fn pause(workload: &Workload, rules: &Rules, now: Timestamp, patch: &mut Value) {
    let pause = &workload.pause;
    if pause.period.is_some() && (!pause.paused || pause.failed) {
        patch["spec"]["paused"] = json!(true);
        // RFC 3339 without fractions, as Reloader writes it and reads it.
        patch["metadata"]["annotations"][&rules.names.paused_at] = json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    } else if pause.period.is_none() && pause.failed {
        patch["spec"]["paused"] = json!(false);
    }
    if pause.failed {
        patch["metadata"]["annotations"][PAUSED] = Value::Null;
    }
}

/// A rollout of an Argo Rollout as a merge patch: lists are replaced whole, so the containers are those of `object`, edited.
pub(crate) fn roll_custom(workload: &Workload, plan: &Plan, edit: &Edit, object: &Value) -> Value {
    let mut patch = metadata(workload, json!({APPLIED: plan.record.write()}));
    let mut template = Map::new();
    if !edit.annotations.is_empty() {
        template.insert("metadata".into(), json!({"annotations": edit.annotations}));
    }
    if !edit.variables.is_empty() {
        let mut whole = object.pointer(Kind::Rollout.template()).cloned().unwrap_or_default();
        apply(edit, &mut whole);
        template.insert("spec".into(), json!({"containers": whole["spec"]["containers"]}));
    }
    patch["spec"] = json!({"template": template});
    patch
}

/// An Argo Rollout's own restart: its template stays.
pub(crate) fn restart(workload: &Workload, plan: &Plan, now: Timestamp) -> Value {
    let mut patch = metadata(workload, json!({APPLIED: plan.record.write()}));
    patch["spec"] = json!({"restartAt": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
    patch
}

/// Writes down which content the Pods have.
pub(crate) fn note(workload: &Workload, record: &Record) -> Value {
    metadata(workload, json!({APPLIED: record.write()}))
}

/// Takes away what was written down.
pub(crate) fn forget(workload: &Workload) -> Value {
    metadata(workload, json!({APPLIED: null}))
}

/// Lets collected changes go.
pub(crate) fn resume(workload: &Workload, rules: &Rules) -> Value {
    let mut patch = metadata(workload, json!({&*rules.names.paused_at: null}));
    patch["spec"] = json!({"paused": false});
    patch
}

/// Pauses a Deployment because its first new Pod failed.
pub(crate) fn pause_failed(workload: &Workload, why: &str) -> Value {
    let mut patch = metadata(workload, json!({PAUSED: why}));
    patch["spec"] = json!({"paused": true});
    patch
}

fn metadata(workload: &Workload, annotations: Value) -> Value {
    json!({"metadata": {"resourceVersion": workload.resource_version, "uid": workload.uid, "annotations": annotations}})
}

/// Applies an edit to a Pod template.
pub(crate) fn apply(edit: &Edit, template: &mut Value) {
    for (name, value) in &edit.annotations {
        template["metadata"]["annotations"][name] = value.clone();
    }
    for container in template["spec"]["containers"].as_array_mut().into_iter().flatten() {
        let own = edit.variables.iter().filter(|(name, _, _)| container["name"] == name.as_str());
        for (_, name, value) in own.collect::<Vec<_>>() {
            let mut variables = container["env"].as_array().cloned().unwrap_or_default();
            variables.retain(|variable| variable["name"] != name.as_str());
            variables.extend(value.as_ref().map(|value| json!({"name": name, "value": value})));
            container["env"] = Value::Array(variables);
        }
    }
}

#[cfg(test)]
mod tests;
