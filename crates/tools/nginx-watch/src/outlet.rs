//! Outlets of results: the log, a file with the state, and a file with the error next to the user's files.

use std::io;
use std::path::PathBuf;

use ngx_proc::files::{remove, replace_text};

use crate::report::{ReloadOutcome, ReloadReport, Tested};
use crate::state_change::EventReporter;

/// The places where results are written.
#[derive(Debug, Clone, Default)]
pub struct Outlets {
    /// The last report, as JSON.
    pub status_file: Option<PathBuf>,
    /// The error as NGINX reported it; not there while there is none.
    pub error_file: Option<PathBuf>,
}

/// Writes them.
#[derive(Debug)]
pub(crate) struct Writer {
    outlets: Outlets,
    reporter: EventReporter,
    /// The content of the error file.
    error: Option<String>,
    /// The last failure to write: reported once.
    failure: Option<String>,
}

impl Writer {
    pub(crate) fn new(outlets: Outlets) -> Self {
        // Not read: where other users write it may be anything by now.
        let error = outlets.error_file.as_ref().filter(|path| path.symlink_metadata().is_ok()).map(|_| String::new());
        Self { outlets, reporter: EventReporter::default(), error, failure: None }
    }

    /// Takes a report. `is_new`: it goes into the log, too.
    pub(crate) fn take(&mut self, report: &ReloadReport, is_new: bool) {
        if is_new {
            log(report);
        }
        if let Some(change) = self.reporter.change(report).filter(|change| !change.is_warning) {
            tracing::info!(run = report.run, "{}", change.message);
        }
        let error = self.write_error(report);
        // The state last: a reader that waits for it finds the error.
        let state = self.outlets.status_file.as_ref().map_or(Ok(()), |path| {
            let text = serde_json::to_string_pretty(report).map_err(io::Error::other)?;
            replace_text(path, &format!("{text}\n"))
        });
        let failure = error.and(state).err().map(|error| error.to_string());
        if failure != self.failure {
            if let Some(error) = &failure {
                tracing::warn!(error, "the state can't be written to a file");
            }
            self.failure = failure;
        }
    }

    fn write_error(&mut self, report: &ReloadReport) -> io::Result<()> {
        let Some(path) = &self.outlets.error_file else { return Ok(()) };
        let wanted = match report.result {
            ReloadOutcome::Applied | ReloadOutcome::Unchanged | ReloadOutcome::Tested => None,
            // Not the fault of these files.
            ReloadOutcome::NoTarget => return Ok(()),
            ReloadOutcome::Rejected | ReloadOutcome::Failed | ReloadOutcome::NotRead | ReloadOutcome::Unreadable => {
                report.message.as_ref().map(|message| format!("{}\n", message.trim_end()))
            }
        };
        if wanted == self.error {
            return Ok(());
        }
        match &wanted {
            Some(text) => replace_text(path, text)?,
            None => remove(path)?,
        }
        self.error = wanted;
        Ok(())
    }
}

fn log(report: &ReloadReport) {
    let ReloadReport { run, revision, pid, message, duration_ms, tested, .. } = report;
    let revision = revision.as_ref().map(tracing::field::display);
    let triggers = report.triggers.join(",");
    let tested = tested.map(Tested::label);
    for warning in &report.warnings {
        tracing::warn!(run, warning, "the test warns");
    }
    let message = message.as_deref();
    match report.result {
        ReloadOutcome::Applied => tracing::info!(run, revision, pid, triggers, tested, duration_ms, "applied: new workers serve"),
        ReloadOutcome::Tested => tracing::info!(run, revision, tested, "tested, and not applied"),
        ReloadOutcome::Unchanged => tracing::debug!(run, revision, "unchanged"),
        ReloadOutcome::Rejected => {
            tracing::error!(
                run,
                revision,
                tested,
                error = message,
                "refused: NGINX was not signalled, the last known good configuration stays active"
            )
        }
        ReloadOutcome::Failed => tracing::error!(run, revision, pid, error = message, "not applied"),
        ReloadOutcome::NoTarget => tracing::warn!(run, error = message, "there is no NGINX to signal"),
        ReloadOutcome::NotRead => tracing::error!(run, pid, error = message, "nothing is applied: NGINX does not read what is followed"),
        ReloadOutcome::Unreadable => {
            tracing::warn!(run, error = message, "the configuration can't be read: the last known good one stays active")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_error_file_is_there_while_something_is_wrong() {
        let scratch = tempfile::tempdir().unwrap();
        let (error, status) = (scratch.path().join("nginx_error_output"), scratch.path().join("status.json"));
        let mut writer = Writer::new(Outlets { status_file: Some(status.clone()), error_file: Some(error.clone()) });
        let report = |result, message: Option<&str>| ReloadReport { message: message.map(str::to_owned), ..ReloadReport::new(1, result) };
        writer.take(&report(ReloadOutcome::Rejected, Some("no in /a:1")), true);
        assert_eq!(fs::read_to_string(&error).unwrap(), "no in /a:1\n");
        assert!(fs::read_to_string(&status).unwrap().contains("\"rejected\""));
        // That NGINX is away says nothing about the files.
        writer.take(&report(ReloadOutcome::NoTarget, Some("none")), true);
        assert!(error.exists());
        writer.take(&report(ReloadOutcome::Unchanged, None), false);
        assert!(!error.exists());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
        // One that an earlier process left goes away, too.
        fs::write(&error, "old\n").unwrap();
        Writer::new(Outlets { status_file: None, error_file: Some(error.clone()) }).take(&report(ReloadOutcome::Applied, None), true);
        assert!(!error.exists());
    }
}
