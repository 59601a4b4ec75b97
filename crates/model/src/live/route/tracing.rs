//! Traces.

use std::sync::Arc;

use serde::Serialize;

/// Where the traces of a route are not what the settings say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tracing {
    /// Whether its requests are traced.
    pub on: bool,
    /// Name of the span; `None`: as the settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// Whether a trace that the client began goes on; `None`: as the settings say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<bool>,
}
