//! Which Ingresses are ours: namespace, class, catch-all.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::IngressClass;

use crate::object::Ingress;
use crate::options::{BuildOptions, SelectorTerm};
use crate::snapshot::Snapshot;

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const DEFAULT_ANNOTATION: &str = "ingressclass.kubernetes.io/is-default-class";

/// The IngressClasses, as far as they decide.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Classes {
    ours: BTreeSet<Arc<str>>,
    /// Of a directory: what an API server would know and say when an Ingress is created.
    directory: Option<Directory>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Directory {
    all: BTreeSet<Arc<str>>,
    /// Those for Ingresses that name none.
    defaults: BTreeSet<Arc<str>>,
}

impl Classes {
    /// `None` when they can't be read (then `ingressClassName` means nothing).
    pub(crate) fn of(snapshot: &Snapshot, options: &BuildOptions) -> Option<Self> {
        let classes = snapshot.ingress_classes.as_ref()?;
        if classes.is_empty() && options.implied_class {
            let only = BTreeSet::from([options.ingress_class.as_str().into()]);
            return Some(Self { ours: only.clone(), directory: Some(Directory { all: only, defaults: BTreeSet::new() }) });
        }
        let is_ours = |name: &Arc<str>, class: &IngressClass| {
            let controller = class.spec.as_ref().and_then(|spec| spec.controller.as_deref());
            controller == Some(options.controller_class.as_str()) || (options.ingress_class_by_name && **name == *options.ingress_class)
        };
        let is_default = |class: &IngressClass| {
            class.metadata.annotations.as_ref().and_then(|all| all.get(DEFAULT_ANNOTATION)).is_some_and(|value| value == "true")
        };
        let named = |wanted: &dyn Fn(&Arc<str>, &IngressClass) -> bool| {
            classes.iter().filter(|(name, class)| wanted(name, class)).map(|(name, _)| name.clone()).collect()
        };
        let directory = options
            .implied_class
            .then(|| Directory { all: classes.keys().cloned().collect(), defaults: named(&|_, class| is_default(class)) });
        Some(Self { ours: named(&is_ours), directory })
    }

    /// What no controller serves, as far as a directory tells: the field, and what is wrong with it.
    pub(crate) fn unclaimed(&self, ingress: &Ingress, options: &BuildOptions) -> Option<(String, String)> {
        let directory = self.directory.as_ref()?;
        let annotation = || format!("metadata.annotations[{CLASS_ANNOTATION:?}]");
        let (field, name) = match (ingress.class.as_deref(), ingress.annotations.get(CLASS_ANNOTATION)) {
            (Some(name), _) => ("spec.ingressClassName".to_owned(), name),
            (None, Some(name)) if self.ours.contains(&**name) => {
                let detail =
                    format!("this annotation means --ingress-class, which is {:?}; the Ingress is not served", options.ingress_class);
                return Some((annotation(), format!("{name:?}: {detail}")));
            }
            (None, Some(name)) => (annotation(), name.as_str()),
            (None, None) if directory.defaults.is_empty() => {
                let detail = "no class is named, and no IngressClass is the default; the Ingress is not served";
                return Some(("spec.ingressClassName".to_owned(), detail.to_owned()));
            }
            (None, None) => return None,
        };
        let hint = settings::did_you_mean(name, directory.all.iter().map(|known| &**known));
        (!directory.all.contains(name))
            .then(|| (field, format!("{name:?}: there is no such IngressClass{hint}; the Ingress is not served")))
    }
}

/// Whether an Ingress is ours by its class: first `ingressClassName`, then the annotation, then neither.
pub(crate) fn class_matches(ingress: &Ingress, classes: Option<&Classes>, options: &BuildOptions) -> bool {
    if let (Some(classes), Some(name)) = (classes, ingress.class.as_deref()) {
        return classes.ours.contains(name);
    }
    let is_default = || {
        let directory = classes.and_then(|classes| Some((classes, classes.directory.as_ref()?)));
        directory.is_some_and(|(classes, directory)| directory.defaults.iter().any(|name| classes.ours.contains(name)))
    };
    match ingress.annotations.get(CLASS_ANNOTATION) {
        Some(value) => *value == options.ingress_class,
        None => options.watch_ingress_without_class || is_default(),
    }
}

/// Whether a namespace is watched.
pub(crate) fn namespace_matches(namespace: &str, snapshot: &Snapshot, options: &BuildOptions) -> bool {
    if options.watch_namespace.as_deref().is_some_and(|only| only != namespace) {
        return false;
    }
    if options.namespace_selector.is_empty() {
        return true;
    }
    let Some(object) = snapshot.namespaces.get(namespace) else { return false };
    let label = |key: &String| object.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    options.namespace_selector.iter().all(|term| match term {
        SelectorTerm::In(key, values) => label(key).is_some_and(|value| values.contains(value)),
        SelectorTerm::NotIn(key, values) => label(key).is_none_or(|value| !values.contains(value)),
        SelectorTerm::Exists(key) => label(key).is_some(),
        SelectorTerm::NotExists(key) => label(key).is_none(),
    })
}
