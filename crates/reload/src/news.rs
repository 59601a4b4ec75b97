//! What people must know of the results: a failure when it begins or becomes another one, and its end. Pure.

use crate::report::{Outcome, Report};

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// Whether somebody should look at it.
    pub is_warning: bool,
    /// One word, for programs.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// Tells each thing once.
#[derive(Debug, Default)]
pub struct Herald {
    /// The failure that was told of and is not over.
    told: Option<(Outcome, String)>,
}

impl Herald {
    /// What is new in a report.
    pub fn news(&mut self, report: &Report) -> Option<News> {
        let (reason, what) = match report.result {
            Outcome::Applied | Outcome::Unchanged | Outcome::Tested => {
                self.told.take()?;
                let revision = report.revision.as_ref().map(|revision| format!(": revision {revision}")).unwrap_or_default();
                let message = match report.result {
                    Outcome::Tested => format!("the configuration is good again{revision}"),
                    _ => format!("NGINX runs what stands there again{revision}"),
                };
                return Some(News { is_warning: false, reason: "Recovered", message });
            }
            // NGINX starts, ends or is not there yet: the kubelet tells of that.
            Outcome::NoTarget => return None,
            Outcome::Rejected => ("ConfigurationRefused", "the configuration is refused"),
            Outcome::Failed => ("ReloadFailed", "the reload failed"),
            Outcome::NotRead => ("ConfigurationNotRead", "NGINX does not read what is followed"),
            Outcome::Unreadable => ("ConfigurationUnreadable", "the configuration can't be read"),
        };
        let why = report.message.clone().unwrap_or_default();
        let failure = (report.result, why.clone());
        if self.told.as_ref() == Some(&failure) {
            return None;
        }
        self.told = Some(failure);
        let goes_on = match &report.serving {
            Some(serving) => format!("revision {serving} stays active"),
            None => "the last known good configuration stays active".to_owned(),
        };
        Some(News { is_warning: true, reason, message: format!("{what}, {goes_on}: {why}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_once_until_it_is_another_one_or_over() {
        let report = |result, message: &str| Report { message: Some(message.to_owned()), ..Report::new(1, result) };
        let mut herald = Herald::default();
        let mut reasons = |result, message| herald.news(&report(result, message)).map(|news| (news.is_warning, news.reason));
        assert_eq!(reasons(Outcome::Applied, ""), None);
        assert_eq!(reasons(Outcome::NoTarget, "nobody"), None);
        assert_eq!(reasons(Outcome::Rejected, "x in /a:1"), Some((true, "ConfigurationRefused")));
        assert_eq!(reasons(Outcome::Rejected, "x in /a:1"), None);
        assert_eq!(reasons(Outcome::NoTarget, "nobody"), None);
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
        let news = Herald::default().news(&report).unwrap();
        assert_eq!(news.message, "the configuration is refused, the last known good configuration stays active: no in /a:1");
    }
}
