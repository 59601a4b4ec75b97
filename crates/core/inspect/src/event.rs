//! What the controller did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Something that the controller found or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number; they ascend.
    pub id: u64,
    /// When it was.
    pub at: f64,
    /// What it was.
    pub kind: EventKind,
    /// The lane that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Lane>,
    /// In words: one sentence without a final period.
    pub text: String,
    /// What it is about, the first 10: `Ingress shop/web`, `Host a.example`, `Backend shop/web:80`.
    #[serde(default)]
    pub objects: Vec<String>,
    /// Number of such objects.
    #[serde(default)]
    pub objects_total: usize,
    /// Records that were posted, by the label `change` of `narthex_reloads_avoided_total`.
    #[serde(default)]
    pub records: BTreeMap<String, u64>,
    /// Why it was, in words: reasons of a reload.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The revision that NGINX runs after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// From the snapshot to the confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// Ingresses appeared, changed or are gone.
    Change,
    /// Records were posted.
    Live,
    /// A reload was confirmed.
    Reload,
    /// A start or a reload failed.
    ReloadFailed,
    /// NGINX was started.
    NginxStarted,
    /// A finding is new.
    Problem,
    /// A finding is gone.
    Resolved,
    /// Records wait for a reload.
    Held,
}

/// A way of changes to NGINX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Records, posted to running workers.
    Live,
    /// Text, applied by a reload.
    Reload,
}

/// Events after a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// At most 500, the oldest first.
    pub items: Vec<Event>,
}
