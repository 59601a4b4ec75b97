//! The changes of state that operators are notified of: a failure when it begins or becomes another one, and its end. Pure.

use crate::report::{ReloadOutcome, ReloadReport};

/// A change to notify operators of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// `true` if an operator should look at it.
    pub is_warning: bool,
    /// One word, for programs.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// Reports each failure and each recovery once.
#[derive(Debug, Default)]
pub struct EventReporter {
    /// The failure that was reported and is not over.
    reported: Option<(ReloadOutcome, String)>,
}

impl EventReporter {
    /// The change of state that a report stands for.
    pub fn change(&mut self, report: &ReloadReport) -> Option<StateChange> {
        let (reason, what) = match report.result {
            ReloadOutcome::Applied | ReloadOutcome::Unchanged | ReloadOutcome::Tested => {
                self.reported.take()?;
                let revision = report.revision.as_ref().map(|revision| format!(": revision {revision}")).unwrap_or_default();
                let message = match report.result {
                    ReloadOutcome::Tested => format!("the configuration is good again{revision}"),
                    _ => format!("NGINX runs what stands there again{revision}"),
                };
                return Some(StateChange { is_warning: false, reason: "Recovered", message });
            }
            // NGINX starts, ends or is not there yet: the kubelet reports that.
            ReloadOutcome::NoTarget => return None,
            ReloadOutcome::Rejected => ("ConfigurationRefused", "the configuration is refused"),
            ReloadOutcome::Failed => ("ReloadFailed", "the reload failed"),
            ReloadOutcome::NotRead => ("ConfigurationNotRead", "NGINX does not read what is followed"),
            ReloadOutcome::Unreadable => ("ConfigurationUnreadable", "the configuration can't be read"),
        };
        let why = report.message.clone().unwrap_or_default();
        let failure = (report.result, why.clone());
        if self.reported.as_ref() == Some(&failure) {
            return None;
        }
        self.reported = Some(failure);
        let goes_on = match &report.serving {
            Some(serving) => format!("revision {serving} stays active"),
            None => "the last known good configuration stays active".to_owned(),
        };
        Some(StateChange { is_warning: true, reason, message: format!("{what}, {goes_on}: {why}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_reported_once_until_it_is_another_one_or_over() {
        let report = |result, message: &str| ReloadReport { message: Some(message.to_owned()), ..ReloadReport::new(1, result) };
        let mut reporter = EventReporter::default();
        let mut reasons = |result, message| reporter.change(&report(result, message)).map(|change| (change.is_warning, change.reason));
        assert_eq!(reasons(ReloadOutcome::Applied, ""), None);
        assert_eq!(reasons(ReloadOutcome::NoTarget, "none"), None);
        assert_eq!(reasons(ReloadOutcome::Rejected, "x in /a:1"), Some((true, "ConfigurationRefused")));
        assert_eq!(reasons(ReloadOutcome::Rejected, "x in /a:1"), None);
        assert_eq!(reasons(ReloadOutcome::NoTarget, "none"), None);
        assert_eq!(reasons(ReloadOutcome::Rejected, "y in /a:2"), Some((true, "ConfigurationRefused")));
        assert_eq!(reasons(ReloadOutcome::Failed, "y in /a:2"), Some((true, "ReloadFailed")));
        assert_eq!(reasons(ReloadOutcome::NotRead, "other"), Some((true, "ConfigurationNotRead")));
        assert_eq!(reasons(ReloadOutcome::Unreadable, "gone"), Some((true, "ConfigurationUnreadable")));
        assert_eq!(reasons(ReloadOutcome::Unchanged, ""), Some((false, "Recovered")));
        assert_eq!(reasons(ReloadOutcome::Applied, ""), None);
    }

    #[test]
    fn the_message_says_what_goes_on_and_why() {
        let report = ReloadReport { message: Some("no in /a:1".into()), ..ReloadReport::new(1, ReloadOutcome::Rejected) };
        let change = EventReporter::default().change(&report).unwrap();
        assert_eq!(change.message, "the configuration is refused, the last known good configuration stays active: no in /a:1");
    }
}
