//! Traces: how they would be written down for the module that NGINX has for them. Here Lua makes them, so they are comments.

use annotations::Config;
use model::Route;
use serde::Serialize;

use crate::print::Printed;

/// What `equivalent/tracing.conf` prints.
#[derive(Serialize)]
pub(super) struct TracingView {
    lines: Vec<Printed>,
}

impl TracingView {
    /// `None` where neither the settings nor the Ingress say anything.
    pub(super) fn new(config: &Config, route: &Route) -> Option<Self> {
        let global = &config.watching;
        let own = route.tracing.as_deref();
        let on = own.map_or(global.enable_opentelemetry, |own| own.enable_opentelemetry);
        if !on {
            return own.map(|_| Self { lines: vec![Printed::fixed("opentelemetry off;")] });
        }
        let trust = own.and_then(|own| own.opentelemetry_trust_incoming_span).unwrap_or(global.opentelemetry_trust_incoming_span);
        let name = own
            .and_then(|own| own.opentelemetry_operation_name.as_deref())
            .or(global.opentelemetry_operation_name.as_ref().map(|name| name.as_str()));
        let mut lines = vec![Printed::fixed("opentelemetry on;"), Printed::fixed("opentelemetry_propagate;")];
        lines.extend(name.map(|name| Printed::comment(&format!("opentelemetry_operation_name {name:?};"))));
        lines.push(Printed::fixed(if trust {
            "opentelemetry_trust_incoming_spans on;"
        } else {
            "opentelemetry_trust_incoming_spans off;"
        }));
        Some(Self { lines })
    }
}
