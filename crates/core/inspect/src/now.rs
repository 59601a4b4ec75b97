//! The present state in figures.

use std::collections::BTreeMap;

use model::Built;
use serde::{Deserialize, Serialize};

use crate::host::own_hosts;
use crate::{Check, Lease};

/// The present state of a controller and its NGINX.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Now {
    /// Version of the program.
    pub version: String,
    /// The commit that it was built from; empty where it is not known.
    #[serde(default)]
    pub commit: String,
    /// Name of its Pod; empty outside of a cluster.
    #[serde(default)]
    pub pod: String,
    /// Namespace of its Pod.
    #[serde(default)]
    pub namespace: String,
    /// `--controller-class`.
    #[serde(default)]
    pub class: String,
    /// When it started.
    pub started: f64,
    /// The time of this answer.
    pub now: f64,
    /// Version of NGINX.
    #[serde(default)]
    pub nginx: String,
    /// Where the objects come from.
    pub source: SourceKind,
    /// Whether NGINX runs a confirmed configuration and holds every record that could be sent.
    pub ready: bool,
    /// What NGINX runs.
    pub revision: RunningRevision,
    /// Numbers of what is served.
    pub counts: Counts,
    /// The live lane.
    pub live: LiveProgress,
    /// The fixed lane.
    pub reload: ReloadProgress,
    /// Reloads since the start of the controller.
    pub reloads: Reloads,
    /// From a snapshot to its effect, of the newest updates.
    pub time_to_effect: TimeToEffect,
    /// Whether this replica writes statuses. Absent: there is no Lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<bool>,
    /// The same with the reason where that can't be found out. Absent: there is no Lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The checks of `/readyz`.
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// Where the objects come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// An API server.
    Cluster,
    /// Files.
    Directory,
}

/// Content addresses of the text of `nginx.conf`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningRevision {
    /// Of what NGINX confirmed last; empty before that.
    #[serde(default)]
    pub running: String,
    /// Of what is wanted: the same, or absent while a reload is pending ([`ReloadProgress::pending`] says why).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

/// Numbers of what is served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Ingresses that are ours and not refused.
    pub ingresses: usize,
    /// Names with routes.
    pub hosts: usize,
    /// Locations of all hosts.
    pub paths: usize,
    /// Ports of Services.
    pub backends: usize,
    /// Addresses and ports behind them.
    pub endpoints: usize,
    /// Certificates in use.
    pub certificates: usize,
    /// Present findings.
    pub problems: usize,
    /// Ingresses of which NGINX refused what they ask for.
    pub quarantined: usize,
}

/// The progress of the live lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveProgress {
    /// Number of records that NGINX should hold.
    pub records: usize,
    /// Hosts whose newest routes wait for a reload.
    pub held_hosts: usize,
    /// Records that NGINX has no room for.
    pub without_room: usize,
    /// Why the last update failed. Absent: it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The progress of the fixed lane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReloadProgress {
    /// Why a reload waits, or why what is wanted can't be applied. Absent: it does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// Why there will be a reload, in words. Empty: NGINX runs what is wanted.
    pub pending: Vec<String>,
    /// The last start or reload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastReload>,
}

/// The last start or reload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastReload {
    /// When it ended.
    pub at: f64,
    /// Whether NGINX confirmed it.
    pub ok: bool,
    /// How long it took.
    pub seconds: f64,
    /// Why it was, in words.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// What NGINX says against it; empty if nothing.
    #[serde(default)]
    pub message: String,
}

/// Reloads since the start of the controller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reloads {
    /// Confirmed ones by reason, as `narthex_reloads_total` counts them.
    pub done: BTreeMap<String, u64>,
    /// Failed ones by reason.
    pub failed: BTreeMap<String, u64>,
    /// Changes that were posted live instead, as `narthex_reloads_avoided_total` counts them.
    pub avoided: BTreeMap<String, u64>,
    /// How long a reload takes here. Absent: there was none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_seconds: Option<f64>,
}

/// From a snapshot to its effect, by lane.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeToEffect {
    /// What was posted.
    pub live: Quantiles,
    /// What needed a reload.
    pub reload: Quantiles,
}

/// Quantiles of the newest durations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quantiles {
    /// Half of them were at most so long. 0 where there is none.
    pub p50: f64,
    /// Nine tenths.
    pub p90: f64,
    /// 99 of a hundred.
    pub p99: f64,
    /// Number of durations that these are of.
    pub count: u64,
}

impl Counts {
    /// The numbers of a build. `problems`: of present findings. Cost: the number of hosts and backends.
    pub fn of(built: &Built, problems: usize) -> Self {
        let live = &built.model.live;
        Self {
            ingresses: built.ingresses().count(),
            hosts: own_hosts(live).count(),
            paths: own_hosts(live).map(|(_, record)| record.routes.len()).sum(),
            backends: live.backends.len(),
            endpoints: live.backends.values().map(|record| record.endpoints.len()).sum(),
            certificates: live.certificates.len(),
            problems,
            quarantined: built.quarantined.len(),
        }
    }
}

impl Quantiles {
    /// Of these durations, in whatever order.
    pub fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let Some(last) = seconds.len().checked_sub(1) else { return Self::default() };
        let at = |part: f64| seconds[(part * last as f64).round() as usize];
        Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), count: seconds.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_durations_that_there_are() {
        assert_eq!(Quantiles::of(Vec::new()), Quantiles::default());
        assert_eq!(Quantiles::of(vec![3.0]), Quantiles { p50: 3.0, p90: 3.0, p99: 3.0, count: 1 });
        let many = Quantiles::of((1..=101).rev().map(f64::from).collect());
        assert_eq!(many, Quantiles { p50: 51.0, p90: 91.0, p99: 100.0, count: 101 });
    }
}
