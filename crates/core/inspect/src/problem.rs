//! Findings about the cluster's state.

use std::borrow::Cow;

use model::{ObjectKey, Problem as Found};
use serde::{Deserialize, Serialize};

use crate::kind::facts;
use crate::list::{List, Query};
use crate::state::State;

/// A present finding about one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// What sort of finding, as Events and `narthex_problems` name it: `InvalidValue`.
    pub kind: String,
    /// Whether something is not served as it should be.
    pub severity: Severity,
    /// The object at fault: `Ingress shop/web`.
    pub object: String,
    /// Its namespace; absent for what has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Where in it; empty for the whole object.
    #[serde(default)]
    pub field: String,
    /// What stands there. Absent: it is neither an annotation nor a key of the ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What may stand there. Absent likewise, and where the name is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// One sentence: the value, what was expected, and what happens instead.
    pub detail: String,
    /// What to do.
    pub fix: String,
    /// When it was found first. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<f64>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Requests fail, or what an object asks for is not served.
    Error,
    /// All is served, not all of it as its object asks, or it is surprising.
    Warning,
}

/// The longest value that is quoted, in characters.
const LONGEST: usize = 500;

/// The present findings, the worst first.
pub fn problems(state: &State<'_>, query: &Query, kind: Option<&str>) -> List<Problem> {
    let matches = |found: &&Found| {
        let object = found.object.to_string();
        kind.is_none_or(|kind| found.kind.label() == kind)
            && query.severity.is_none_or(|wanted| facts(found.kind).severity == wanted)
            && query.has_namespace(found.object.namespace.iter())
            && query.has_name(&[&object, &found.field, &found.detail])
    };
    let mut matching: Vec<&Found> = state.findings().all().iter().filter(matches).collect();
    matching.sort_by_key(|found| facts(found.kind).severity);
    query.page(matching, |found| Problem::new(state, found))
}

impl Problem {
    /// A finding with what the objects and the tables say of it.
    pub(crate) fn new(state: &State<'_>, found: &Found) -> Self {
        let (named, facts) = (named(state, found), facts(found.kind));
        Self {
            kind: found.kind.label().to_owned(),
            severity: facts.severity,
            object: found.object.to_string(),
            namespace: found.object.namespace.as_deref().map(str::to_owned),
            name: found.object.name.to_string(),
            field: found.field.clone(),
            value: named.as_ref().and_then(|named| named.value.as_deref()).map(shortened),
            expected: named.and_then(|named| named.expected).map(|text| text.replace('`', "")),
            detail: found.detail.clone(),
            fix: facts.fix.to_owned(),
            since: (state.since)(found),
        }
    }
}

/// An annotation or a key of the ConfigMap that a finding is about.
struct Named<'a> {
    value: Option<Cow<'a, str>>,
    expected: Option<&'static str>,
}

fn named<'a>(state: &State<'a>, found: &Found) -> Option<Named<'a>> {
    let inner = |head: &str| found.field.strip_prefix(head)?.strip_suffix("\"]");
    let key = ObjectKey { namespace: found.object.namespace.clone()?, name: found.object.name.clone() };
    if found.object.kind == "Ingress"
        && let Some(name) = inner("metadata.annotations[\"")
    {
        let value =
            state.snapshot.ingresses.get(&key).and_then(|ingress| ingress.annotations.get(name)).map(|value| Cow::Borrowed(value.as_str()));
        let bare = name.strip_prefix(state.prefix)?.strip_prefix('/')?;
        return Some(Named { value, expected: settings::annotation(bare).map(|(entry, _)| entry.value) });
    }
    let name = inner("data[\"").filter(|_| found.object.kind == "ConfigMap" && state.configmap == Some(&key))?;
    let map = state.snapshot.config_maps.get(&key);
    let value = map.and_then(|map| map.data.as_ref()?.get(name)).map(|value| Cow::Owned(settings::shown(name, value)));
    let entry = settings::CONFIG_KEYS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
    Some(Named { value, expected: entry.map(|entry| entry.value) })
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &value[..at]),
        None => value.to_owned(),
    }
}
