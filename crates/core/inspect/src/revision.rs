//! Texts of `nginx.conf` that were applied.

use serde::{Deserialize, Serialize};

/// A start or reload of NGINX, confirmed or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// Content address of the text; empty where it was not applied.
    #[serde(default)]
    pub revision: String,
    /// When it ended.
    pub at: f64,
    /// Whether NGINX was started.
    pub kind: RevisionKind,
    /// Whether NGINX confirmed it.
    pub ok: bool,
    /// How long it took.
    pub seconds: f64,
    /// Why it was, in words.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Namespaces whose objects asked for it, the first 20.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// What NGINX says against it; empty if nothing.
    #[serde(default)]
    pub message: String,
    /// Whether NGINX runs it.
    #[serde(default)]
    pub running: bool,
    /// Size of the text; absent if it is not kept any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
}

/// How a text came to NGINX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RevisionKind {
    /// By a start.
    Start,
    /// By a reload.
    Reload,
    /// It ran before the controller did.
    Adopted,
}

/// The difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionDiff {
    /// Revision of the first.
    pub from: String,
    /// Revision of the second.
    pub to: String,
    /// As `diff -u` prints it; empty where they are the same.
    pub diff: String,
}
