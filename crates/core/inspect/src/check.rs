//! Whether the controller's parts work.

use serde::{Deserialize, Serialize};

/// A check of `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name there.
    pub name: String,
    /// What it found.
    pub state: CheckState,
    /// Why that is; empty where all is well.
    #[serde(default)]
    pub reason: String,
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// All is well.
    Sound,
    /// Traffic is served, but something needs an operator.
    Degraded,
    /// Traffic should go elsewhere.
    Failed,
}

/// The Lease that decides which replica writes statuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// `namespace/name`.
    pub name: String,
    /// Whether this replica holds it.
    pub leads: bool,
    /// Why it can't be read or written. Absent: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}
