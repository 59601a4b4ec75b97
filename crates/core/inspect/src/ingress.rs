//! Ingresses.

use std::sync::Arc;

use model::{ObjectKey, Problem, ProblemKind};
use serde::{Deserialize, Serialize};

use crate::list::{List, Query};
use crate::state::State;

/// An Ingress of the watched namespaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ingress {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its class, by the field or the annotation; absent if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// When it was created; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<f64>,
    /// Hosts of its rules in their order, without duplicates; `_`: a rule without a host.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Number of its paths.
    #[serde(default)]
    pub paths: usize,
    /// Names of the Secrets in `spec.tls`.
    #[serde(default)]
    pub tls: Vec<String>,
    /// What of it is served.
    pub state: IngressState,
    /// Why that is not what it asks for; absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of findings about it.
    #[serde(default)]
    pub problems: usize,
}

/// What of an Ingress is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IngressState {
    /// The present version.
    Served,
    /// An earlier version, as the present one is refused or has no room.
    LastAccepted,
    /// The version that NGINX accepted last, as it refuses what the present one asks for.
    Quarantined,
    /// Nothing: it is not valid.
    Refused,
    /// Nothing, or the version of before: its namespace has more than its share of what is finite.
    WithoutRoom,
    /// Nothing: another controller serves it, or none.
    NotOurs,
}

/// The annotation of before `spec.ingressClassName`.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// The Ingresses, ours and others, in order of their names. Cost: their number.
pub fn ingresses(state: &State<'_>, query: &Query) -> List<Ingress> {
    let findings = state.findings();
    let matches = |(key, ingress): &(&ObjectKey, &Arc<model::Ingress>)| {
        let name = key.to_string();
        let names = || [&*name].into_iter().chain(ingress.rules.iter().map(|rule| &*rule.host)).collect::<Vec<_>>();
        query.has_namespace([&key.namespace].into_iter())
            && query.has_name(&names())
            && query.state.is_none_or(|wanted| judged(state, key, ingress, findings.of_ingress(key)).0 == wanted)
    };
    let matching: Vec<_> = state.snapshot.ingresses.iter().filter(matches).collect();
    query.page(matching, |(key, ingress)| Ingress::new(state, key, ingress))
}

impl Ingress {
    fn new(state: &State<'_>, key: &ObjectKey, ingress: &model::Ingress) -> Self {
        let problems = state.findings().of_ingress(key);
        let (served, reason) = judged(state, key, ingress, problems);
        let mut hosts: Vec<String> = Vec::new();
        for rule in &ingress.rules {
            let host = if rule.host.is_empty() { "_" } else { &*rule.host };
            if !hosts.iter().any(|known| known == host) {
                hosts.push(host.to_owned());
            }
        }
        let mut tls: Vec<String> = ingress.tls.iter().filter_map(|tls| Some(tls.secret.as_ref()?.to_string())).collect();
        tls.sort();
        tls.dedup();
        Self {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            class: ingress.class.as_deref().or(ingress.annotations.get(CLASS_ANNOTATION).map(String::as_str)).map(str::to_owned),
            created: created(ingress),
            hosts,
            paths: ingress.rules.iter().map(|rule| rule.paths.len()).sum(),
            tls,
            state: served,
            reason,
            problems: problems.len(),
        }
    }
}

/// When an Ingress was created.
pub(crate) fn created(ingress: &model::Ingress) -> Option<f64> {
    Some(ingress.created_seconds).filter(|seconds| *seconds != 0).map(|seconds| seconds as f64)
}

/// What of an Ingress is served, and why not what it asks for.
fn judged(state: &State<'_>, key: &ObjectKey, ingress: &model::Ingress, problems: &[Problem]) -> (IngressState, Option<String>) {
    let of = |kind: ProblemKind| problems.iter().find(|problem| problem.kind == kind).map(|problem| problem.detail.clone());
    if let Some(reason) = state.built.quarantined.get(key) {
        return (IngressState::Quarantined, Some(reason.to_string()));
    }
    let is_served = state.built.has_ingress(key);
    // A host may have no room for its paths although its namespace has.
    if let Some(reason) = of(ProblemKind::NoRoom) {
        return (IngressState::WithoutRoom, Some(reason));
    }
    match of(ProblemKind::Refused) {
        Some(reason) if is_served => (IngressState::LastAccepted, Some(reason)),
        Some(reason) => (IngressState::Refused, Some(reason)),
        None if is_served => (IngressState::Served, None),
        None => (IngressState::NotOurs, Some(of(ProblemKind::Unclaimed).unwrap_or_else(|| elsewhere(state, ingress)))),
    }
}

/// Why an Ingress is not one of this controller.
fn elsewhere(state: &State<'_>, ingress: &model::Ingress) -> String {
    let found = ingress.class.as_deref().map(|name| (name, state.snapshot.ingress_classes.as_ref().map(|classes| classes.get(name))));
    match (found, ingress.annotations.get(CLASS_ANNOTATION)) {
        (Some((name, Some(None))), _) => format!("the class {name:?} does not exist"),
        (Some((name, Some(Some(class)))), _) => {
            let controller = class.spec.as_ref().and_then(|spec| spec.controller.as_deref()).unwrap_or_default();
            format!("the class {name:?} is of the controller {controller:?}, or the namespace is not watched")
        }
        (Some((name, None)), _) => format!("the class {name:?} is not known to be one of this controller, or the namespace is not watched"),
        (None, Some(name)) => format!("{name:?} of the annotation {CLASS_ANNOTATION} is no class of this controller"),
        (None, None) => "it names no class, and none was the default when it was created".to_owned(),
    }
}
