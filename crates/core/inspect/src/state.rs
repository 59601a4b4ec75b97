//! What the answers are made of.

use model::{Built, Fixed, HostRecord, ObjectKey, Snapshot};

use crate::{Index, TrafficTable};

/// What the answers are made of. Nothing of it changes while they are made.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// What is wanted.
    pub built: &'a Built,
    /// The objects that it was built from, or newer ones.
    pub snapshot: &'a Snapshot,
    /// What was found out about these two before.
    pub index: &'a Index,
    /// The text that NGINX runs, where it is known.
    pub running: Option<&'a Fixed>,
    /// Whether the record of a host waits for a reload.
    pub is_held: &'a dyn Fn(&str, &HostRecord) -> bool,
    /// When a finding was new.
    pub since: &'a dyn Fn(&model::Problem) -> Option<f64>,
    /// Requests, where they are counted.
    pub traffic: Option<&'a TrafficTable>,
    /// The prefix of annotations.
    pub prefix: &'a str,
    /// The main ConfigMap.
    pub configmap: Option<&'a ObjectKey>,
    /// The present time, in seconds since 1970.
    pub time: f64,
}
