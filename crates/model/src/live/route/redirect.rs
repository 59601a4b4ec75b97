//! Redirects of a location.

use std::sync::Arc;

use serde::Serialize;

/// What a location says about redirects; [`Redirects::default`] says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Redirects {
    /// Answer every request with this status and URL: `permanent-redirect`, `temporal-redirect`. The URL may be relative.
    #[serde(rename = "to", skip_serializing_if = "Option::is_none")]
    pub answer: Option<(u16, Arc<str>)>,
    /// Redirects to the same host name only the path, where the global setting says otherwise.
    #[serde(rename = "rel", skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
    /// Whether redirects carry the port, where that differs from the global setting.
    #[serde(rename = "port", skip_serializing_if = "Option::is_none")]
    pub with_port: Option<bool>,
}
