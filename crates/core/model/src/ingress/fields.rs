//! The names of the fields of an Ingress.

use crate::rule::{Field, Position};

/// The path of a field.
pub(crate) fn name(field: Field<'_>) -> String {
    match field {
        Field::Whole => String::new(),
        Field::Host(None) | Field::Backend(None) => "spec.defaultBackend".to_owned(),
        Field::Host(Some(rule)) => format!("spec.rules[{rule}].host"),
        Field::Path(at) => format!("{}.path", path(at)),
        Field::Backend(Some(at)) => format!("{}.backend", path(at)),
        Field::Service(None) => "spec.defaultBackend.service.name".to_owned(),
        Field::Service(Some(at)) => format!("{}.backend.service.name", path(at)),
        Field::Secret(tls) => format!("spec.tls[{tls}].secretName"),
        Field::Setting(prefix, name) => format!("metadata.annotations[{:?}]", format!("{prefix}/{name}")),
    }
}

/// A path of a rule.
pub(super) fn path(at: Position) -> String {
    format!("spec.rules[{}].http.paths[{}]", at.rule, at.item)
}
