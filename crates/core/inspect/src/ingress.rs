//! Ingresses.

use serde::{Deserialize, Serialize};

/// An Ingress of the watched namespaces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ingress {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its class, by the field or the annotation; absent if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// When it was created; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<f64>,
    /// Hosts of its rules in their order, without duplicates; `_`: a rule without a host.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Number of its paths.
    #[serde(default)]
    pub paths: usize,
    /// Names of the Secrets in `spec.tls`.
    #[serde(default)]
    pub tls: Vec<String>,
    /// What of it is served.
    pub state: IngressState,
    /// Why that is not what it asks for; absent where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of findings about it.
    #[serde(default)]
    pub problems: usize,
    /// Addresses in its status.
    #[serde(default)]
    pub addresses: Vec<String>,
}

/// What of an Ingress is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IngressState {
    /// The present version.
    Served,
    /// An earlier version, as the present one is refused or has no room.
    LastAccepted,
    /// The version that NGINX accepted last, as it refuses what the present one asks for.
    Quarantined,
    /// Nothing: it is not valid.
    Refused,
    /// Nothing, or the version of before: its namespace has more than its share of what is finite.
    WithoutRoom,
    /// Nothing: another controller serves it, or none.
    NotOurs,
}
