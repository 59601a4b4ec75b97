//! Objects that move, and their steps.

use std::collections::{BTreeMap, BTreeSet};

use model::{Ingress, ObjectKey};
use serde_json::{Value, json};

use super::record::{Entry, EntryState, Field, Kind};
use crate::site::{CLASS_ANNOTATION, annotated_class, class_of, hosts_of};

/// Objects that move and objects that stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The entries in the order of the steps.
    pub entries: Vec<Entry>,
    /// Ingresses that stay although they might have been meant, and why.
    pub stay: Vec<(ObjectKey, String)>,
    /// Hosts of moving Ingresses that others, which stay, have too.
    pub torn: Vec<(String, ObjectKey)>,
}

/// Plans the move of Ingresses to a class; `from`: only those of this class. Ingresses with a host in common move in one step, as the settings of
/// a host are one thing and a canary is nothing alone; a step has `batch` of them unless one group is larger. `everything` are all Ingresses that can be seen.
pub fn ingresses(
    selected: &[(ObjectKey, Ingress)],
    everything: &[(ObjectKey, Ingress)],
    from: Option<&str>,
    to: &str,
    batch: usize,
) -> Plan {
    let mut plan = Plan::default();
    let mut moving: BTreeMap<&ObjectKey, (&Ingress, Entry)> = BTreeMap::new();
    for (key, ingress) in selected {
        match entry(key, ingress, from, to) {
            Ok(Some(entry)) => drop(moving.insert(key, (ingress, entry))),
            Ok(None) => {}
            Err(reason) => plan.stay.push((key.clone(), reason)),
        }
    }
    let mut step = 0;
    let mut room = 0;
    for group in groups(moving.iter().map(|(key, (ingress, _))| (*key, *ingress))) {
        if group.len() > room {
            step += 1;
            room = batch.max(group.len());
        }
        room -= group.len();
        plan.entries.extend(group.iter().filter_map(|key| moving.get(key)).map(|(_, entry)| Entry { step, ..entry.clone() }));
    }
    let hosts: BTreeSet<String> = moving.values().flat_map(|(ingress, _)| hosts_of(ingress)).collect();
    for (key, other) in everything.iter().filter(|(key, _)| !moving.contains_key(key)) {
        // Those of the class that is moved to are where the others go.
        let there = class_of(other) == Some(to);
        let shared = hosts_of(other).into_iter().filter(|host| !there && hosts.contains(host));
        plan.torn.extend(shared.map(|host| (host, key.clone())));
    }
    plan.stay.sort();
    plan.torn.sort();
    plan
}

/// The move of one Ingress; `None` for one that is not meant, or is there already.
fn entry(key: &ObjectKey, ingress: &Ingress, from: Option<&str>, to: &str) -> Result<Option<Entry>, String> {
    let (name, annotation) = (ingress.class.as_deref(), annotated_class(ingress));
    let (field, class) = match (name, annotation) {
        (Some(name), Some(annotation)) if from.is_none_or(|from| from == name || from == annotation) => {
            return Err(format!(
                "it has both spec.ingressClassName ({name}) and the annotation {CLASS_ANNOTATION} ({annotation}): expected one"
            ));
        }
        (Some(name), _) => (Field::ClassName, name),
        (None, Some(annotation)) => (Field::ClassAnnotation, annotation),
        (None, None) if from.is_none() => return Err("it has no class".to_owned()),
        (None, None) => return Ok(None),
    };
    if class == to || from.is_some_and(|from| from != class) {
        return Ok(None);
    }
    Ok(Some(Entry {
        step: 0,
        kind: Kind::Ingress,
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        uid: ingress.uid.as_deref().unwrap_or_default().to_owned(),
        field,
        old: json!(class),
        new: json!(to),
        state: EntryState::Planned,
    }))
}

/// Ingresses that have hosts in common, however indirectly; groups and their members in order of namespace and name.
fn groups<'a>(ingresses: impl Iterator<Item = (&'a ObjectKey, &'a Ingress)>) -> Vec<Vec<ObjectKey>> {
    let ingresses: Vec<_> = ingresses.collect();
    let mut leader: Vec<usize> = (0..ingresses.len()).collect();
    let mut owner: BTreeMap<String, usize> = BTreeMap::new();
    for (at, (_, ingress)) in ingresses.iter().enumerate() {
        for host in hosts_of(ingress) {
            let first = *owner.entry(host).or_insert(at);
            let (one, other) = (find(&leader, first), find(&leader, at));
            let (low, high) = (one.min(other), one.max(other));
            leader[high] = low;
        }
    }
    let mut groups: BTreeMap<usize, Vec<ObjectKey>> = BTreeMap::new();
    for (at, (key, _)) in ingresses.iter().enumerate() {
        groups.entry(find(&leader, at)).or_default().push((*key).clone());
    }
    groups.into_values().collect()
}

fn find(leader: &[usize], mut at: usize) -> usize {
    while leader[at] != at {
        at = leader[at];
    }
    at
}

