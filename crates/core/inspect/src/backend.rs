//! Backends and their endpoints.

use serde::{Deserialize, Serialize};

use crate::{Problem, Traffic};

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Backend {
    /// `namespace/service:port`; `-`: the default backend.
    pub name: String,
    /// Its namespace; empty for the default backend.
    #[serde(default)]
    pub namespace: String,
    /// Its Service.
    #[serde(default)]
    pub service: String,
    /// The port, as rules name it.
    #[serde(default)]
    pub port: String,
    /// How it chooses an endpoint: `round_robin`, `ewma`, `hash` or `cookie`.
    #[serde(default)]
    pub balancing: String,
    /// Number of its endpoints.
    #[serde(default)]
    pub endpoints: usize,
    /// `namespace/name` of the Ingresses that use it, the first 20.
    #[serde(default)]
    pub ingresses: Vec<String>,
    /// Number of paths that lead to it.
    #[serde(default)]
    pub used_by_paths: usize,
    /// Its requests. Absent: they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// Everything about one backend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackendDetail {
    /// The backend, with the number of its endpoints instead of them.
    pub backend: Backend,
    /// In order of address.
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
    /// Backends that get a part of its requests.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// Findings about its Service.
    #[serde(default)]
    pub problems: Vec<Problem>,
}

/// Where a backend is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// IP address.
    pub address: String,
    /// TCP port.
    pub port: u16,
    /// Relative share of round robin.
    pub weight: f64,
    /// Share of the backend's requests, 0 to 1. Absent: that depends on measured times or on a hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// A backend that gets a part of another one's requests: the canary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The backend that gets them.
    pub backend: String,
    /// Share of the requests for which neither header nor cookie decide, 0 to 1.
    #[serde(default)]
    pub weight: f64,
    /// The header that decides first, with the value where one is given: `X-Canary` or `X-Canary: yes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The cookie that decides next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<String>,
}
