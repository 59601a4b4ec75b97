//! The processes of NGINX and the shared memory that they have.

use serde::{Deserialize, Serialize};

/// NGINX's processes and shared dictionaries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Workers {
    /// Master processes: one, none, or two while a binary is replaced.
    pub masters: Vec<Master>,
    /// Their workers, the newest first.
    pub workers: Vec<Worker>,
    /// The shared dictionaries.
    pub dictionaries: Vec<Dictionary>,
}

/// A master process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Master {
    /// Process id.
    pub pid: i32,
    /// When it started. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
}

/// A worker process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// Process id.
    pub pid: i32,
    /// When it started. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// The configuration that it runs; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether it takes connections.
    pub generation: Generation,
    /// Open connections, of clients and to endpoints; absent where the kernel does not let us see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Whether it ends as soon as its connections do.
    #[serde(default)]
    pub closing: bool,
    /// Memory that it alone or with others has in RAM.
    #[serde(default)]
    pub resident_bytes: u64,
}

/// The configuration of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generation {
    /// The present one.
    Current,
    /// An earlier one.
    Old,
}

/// A shared dictionary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dictionary {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// What of it is in whole free pages.
    pub free_bytes: u64,
    /// The part that is used, 0 to 1.
    pub used: f64,
}
