//! Which Ingresses are ours: namespace, class, catch-all.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::object::Ingress;
use crate::settings::{SelectorTerm, Settings};
use crate::snapshot::Snapshot;

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// Names of the IngressClasses that are ours, or `None` when classes can't be read (then `ingressClassName` means nothing).
pub(crate) fn owned_classes(snapshot: &Snapshot, settings: &Settings) -> Option<BTreeSet<Arc<str>>> {
    let classes = snapshot.ingress_classes.as_ref()?;
    if classes.is_empty() && settings.implied_class {
        return Some(BTreeSet::from([settings.ingress_class.as_str().into()]));
    }
    let owned = classes.iter().filter(|(name, class)| {
        let controller = class.spec.as_ref().and_then(|spec| spec.controller.as_deref());
        controller == Some(settings.controller_class.as_str()) || (settings.ingress_class_by_name && ***name == *settings.ingress_class)
    });
    Some(owned.map(|(name, _)| name.clone()).collect())
}

/// Whether an Ingress is ours by its class: first `ingressClassName`, then the annotation, then neither.
pub(crate) fn class_matches(ingress: &Ingress, owned: Option<&BTreeSet<Arc<str>>>, settings: &Settings) -> bool {
    if let (Some(owned), Some(name)) = (owned, ingress.class.as_deref()) {
        return owned.contains(name);
    }
    match ingress.annotations.get(CLASS_ANNOTATION) {
        Some(value) => *value == settings.ingress_class,
        None => settings.watch_ingress_without_class,
    }
}

/// Whether a namespace is watched.
pub(crate) fn namespace_matches(namespace: &str, snapshot: &Snapshot, settings: &Settings) -> bool {
    if settings.watch_namespace.as_deref().is_some_and(|only| only != namespace) {
        return false;
    }
    if settings.namespace_selector.is_empty() {
        return true;
    }
    let Some(object) = snapshot.namespaces.get(namespace) else { return false };
    let label = |key: &String| object.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    settings.namespace_selector.iter().all(|term| match term {
        SelectorTerm::In(key, values) => label(key).is_some_and(|value| values.contains(value)),
        SelectorTerm::NotIn(key, values) => label(key).is_none_or(|value| !values.contains(value)),
        SelectorTerm::Exists(key) => label(key).is_some(),
        SelectorTerm::NotExists(key) => label(key).is_none(),
    })
}
