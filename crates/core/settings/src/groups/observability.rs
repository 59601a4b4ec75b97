//! Logs and traces.

mod defaults;

use ngx_value::{SpanName, parse_bool};

use super::common::{self, BOOL, LOCATION, set, trimmed};
use crate::rare::Rare;
use crate::table::*;

pub use defaults::{LogPreset, ObservabilityDefaults, Ratio, Sampler};
pub(crate) use defaults::{unsendable_logs, withdraw_unknown};

pub(super) static GROUP: Group = Group {
    title: "Logs and traces",
    entries: ENTRIES,
    keys: defaults::KEYS,
    clear: |spec| spec.observability = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observability {
    /// `enable-access-log`.
    pub enable_access_log: Option<bool>,
    /// `enable-rewrite-log`: what rewriting does is logged at the level notice.
    pub enable_rewrite_log: bool,
    /// `enable-opentelemetry`: requests are traced, or not although they are elsewhere.
    pub enable_opentelemetry: Option<bool>,
    /// `opentelemetry-trust-incoming-span`: traces go on from the client's. Only with `tracing`.
    pub opentelemetry_trust_incoming_span: Option<bool>,
    /// `opentelemetry-operation-name`: the span's name. Only with `tracing`.
    pub opentelemetry_operation_name: Option<SpanName>,
}

const NEEDS: Option<Needs> =
    Some(Needs { what: "enable-opentelemetry: true", met: |spec| spec.observability.enable_opentelemetry == Some(true) });
const COMPANIONS: &[(&str, &str)] = &[("enable-opentelemetry", "true")];

static ENTRIES: &[Entry] = &[
    Entry {
        name: "enable-access-log",
        value: BOOL,
        doc: "Whether requests are logged. `true` has no effect where the log is switched off for all.",
        example: "false",
        parse: |text, draft| set(&mut draft.spec.observability.enable_access_log, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "enable-opentelemetry",
        config_key: Some("enable-opentelemetry"),
        value: BOOL,
        doc: "Whether requests are traced.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.observability.enable_opentelemetry, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "enable-rewrite-log",
        applies: Applies::Route,
        value: BOOL,
        doc: "Log what rewriting does, at the level notice.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.observability.enable_rewrite_log, parse_bool(text)),
        ..LOCATION
    },
    Entry {
        name: "opentelemetry-operation-name",
        risk: Risk::Medium,
        config_key: Some("opentelemetry-operation-name"),
        value: "letters, digits, `-`, `_` and spaces",
        doc: "Name of the span.",
        example: "checkout",
        companions: COMPANIONS,
        on_invalid: OnInvalid::Refuse,
        needs: NEEDS,
        parse: |text, draft| set(&mut draft.spec.observability.opentelemetry_operation_name, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "opentelemetry-trust-incoming-span",
        config_key: Some("opentelemetry-trust-incoming-span"),
        value: BOOL,
        doc: "Whether a trace that the client began goes on here.",
        example: "false",
        companions: COMPANIONS,
        needs: NEEDS,
        parse: |text, draft| set(&mut draft.spec.observability.opentelemetry_trust_incoming_span, parse_bool(text).map(Some)),
        ..LOCATION
    },
];

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Refused};

    const ON: (&str, &str) = ("enable-opentelemetry", "true");

    #[test]
    fn a_span_has_a_plain_name() {
        let spec = good(&[ON, ("opentelemetry-operation-name", " my-op_1 "), ("opentelemetry-trust-incoming-span", "false")]);
        assert_eq!(spec.observability.opentelemetry_operation_name.clone().unwrap().as_str(), "my-op_1");
        assert_eq!(spec.observability.opentelemetry_trust_incoming_span, Some(false));
        for value in ["$uri", "a\"b", "a\nb", "a/b"] {
            bad(&[ON, ("opentelemetry-operation-name", value)], Refused, &[("opentelemetry-operation-name", Invalid, "expected ")]);
        }
    }

    #[test]
    fn details_are_read_only_where_tracing_is_on() {
        for pairs in
            [vec![("opentelemetry-operation-name", "$")], vec![("enable-opentelemetry", "false"), ("opentelemetry-operation-name", "a")]]
        {
            let expected = [("opentelemetry-operation-name", Surprise, "it has no effect without enable-opentelemetry: true")];
            assert_eq!(bad(&pairs, Accepted, &expected).observability.opentelemetry_operation_name, None);
        }
    }

    #[test]
    fn a_boolean_that_is_none_is_ignored() {
        for name in ["enable-access-log", "enable-opentelemetry", "enable-rewrite-log"] {
            let spec = bad(&[(name, "on")], Accepted, &[(name, Invalid, "expected true or false")]);
            assert_eq!(spec.observability, Observability::default());
        }
    }
}
