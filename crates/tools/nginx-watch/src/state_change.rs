//! The changes of state that operators are notified of: a failure when it begins or becomes another one, and its end. Pure.

use crate::report::{Outcome, Report};

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
    reported: Option<(Outcome, String)>,
}

impl EventReporter {
    /// The change of state that a report stands for.
    pub fn change(&mut self, report: &Report) -> Option<StateChange> {
        let (reason, what) = match report.result {
            Outcome::Applied | Outcome::Unchanged | Outcome::Tested => {
                self.reported.take()?;
                let revision = report.revision.as_ref().map(|revision| format!(": revision {revision}")).unwrap_or_default();
                let message = match report.result {
                    Outcome::Tested => format!("the configuration is good again{revision}"),
                    _ => format!("NGINX runs what stands there again{revision}"),
                };
                return Some(StateChange { is_warning: false, reason: "Recovered", message });
            }
            // NGINX starts, ends or is not there yet: the kubelet reports that.
            Outcome::NoTarget => return None,
            Outcome::Rejected => ("ConfigurationRefused", "the configuration is refused"),
            Outcome::Failed => ("ReloadFailed", "the reload failed"),
            Outcome::NotRead => ("ConfigurationNotRead", "NGINX does not read what is followed"),
            Outcome::Unreadable => ("ConfigurationUnreadable", "the configuration can't be read"),
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
        let report = |result, message: &str| Report { message: Some(message.to_owned()), ..Report::new(1, result) };
        let mut reporter = EventReporter::default();
        let mut reasons = |result, message| reporter.change(&report(result, message)).map(|change| (change.is_warning, change.reason));
        assert_eq!(reasons(Outcome::Applied, ""), None);
        assert_eq!(reasons(Outcome::NoTarget, "none"), None);
        assert_eq!(reasons(Outcome::Rejected, "x in /a:1"), Some((true, "ConfigurationRefused")));
        assert_eq!(reasons(Outcome::Rejected, "x in /a:1"), None);
        assert_eq!(reasons(Outcome::NoTarget, "none"), None);
        assert_eq!(reasons(Outcome::Rejected, "y in /a:2"), Some((true, "ConfigurationRefused")));
        assert_eq!(reasons(Outcome::Failed, "y in /a:2"), Some((true, "ReloadFailed")));
        assert_eq!(reasons(Outcome::NotRead, "other"), Some((true, "ConfigurationNotRead")));
        assert_eq!(reasons(Outcome::Unreadable, "gone"), Some((true, "ConfigurationUnreadable")));
        assert_eq!(reasons(Outcome::Unchanged, ""), Some((false, "Recovered")));
        assert_eq!(reasons(Outcome::Applied, ""), None);
    }

    #[test]
    fn the_message_says_what_goes_on_and_why() {
        let report = Report { message: Some("no in /a:1".into()), ..Report::new(1, Outcome::Rejected) };
        let change = EventReporter::default().change(&report).unwrap();
        assert_eq!(change.message, "the configuration is refused, the last known good configuration stays active: no in /a:1");
    }
}
