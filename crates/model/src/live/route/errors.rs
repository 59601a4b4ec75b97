//! Errors that another backend answers.

use std::sync::Arc;

use serde::Serialize;

/// Which errors of a route are taken over, and by whom. At least one of the fields is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// Statuses in order, instead of the global list; never empty.
    #[serde(rename = "codes", skip_serializing_if = "Option::is_none")]
    pub statuses: Option<Vec<u16>>,
    /// Wire key of the backend that answers them, and requests while the route's own has no endpoint; `None`: the default backend, and only errors.
    #[serde(rename = "be", skip_serializing_if = "Option::is_none")]
    pub backend: Option<Arc<str>>,
}
