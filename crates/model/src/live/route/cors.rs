//! CORS of a location.

use std::sync::Arc;

use serde::Serialize;

use super::Header;

/// Whose pages may read the answers, and what they are told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cors {
    /// Origins in lower case, `https://example.com` or `https://*.example.com`, in order. `None`: everybody's. Empty: nobody's.
    #[serde(rename = "o", skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<Arc<str>>>,
    /// Headers of an answer besides `Access-Control-Allow-Origin`.
    #[serde(rename = "h")]
    pub headers: Vec<Header>,
}
