//! The decision to roll out a workload: a function of the workload, the objects of its namespace, the rules and the time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::content::Digest;
use crate::kind::{ContentId, ContentKind};
use crate::record::{Content, Record};
use crate::rules::{Check, Rules};
use crate::uses::variable;
use crate::workload::Workload;

/// A ConfigMap or Secret, cut down to what decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// The content.
    pub(crate) digest: Digest,
    /// By what a Reloader may know the same.
    pub(crate) theirs: Box<[Digest]>,
    /// `metadata.uid`.
    pub(crate) uid: String,
    /// The object never counts.
    pub(crate) ignored: bool,
    /// The object may be found by a search.
    pub(crate) found: bool,
    /// The annotation about checks.
    pub(crate) check: Option<String>,
    /// We saw it come into being.
    pub(crate) born: bool,
}

/// The objects of a namespace.
pub(crate) type Objects = BTreeMap<ContentId, Object>;

/// The action to take for a workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// Nothing.
    Nothing,
    /// Write down which content its Pods have; nothing is rolled out.
    Note(Record),
    /// The workload does not ask for anything any more: take away what was written down.
    Forget,
    /// Roll it out.
    Roll(Plan),
    /// Changes were collected for long enough: let them go.
    Resume,
}

/// A rollout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// The changes; at least one.
    pub(crate) changes: Vec<Change>,
    /// The record to be written with it.
    pub(crate) record: Record,
}

/// One changed object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// The object.
    pub(crate) id: ContentId,
    /// Index of the container that stands for it.
    pub(crate) container: usize,
    /// Its content now.
    pub(crate) to: Content,
}

/// Decides.
pub(crate) fn decide(workload: &Workload, objects: &Objects, rules: &Rules, now: Timestamp) -> Decision {
    let old = workload.record.clone().unwrap_or_default();
    let mut record = Record { objects: BTreeMap::new(), ..old.clone() };
    let mut changes = Vec::new();
    for id in candidates(workload, objects) {
        let object = objects.get(&id);
        let Some(container) = interest(workload, &id, object, rules) else { continue };
        let to = object.map_or(Content::Absent, |object| Content::Present(object.digest.clone()));
        let from = known(workload, &id).map(|from| if is_theirs(workload, object, &from) { to.clone() } else { from });
        let (is_change, keep) = compare(workload, from.as_ref(), &to, object.is_some_and(|object| object.born), rules);
        record.set(&id, if keep { from.as_ref().unwrap_or(&to) } else { &to });
        if is_change {
            changes.push(Change { id, container, to });
        }
    }
    if !changes.is_empty() && !workload.containers.is_empty() {
        record.rollouts += 1;
        record.at = Some(now);
        return Decision::Roll(Plan { changes, record });
    }
    if workload.pause.ends().is_some_and(|end| end <= now) {
        return Decision::Resume;
    }
    match (&workload.record, record.objects.is_empty()) {
        (None, true) => Decision::Nothing,
        (Some(_), true) => Decision::Forget,
        (written, false) if written.as_ref() == Some(&record) => Decision::Nothing,
        (_, false) => Decision::Note(record),
    }
}

/// Two answers: is it a change to roll out, and does the known content stay instead of the present one.
fn compare(workload: &Workload, from: Option<&Content>, to: &Content, born: bool, rules: &Rules) -> (bool, bool) {
    use Content::{Absent, Present};
    match (from, to) {
        (Some(Present(old)), Present(new)) => (old != new, false),
        // Not there for a while and then back: compared with what it was before.
        (Some(Present(_)), Absent) => (rules.on_delete, !rules.on_delete),
        (Some(Absent), Present(_)) => (rules.on_create, false),
        (None, Present(_)) if workload.record.is_none() => (rules.on_create && rules.sync_after_restart, false),
        (None, Present(_)) => (rules.on_create && born, false),
        (Some(Absent) | None, Absent) => (false, false),
    }
}

/// Every object that might count.
fn candidates(workload: &Workload, objects: &Objects) -> BTreeSet<ContentId> {
    let mut ids: BTreeSet<ContentId> = workload.uses.ids().cloned().collect();
    ids.extend(workload.record.iter().flat_map(Record::ids));
    for source in ContentKind::ALL {
        let policy = workload.policy(source);
        ids.extend(policy.exact().map(|name| ContentId::new(source, name)));
        if policy.has_patterns() {
            ids.extend(objects.keys().filter(|id| id.source == source && policy.names(&id.name)).cloned());
        }
    }
    ids
}

/// The container that stands for an object, if its changes count for the workload.
fn interest(workload: &Workload, id: &ContentId, object: Option<&Object>, rules: &Rules) -> Option<usize> {
    let policy = workload.policy(id.source);
    let ignored = object.is_some_and(|object| object.ignored);
    if ignored || policy.excludes(&id.name) || !rules.sources.contains(&id.source) {
        return None;
    }
    let used = workload.uses.container(id);
    if policy.names(&id.name) {
        return Some(used.unwrap_or(0));
    }
    // An object that is gone was found, if it is written down.
    let found = object.map_or_else(|| known(workload, id).is_some(), |object| object.found);
    used.filter(|_| policy.is_auto(rules.auto_all) || (policy.search && found))
}

/// The content of an object that the Pods have: what we wrote down, or else what Reloader left in the template.
fn known(workload: &Workload, id: &ContentId) -> Option<Content> {
    if let Some(record) = &workload.record {
        return record.get(id);
    }
    if let Some((_, digest)) = workload.containers.holder(&variable(id)) {
        return Some(Content::Present(Digest::stored(digest)));
    }
    let last: serde_json::Value = serde_json::from_str(workload.last.as_deref()?).ok()?;
    // Newer Reloaders write `"kind": "configmap"` where older ones write `"type": "CONFIGMAP"`.
    let kind = last["type"].as_str().or_else(|| last["kind"].as_str()).unwrap_or_default();
    let is_it = kind.eq_ignore_ascii_case(id.source.tag()) && last["name"] == id.name.as_str();
    Some(Content::Present(Digest::stored(last["hash"].as_str().filter(|_| is_it)?)))
}

/// `true` if what a Reloader left in the template stands for what the object holds now.
fn is_theirs(workload: &Workload, object: Option<&Object>, from: &Content) -> bool {
    let (None, Some(object), Content::Present(left)) = (&workload.record, object, from) else { return false };
    object.theirs.contains(left)
}

/// The check of a change: the object's own annotation, else the workload's, else the flag. The error names a value that is none.
pub(crate) fn check(workload: Option<&str>, object: Option<&str>, rules: &Rules) -> Result<Check, String> {
    match object.or(workload) {
        None => Ok(rules.check),
        Some(text) => {
            Check::read(text).ok_or_else(|| format!("annotation {} {text:?}: expected nginx, command or none", crate::rules::CHECK))
        }
    }
}

#[cfg(test)]
mod tests;
