//! Traces.

use std::sync::Arc;

use super::Location;
use crate::live::wire::FromSettings;
use crate::live::{Policy, Tracing};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let (spec, config) = (&location.given.spec, location.config);
    let Some(enable_opentelemetry) = spec.observability.enable_opentelemetry else { return };
    let record = Tracing { enable_opentelemetry, ..Tracing::of(spec, config) };
    let inherited = Tracing { enable_opentelemetry: config.observability.enable_opentelemetry, ..Tracing::default() };
    policy.tracing = (record != inherited).then(|| Arc::new(record));
}
