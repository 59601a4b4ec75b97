//! Headers that the ConfigMap names for all requests and answers.

use ngx_value::{HeaderName, HeaderTemplate};

/// Headers with variables, each list in order of the names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GlobalHeaders {
    /// `add-headers`: of every answer; they replace the backend's.
    pub answer: Vec<(HeaderName, HeaderTemplate)>,
    /// `proxy-set-headers`: of every request to a backend, behind those that are always sent. An empty one is not sent.
    pub request: Vec<(HeaderName, HeaderTemplate)>,
}