/// Plans the move of a Service, as the API has it, to another selector; `None` when it has it already.
///
/// # Errors
/// When it has no selector: its endpoints are made by another controller.
pub fn service(key: &ObjectKey, object: &Value, to: &BTreeMap<String, String>) -> Result<Option<Entry>, String> {
    let old = value_of(Field::Selector, object).filter(|selector| selector.as_object().is_some_and(|labels| !labels.is_empty()));
    let Some(old) = old else {
        return Err("it has no spec.selector, so that its endpoints are not chosen by labels: expected one".to_owned());
    };
    let entry = Entry {
        step: 1,
        kind: Kind::Service,
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        uid: object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
        field: Field::Selector,
        old,
        new: json!(to),
        state: EntryState::Planned,
    };
    Ok((entry.old != entry.new).then_some(entry))
}

/// The present value of the field of an entry.
pub fn value_of(field: Field, object: &Value) -> Option<Value> {
    object.pointer(field.pointer()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::tests::ingress;

    fn object(name: &str, class: Option<&str>, annotation: Option<&str>, hosts: &[&str]) -> (ObjectKey, Ingress) {
        let rules: Vec<Value> = hosts.iter().map(|host| json!({"host": host})).collect();
        let annotations = annotation.map(|value| json!({CLASS_ANNOTATION: value}));
        ingress(json!({
            "metadata": {"namespace": "n", "name": name, "uid": name, "annotations": annotations},
            "spec": {"ingressClassName": class, "rules": rules},
        }))
    }

    fn steps(objects: &[(ObjectKey, Ingress)], batch: usize) -> Vec<(String, usize)> {
        let plan = ingresses(objects, objects, Some("nginx"), "narthex", batch);
        plan.entries.into_iter().map(|entry| (entry.name, entry.step)).collect()
    }

    #[test]
    fn ingresses_with_a_host_in_common_move_together() {
        let nginx = |name, hosts: &[&str]| object(name, Some("nginx"), None, hosts);
        let objects = [nginx("a", &["x"]), nginx("b", &["y"]), nginx("c", &["x", "z"]), nginx("d", &["z"]), nginx("e", &["w"])];
        let own = |list: &[(&str, usize)]| list.iter().map(|(name, step)| ((*name).to_owned(), *step)).collect::<Vec<_>>();
        assert_eq!(steps(&objects, 1), own(&[("a", 1), ("c", 1), ("d", 1), ("b", 2), ("e", 3)]));
        assert_eq!(steps(&objects, 4), own(&[("a", 1), ("c", 1), ("d", 1), ("b", 1), ("e", 2)]));
    }

    #[test]
    fn each_ingress_moves_by_the_field_that_it_uses() {
        let objects = [
            object("a", Some("nginx"), None, &["a"]),
            object("b", None, Some("nginx"), &["b"]),
            object("c", Some("narthex"), None, &["c"]),
            object("d", Some("other"), None, &["d"]),
            object("e", None, None, &["e"]),
            object("f", Some("nginx"), Some("nginx"), &["f"]),
        ];
        let plan = ingresses(&objects, &objects, Some("nginx"), "narthex", 9);
        let fields: Vec<_> = plan.entries.iter().map(|entry| (entry.name.as_str(), entry.field)).collect();
        assert_eq!(fields, [("a", Field::ClassName), ("b", Field::ClassAnnotation)]);
        assert_eq!(plan.stay.iter().map(|(key, _)| &*key.name).collect::<Vec<_>>(), ["f"]);

        let plan = ingresses(&objects, &objects, None, "narthex", 9);
        assert_eq!(plan.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a", "b", "d"]);
        assert_eq!(plan.stay.iter().map(|(key, _)| &*key.name).collect::<Vec<_>>(), ["e", "f"]);
    }

    #[test]
    fn hosts_that_others_keep_are_named() {
        let objects = [
            object("a", Some("nginx"), None, &["x"]),
            object("b", Some("other"), None, &["x"]),
            object("c", Some("narthex"), None, &["x"]),
        ];
        let plan = ingresses(&objects, &objects, Some("nginx"), "narthex", 1);
        assert_eq!(plan.torn, [("x".to_owned(), ObjectKey::new("n", "b"))]);
    }

    #[test]
    fn a_service_moves_by_its_whole_selector() {
        let made = |selector: Value| json!({"metadata": {"uid": "1"}, "spec": {"selector": selector}});
        let key = ObjectKey::new("n", "lb");
        let to = BTreeMap::from([("app".to_owned(), "narthex".to_owned())]);
        let entry = service(&key, &made(json!({"app": "nginx", "x": "y"})), &to).unwrap().unwrap();
        assert_eq!((entry.old, entry.new), (json!({"app": "nginx", "x": "y"}), json!({"app": "narthex"})));
        assert_eq!(service(&key, &made(json!({"app": "narthex"})), &to), Ok(None));
        assert!(service(&key, &made(Value::Null), &to).is_err());
    }
}
