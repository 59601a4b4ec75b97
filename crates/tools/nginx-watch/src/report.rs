//! The result of a run.

use std::time::Duration;

use serde::Serialize;

use crate::queue::TriggerSource;
use crate::snapshot::Revision;

/// The kind of end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReloadOutcome {
    /// NGINX runs what stands there now: its new workers serve.
    Applied,
    /// NGINX ran it already.
    Unchanged,
    /// The files were tested, and not applied (`--dry-run`).
    Tested,
    /// The test or the policy refuses it: NGINX got no signal.
    Rejected,
    /// NGINX was signalled, and did not take it over.
    Failed,
    /// There is no NGINX, or it can't be signalled.
    NoTarget,
    /// NGINX does not read what is followed.
    NotRead,
    /// The files can't be read, or go on changing.
    Unreadable,
}

impl ReloadOutcome {
    /// The name in reports and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Unchanged => "unchanged",
            Self::Tested => "tested",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::NoTarget => "no-target",
            Self::NotRead => "not-read",
            Self::Unreadable => "unreadable",
        }
    }

    /// All, for metrics.
    pub const ALL: [Self; 8] =
        [Self::Applied, Self::Unchanged, Self::Tested, Self::Rejected, Self::Failed, Self::NoTarget, Self::NotRead, Self::Unreadable];

    /// `true` if NGINX runs, or would run, what stands there.
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Applied | Self::Unchanged | Self::Tested)
    }
}

/// The certainty of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tested {
    /// NGINX read exactly the bytes of the snapshot, at the paths where they will stand.
    Exact,
    /// NGINX read the files where they stand; they were the same before and after.
    InPlace,
    /// The command of `--test-command` was content.
    Command,
    /// There was no way to test.
    Not,
}

impl Tested {
    /// The name in reports.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::InPlace => "in-place",
            Self::Command => "command",
            Self::Not => "not",
        }
    }
}

/// A run and what it led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReloadReport {
    /// Its number, from 1.
    pub run: u64,
    /// The kind of end.
    pub result: ReloadOutcome,
    /// The sources of its triggers, in order.
    pub triggers: Vec<&'static str>,
    /// The revision of the files.
    pub revision: Option<Revision>,
    /// The revision that NGINX runs, as far as is known: the last good revision.
    pub serving: Option<Revision>,
    /// The certainty of the test.
    pub tested: Option<Tested>,
    /// Pid of the master.
    pub pid: Option<i32>,
    /// The reason of a failure, for people: what NGINX said.
    pub message: Option<String>,
    /// Warnings of the test.
    pub warnings: Vec<String>,
    /// Time from its beginning to its end, in milliseconds.
    pub duration_ms: u64,
    /// Its end, in the form of RFC 3339.
    pub finished: String,
    /// Time of the next attempt, in milliseconds from its end; failures only.
    pub retry_in_ms: Option<u64>,
}

impl ReloadReport {
    /// An empty one.
    pub fn new(run: u64, result: ReloadOutcome) -> Self {
        Self {
            run,
            result,
            triggers: Vec::new(),
            revision: None,
            serving: None,
            tested: None,
            pid: None,
            message: None,
            warnings: Vec::new(),
            duration_ms: 0,
            finished: String::new(),
            retry_in_ms: None,
        }
    }

    /// Notes the triggers, the time that it took and its end now.
    pub(crate) fn complete(mut self, triggers: &[TriggerSource], took: Duration) -> Self {
        self.triggers = triggers.iter().map(|source| source.label()).collect();
        self.duration_ms = took.as_millis().try_into().unwrap_or(u64::MAX);
        self.finished = format!("{:.3}", jiff::Timestamp::now());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_json_that_scripts_can_read() {
        let report =
            ReloadReport::new(3, ReloadOutcome::NoTarget).complete(&[TriggerSource::Files, TriggerSource::Http], Duration::from_millis(42));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["result"], "no-target");
        assert_eq!(json["triggers"], serde_json::json!(["files", "http"]));
        assert_eq!(json["duration_ms"], 42);
        assert!(json["finished"].as_str().unwrap().ends_with('Z'));
        for tested in [Tested::Exact, Tested::InPlace, Tested::Command, Tested::Not] {
            assert_eq!(serde_json::to_value(tested).unwrap(), tested.label());
        }
        for outcome in ReloadOutcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.label());
        }
    }
}
