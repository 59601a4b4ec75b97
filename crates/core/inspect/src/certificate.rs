//! Certificates.

use serde::{Deserialize, Serialize};

use crate::Problem;

/// A certificate in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Content address of the key pair.
    pub digest: String,
    /// `namespace/name` of its Secret. Absent: it was generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Names that it is for.
    #[serde(default)]
    pub names: Vec<String>,
    /// Common name of its issuer, else the organisation.
    #[serde(default)]
    pub issuer: String,
    /// Serial number, decimal.
    #[serde(default)]
    pub serial: String,
    /// From when on it is valid.
    pub not_before: f64,
    /// Until when it is valid.
    pub not_after: f64,
    /// Days until then; negative after it.
    pub days_left: f64,
    /// Kind and bits of its key: `ECDSA 256`.
    #[serde(default)]
    pub key: String,
    /// Hosts whose clients get it, the first 20.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Number of such hosts.
    #[serde(default)]
    pub hosts_total: usize,
    /// Whether an OCSP response is stapled to it.
    #[serde(default)]
    pub stapled: bool,
    /// Findings about its Secret.
    #[serde(default)]
    pub problems: Vec<Problem>,
}
