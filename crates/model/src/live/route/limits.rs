//! Limits of requests and connections.

use std::sync::Arc;

use serde::Serialize;

/// What a client may do at the locations of one Ingress, counted by client address over all of them. At least one limit is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Concurrent requests, from 1.
    #[serde(rename = "conn", skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Requests in a second, from 1, and how many more may come at once.
    #[serde(rename = "rps", skip_serializing_if = "Option::is_none")]
    pub per_second: Option<[u32; 2]>,
    /// Requests in a minute, from 1, and how many more may come at once.
    #[serde(rename = "rpm", skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<[u32; 2]>,
    /// Clients that are not counted: addresses and ranges.
    #[serde(rename = "allow", skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Arc<str>>,
}
