//! The step for one object, given its present state.

use std::fmt;

use serde_json::{Value, json};

use super::record::{Entry, Field};

/// An object as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// Value of the field that moves.
    pub value: Option<Value>,
    /// `true` if it has annotations at all.
    pub annotated: bool,
}

/// The direction of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the new value.
    Forth,
    /// To the old value. `force`: whatever is there meanwhile.
    Back {
        /// Overwrite what another client wrote.
        force: bool,
    },
}

/// The step to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Apply this JSON patch: it tests what it replaces, and touches nothing but the field.
    Patch(Value),
    /// Nothing: it has the value already.
    There,
    /// Nothing: it is not what it was.
    Leave(Conflict),
}

/// The reason why an object is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// The object is deleted.
    Gone,
    /// The object is deleted, and another one has its name.
    Replaced,
    /// The field has a value that is neither.
    Changed {
        /// The value; absent when the field is.
        found: Option<Value>,
    },
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("it was deleted meanwhile"),
            Self::Replaced => f.write_str("it was deleted meanwhile, and another one of its name was made"),
            Self::Changed { found: Some(value) } => write!(f, "it was set to {} meanwhile, not by this switch", plain(value)),
            Self::Changed { found: None } => f.write_str("the field was removed meanwhile, not by this switch"),
        }
    }
}

/// A value for people; annotations may hold anything.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => crate::report::printable(text),
        Value::Object(map) => map.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Decides.
pub fn decide(entry: &Entry, found: Option<&Found>, way: Way) -> Step {
    let Some(found) = found else { return Step::Leave(Conflict::Gone) };
    let (from, to) = match way {
        Way::Forth => (&entry.old, &entry.new),
        Way::Back { .. } => (&entry.new, &entry.old),
    };
    if found.uid != entry.uid {
        return Step::Leave(Conflict::Replaced);
    }
    let identity = json!({"op": "test", "path": "/metadata/uid", "value": entry.uid});
    let path = entry.field.pointer();
    match &found.value {
        Some(value) if value == to => Step::There,
        Some(value) if value == from => {
            let test = json!({"op": "test", "path": path, "value": from});
            Step::Patch(json!([identity, test, {"op": "replace", "path": path, "value": to}]))
        }
        value if way == (Way::Back { force: true }) => {
            // Exactly the version that was looked at: force is about this value, not about one that comes in between.
            let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": found.version});
            let write = match entry.field {
                Field::ClassAnnotation if !found.annotated => {
                    json!({"op": "add", "path": "/metadata/annotations", "value": {crate::site::CLASS_ANNOTATION: to}})
                }
                _ if value.is_none() => json!({"op": "add", "path": path, "value": to}),
                _ => json!({"op": "replace", "path": path, "value": to}),
            };
            Step::Patch(json!([identity, test, write]))
        }
        value => Step::Leave(Conflict::Changed { found: value.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::record::tests::entry;

    fn found(uid: &str, value: Option<&str>) -> Found {
        Found { uid: uid.into(), version: "7".into(), value: value.map(|value| json!(value)), annotated: false }
    }

    #[test]
    fn a_patch_tests_what_it_replaces_and_touches_one_field() {
        let step = decide(&entry(1, "a"), Some(&found("uid-a", Some("nginx"))), Way::Forth);
        let path = "/spec/ingressClassName";
        let patch = json!([
            {"op": "test", "path": "/metadata/uid", "value": "uid-a"},
            {"op": "test", "path": path, "value": "nginx"},
            {"op": "replace", "path": path, "value": "narthex"},
        ]);
        assert_eq!(step, Step::Patch(patch));
        assert_eq!(decide(&entry(1, "a"), Some(&found("uid-a", Some("narthex"))), Way::Forth), Step::There);
    }

    #[test]
    fn what_another_client_changed_is_left_alone_unless_forced() {
        let back = Way::Back { force: false };
        let entry = entry(1, "a");
        let left = |found: Option<Found>| match decide(&entry, found.as_ref(), back) {
            Step::Leave(conflict) => conflict.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(left(None), "it was deleted meanwhile");
        assert_eq!(left(Some(found("other", Some("narthex")))), "it was deleted meanwhile, and another one of its name was made");
        assert_eq!(left(Some(found("uid-a", Some("third")))), "it was set to third meanwhile, not by this switch");
        assert_eq!(left(Some(found("uid-a", None))), "the field was removed meanwhile, not by this switch");

        let forced = decide(&entry, Some(&found("uid-a", Some("third"))), Way::Back { force: true });
        let Step::Patch(patch) = forced else { panic!("{forced:?}") };
        assert_eq!(patch[1], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}));
        assert_eq!(patch[2]["value"], json!("nginx"));
        let gone = decide(&entry, None, Way::Back { force: true });
        assert_eq!(gone, Step::Leave(Conflict::Gone));
    }

    #[test]
    fn an_annotation_that_is_gone_can_be_forced_back() {
        let entry = Entry { field: Field::ClassAnnotation, ..entry(1, "a") };
        let Step::Patch(patch) = decide(&entry, Some(&found("uid-a", None)), Way::Back { force: true }) else { panic!("no patch") };
        assert_eq!(patch[2], json!({"op": "add", "path": "/metadata/annotations", "value": {"kubernetes.io/ingress.class": "nginx"}}));
    }
}
