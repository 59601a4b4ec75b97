//! One table for annotations and one for ConfigMap keys.

use serde::Serialize;

/// How a backend chooses an endpoint (`load-balance`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBalance {
    /// In turn, weighted.
    #[default]
    RoundRobin,
    /// The quicker of two random ones, by an exponentially weighted moving average of response times.
    Ewma,
}

/// The main ConfigMap merged over the defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {}

impl Config {
    /// Names of the keys whose effective value differs.
    pub fn changed_keys(&self, _other: &Self) -> Vec<&'static str> {
        Vec::new()
    }
}
