//! Findings about the cluster's state.

use serde::{Deserialize, Serialize};

/// A present finding about one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// What sort of finding, as Events and `narthex_problems` name it: `InvalidValue`.
    pub kind: String,
    /// Whether something is not served as it should be.
    pub severity: Severity,
    /// The object at fault: `Ingress shop/web`.
    pub object: String,
    /// Its namespace; absent for what has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Where in it; empty for the whole object.
    #[serde(default)]
    pub field: String,
    /// What stands there. Absent: it is no annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What may stand there. Absent: it is no annotation that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// One sentence: the value, what was expected, and what happens instead.
    pub detail: String,
    /// What to do.
    pub fix: String,
    /// When it was found first. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<f64>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something is not served, or not as its object asks.
    Error,
    /// All is served; something is surprising, or will go wrong.
    Warning,
}
