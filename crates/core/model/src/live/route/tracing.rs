//! Traces.

use std::sync::Arc;

use super::super::wire::record;

record! {
    /// Traces of a route that are not what the settings say.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Tracing {
        /// Its requests are traced.
        pub enable_opentelemetry: bool,
        /// Name of the span. Absent: as the settings say.
        pub opentelemetry_operation_name: Option<Arc<str>> = (observability),
        /// A trace that the client began goes on. Absent: as the settings say.
        pub opentelemetry_trust_incoming_span: Option<bool> = (observability over observability),
    }
}
