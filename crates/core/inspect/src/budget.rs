//! What is finite, and who has how much of it.

use serde::{Deserialize, Serialize};

/// A finite resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Its name, as the label `resource` of `narthex_budget`.
    pub resource: String,
    /// What all objects ask for: bytes, or a number.
    pub used: u64,
    /// What there is.
    pub capacity: u64,
    /// The namespaces that ask for most, 50 of them.
    #[serde(default)]
    pub namespaces: Vec<NamespaceShare>,
}

/// The part of a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamespaceShare {
    /// The namespace.
    pub namespace: String,
    /// What its objects ask for.
    pub used: u64,
    /// The part of the capacity, 0 to 1.
    pub share: f64,
    /// Objects of it of which something is held back.
    #[serde(default)]
    pub refused: usize,
}
