//! What rules come from: an object, and a place in it.

use std::cmp::Ordering;

use crate::ingress::fields;
use crate::key::{ObjectKey, ObjectRef};
use crate::problem::{Problem, ProblemKind};

/// The kinds of objects that rules are made of, one for each frontend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Ingress,
}

/// The object that rules come from. Ordered by precedence: older first; within a second the lexicographically greater `namespace/name` first, as users
/// of the predecessor know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    created_seconds: i64,
    kind: Kind,
    key: ObjectKey,
}

/// A place in an object: a rule, and an item of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) rule: u32,
    pub(crate) item: u32,
}

/// A field of an object, as the passes know it. The frontend has its name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    /// The object as a whole.
    Whole,
    /// A host; none: the place for requests of all hosts.
    Host(Option<u32>),
    /// The path of a rule.
    Path(Position),
    /// A backend; none: that of the fallback.
    Backend(Option<Position>),
    /// The Service of a backend.
    Service(Option<Position>),
    /// The Secret of a certificate.
    Secret(u32),
    /// A setting, with the prefix of annotations.
    Setting(&'a str, &'a str),
}

impl Ord for Origin {
    fn cmp(&self, other: &Self) -> Ordering {
        fn text(key: &ObjectKey) -> impl Iterator<Item = u8> {
            key.namespace.bytes().chain([b'/']).chain(key.name.bytes())
        }
        let names = || match self.key.namespace == other.key.namespace {
            true => other.key.name.cmp(&self.key.name),
            false => text(&other.key).cmp(text(&self.key)),
        };
        self.created_seconds.cmp(&other.created_seconds).then_with(names).then_with(|| self.kind.cmp(&other.kind))
    }
}

impl PartialOrd for Origin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Origin {
    /// An object with its age.
    pub(crate) const fn new(kind: Kind, created_seconds: i64, key: ObjectKey) -> Self {
        Self { created_seconds, kind, key }
    }

    /// Namespace and name of the object.
    pub(crate) const fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The object, as findings name it.
    pub(crate) fn object(&self) -> ObjectRef {
        match self.kind {
            Kind::Ingress => ObjectRef::ingress(&self.key),
        }
    }

    /// A finding about the object.
    pub(crate) fn problem(&self, field: Field<'_>, kind: ProblemKind, detail: String) -> Problem {
        let field = match self.kind {
            Kind::Ingress => fields::name(field),
        };
        Problem { object: self.object(), field, kind, detail }
    }

    /// The object in words, for one that comes after it.
    pub(crate) fn before(&self, later: &Self) -> String {
        let object = self.object();
        match self.created_seconds.cmp(&later.created_seconds) {
            Ordering::Equal if self.created_seconds == 0 => format!("{object} (without ages, the greater name comes first)"),
            Ordering::Equal => format!("{object} (of the same age, the greater name comes first)"),
            _ => format!("the older {object}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_ones_come_first_and_within_a_second_the_greater_name() {
        let origin = |created_seconds, namespace, name| Origin::new(Kind::Ingress, created_seconds, ObjectKey::new(namespace, name));
        let sorted = [
            origin(1, "a", "a"),
            origin(2, "b", "a"),
            origin(2, "a", "b"),
            origin(2, "a", "a"),
            origin(2, "a-b", "a"),
            origin(3, "a", "z"),
        ];
        let mut origins = sorted.to_vec();
        origins.reverse();
        origins.sort();
        assert_eq!(origins, sorted, "as texts: `a/a` is greater than `a-b/a`");
    }
}
