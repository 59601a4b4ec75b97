//! Traces.

use std::sync::Arc;

use super::{Location, differing};
use crate::live::{Route, Tracing};

pub(super) fn apply(location: &Location<'_>, route: &mut Route) {
    let own = &location.entry.spec.observability;
    let global = &location.config.watching;
    let Some(on) = own.tracing else { return };
    let record = Tracing {
        on,
        name: own.operation_name.as_ref().map(|name| name.to_string().into()),
        trust: differing(own.trust_incoming_span, global.opentelemetry_trust_incoming_span),
    };
    let inherited = Tracing { on: global.enable_opentelemetry, ..Tracing::default() };
    route.tracing = (record != inherited).then(|| Arc::new(record));
}
