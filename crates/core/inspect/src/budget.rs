//! What is finite, and who has how much of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ProblemKind, Resource, Weight};
use serde::{Deserialize, Serialize};

use crate::list::{List, Query};
use crate::state::State;

/// Namespaces of a resource that are given.
const NAMED: usize = 50;

/// A finite resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Its name, as the label `resource` of `narthex_budget`.
    pub resource: String,
    /// What all objects ask for: bytes, or a number.
    pub used: u64,
    /// What there is.
    pub capacity: u64,
    /// The namespaces that ask for most, 50 of them.
    #[serde(default)]
    pub namespaces: Vec<NamespaceShare>,
}

/// The part of a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamespaceShare {
    /// The namespace.
    pub namespace: String,
    /// What its objects ask for.
    pub used: u64,
    /// The part of the capacity, 0 to 1.
    pub share: f64,
    /// Objects of it of which something is held back.
    #[serde(default)]
    pub refused: usize,
}

/// What is finite, in the order of the reference. `namespaces`: what the objects of each ask for.
pub fn budgets(state: &State<'_>, namespaces: &BTreeMap<&Arc<str>, Weight>, query: &Query) -> List<Budget> {
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for problem in state.findings().all().iter().filter(|problem| problem.kind == ProblemKind::NoRoom) {
        *refused.entry(problem.object.namespace.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let usage = &state.built.usage;
    let budget = |resource: Resource| {
        let capacity = usage.capacity.of(resource);
        let asked = namespaces.iter().map(|(name, weight)| (&***name, weight.of(resource)));
        let mut asked: Vec<(&str, u64)> = asked.filter(|(name, amount)| *amount > 0 && query.has_namespace([*name].into_iter())).collect();
        asked.sort_by_key(|(name, amount)| (std::cmp::Reverse(*amount), *name));
        let share = |(name, amount): (&str, u64)| NamespaceShare {
            namespace: name.to_owned(),
            used: amount,
            share: amount as f64 / capacity.max(1) as f64,
            refused: refused.get(name).copied().unwrap_or_default(),
        };
        Budget {
            resource: resource.label().to_owned(),
            used: usage.asked.of(resource),
            capacity,
            namespaces: asked.into_iter().take(NAMED).map(share).collect(),
        }
    };
    let matching = Resource::ALL.iter().copied().filter(|resource| query.has_name(&[resource.label()]));
    query.page(matching.collect(), budget)
}
