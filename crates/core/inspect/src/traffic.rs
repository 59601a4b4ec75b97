//! Requests, as NGINX's workers counted them.

use serde::{Deserialize, Serialize};

/// The requests of a host, an Ingress or a backend. Rates and quantiles are of the last 10 seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Requests since the start of the controller.
    pub requests: u64,
    /// Requests in a second.
    pub rate: f64,
    /// The part of them with a status of 5xx, 0 to 1.
    pub errors: f64,
    /// Seconds that half of them took at most, within the bounds of the histogram. Absent: there were none, or they are not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// Seconds that 99 of a hundred took at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// Bytes to clients in a second.
    pub bytes_rate: f64,
}

/// What requests are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficBy {
    /// The host.
    Host,
    /// `namespace/name` of the Ingress.
    Ingress,
    /// The backend.
    Backend,
}

/// The requests of one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrafficRow {
    /// Its name.
    pub key: String,
    /// Its namespace; absent for a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The figures.
    #[serde(flatten)]
    pub traffic: Traffic,
}
