//! Ingresses with a backend that can answer no request.

use std::collections::{BTreeMap, BTreeSet};

use super::built::{Built, Subject};
use crate::key::{BackendId, ObjectKey};
use crate::problem::ProblemKind;

/// What a backend lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// Its Service, or the port of that.
    Service,
    /// Endpoints that are ready.
    Endpoint,
}

impl Built {
    /// The Ingresses with such a backend, and what it lacks. Cost: the number of rules, nothing where every backend has endpoints.
    pub fn orphans(&self) -> BTreeSet<(ObjectKey, Lack)> {
        let lacks: BTreeMap<&BackendId, Lack> = self
            .problems
            .iter()
            .filter_map(|(subject, problems)| {
                let Subject::Backend(id) = subject else { return None };
                Some((id, problems.iter().find_map(|problem| lack(problem.kind))?))
            })
            .collect();
        if lacks.is_empty() {
            return BTreeSet::new();
        }
        let mut orphans = BTreeSet::new();
        for (key, rules) in &self.rules {
            orphans.extend(rules.backends().iter().filter_map(|id| lacks.get(id)).map(|lack| (key.clone(), *lack)));
        }
        orphans
    }
}

const fn lack(kind: ProblemKind) -> Option<Lack> {
    match kind {
        ProblemKind::ServiceMissing | ProblemKind::PortMissing => Some(Lack::Service),
        ProblemKind::NoEndpoints => Some(Lack::Endpoint),
        _ => None,
    }
}
