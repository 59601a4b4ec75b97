//! What the answers about one build have in common. Each part is found out when it is asked for first, and costs nothing before.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use model::{Built, ObjectKey, ObjectRef, Problem, Snapshot};

use crate::backend::Uses;
use crate::state::State;

/// What the answers about one build have in common: of one [`Built`] and one [`Snapshot`], and no other. Memory: the number of findings, backends and hosts.
#[derive(Default)]
pub struct Index {
    findings: OnceLock<Findings>,
    uses: OnceLock<Uses>,
    named: OnceLock<Named>,
    annotated: OnceLock<BTreeMap<&'static str, usize>>,
}

/// The present findings, in order, without duplicates. Those about an object follow each other.
pub(crate) struct Findings(Vec<Problem>);

/// The names that have a certificate, by its content address.
pub(crate) type Named = BTreeMap<Arc<str>, Vec<Arc<str>>>;

impl<'a> State<'a> {
    /// The present findings.
    pub(crate) fn findings(&self) -> &'a Findings {
        self.index.findings.get_or_init(|| Findings::of(self.built, self.snapshot))
    }

    /// The users of backends.
    pub(crate) fn uses(&self) -> &'a Uses {
        self.index.uses.get_or_init(|| Uses::of(self.built))
    }

    /// The names that have a certificate.
    pub(crate) fn named(&self) -> &'a Named {
        self.index.named.get_or_init(|| {
            let mut named = Named::new();
            for (host, digest) in &self.built.model.live.servers {
                named.entry(digest.clone()).or_default().push(host.clone());
            }
            named
        })
    }

    /// By key of the ConfigMap how many Ingresses that are served say otherwise.
    pub(crate) fn annotated(&self) -> &'a BTreeMap<&'static str, usize> {
        self.index.annotated.get_or_init(|| crate::setting::annotated(self))
    }

    /// The number of present findings.
    pub fn problems(&self) -> usize {
        self.findings().0.len()
    }
}

impl Findings {
    fn of(built: &Built, snapshot: &Snapshot) -> Self {
        let mut all: Vec<Problem> = snapshot.problems.iter().cloned().chain(built.problems()).collect();
        all.sort();
        all.dedup();
        Self(all)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Problem] {
        &self.0
    }

    /// Those about an object.
    pub(crate) fn about(&self, object: &ObjectRef) -> &[Problem] {
        let from = self.0.partition_point(|problem| problem.object < *object);
        let count = self.0[from..].partition_point(|problem| problem.object == *object);
        &self.0[from..from + count]
    }

    /// Those about an Ingress.
    pub(crate) fn of_ingress(&self, key: &ObjectKey) -> &[Problem] {
        self.about(&ObjectRef::ingress(key))
    }
}

#[cfg(test)]
mod tests {
    use model::ProblemKind;

    use super::*;

    #[test]
    fn findings_are_those_about_an_object_alone_and_once() {
        let problem = |kind: &'static str, name: &str, field: &str| Problem {
            object: ObjectRef::namespaced(kind, &ObjectKey::new("n", name)),
            field: field.to_owned(),
            kind: ProblemKind::InvalidValue,
            detail: String::new(),
        };
        let given = [
            ("Ingress", "b", "x"),
            ("Secret", "b", "x"),
            ("Ingress", "ab", "x"),
            ("Ingress", "b", "a"),
            ("Ingress", "b", "x"),
            ("Ingress", "bc", "x"),
        ];
        let snapshot =
            Snapshot { problems: Arc::new(given.map(|(kind, name, field)| problem(kind, name, field)).into()), ..Snapshot::default() };
        let findings = Findings::of(&Built::default(), &snapshot);
        let fields = |name: &str| -> Vec<&str> {
            findings.of_ingress(&ObjectKey::new("n", name)).iter().map(|problem| problem.field.as_str()).collect()
        };
        assert_eq!((fields("b"), fields("ab"), fields("a"), fields("c")), (vec!["a", "x"], vec!["x"], vec![], vec![]));
        assert_eq!(findings.all().len(), 5);
    }
}
