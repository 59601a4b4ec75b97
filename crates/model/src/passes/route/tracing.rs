//! Traces.

use std::sync::Arc;

use super::{Location, differing};
use crate::live::{Policy, Tracing};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let own = &location.entry.spec.observability;
    let global = &location.config.watching;
    let Some(on) = own.tracing else { return };
    let record = Tracing {
        enable_opentelemetry: on,
        opentelemetry_operation_name: own.operation_name.as_ref().map(|name| name.to_string().into()),
        opentelemetry_trust_incoming_span: differing(own.trust_incoming_span, global.opentelemetry_trust_incoming_span),
    };
    let inherited = Tracing { enable_opentelemetry: global.enable_opentelemetry, ..Tracing::default() };
    policy.tracing = (record != inherited).then(|| Arc::new(record));
}
