//! What Lua needs of proxying besides timeouts.

use std::sync::Arc;

use serde::Serialize;

/// Plain text that takes the place of other text in headers of the answer: what is replaced, and by what. At least one is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Replacements {
    /// `proxy-cookie-domain`.
    #[serde(rename = "dom", skip_serializing_if = "Option::is_none")]
    pub cookie_domain: Option<[String; 2]>,
    /// `proxy-cookie-path`.
    #[serde(rename = "path", skip_serializing_if = "Option::is_none")]
    pub cookie_path: Option<[String; 2]>,
    /// `proxy-redirect-from` and `proxy-redirect-to`.
    #[serde(rename = "loc", skip_serializing_if = "Option::is_none")]
    pub location: Option<[String; 2]>,
}

/// Where a copy of each request goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mirror {
    /// URL with a path; `$name` and `${name}` are variables.
    #[serde(rename = "url")]
    pub target: Arc<str>,
    /// The Host header; may have variables.
    pub host: Arc<str>,
    /// Tells the copies of one Ingress from others' where they are written as text: its uid, or without one its namespace and name.
    pub id: Arc<str>,
}
