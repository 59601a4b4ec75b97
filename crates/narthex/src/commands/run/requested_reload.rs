//! `/reload` of the controller: the source is read again, and NGINX reloads whatever changed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use controller::{ApplyError, Attempt, Handle};
use nginx_watch::{ReloadOutcome, ReloadReport, Reloads, Revision, Tested};
use prometheus::Registry;
use tokio::time::{Instant, timeout};

use super::source::Again;

/// Findings that an answer holds; the log has all of them.
const FINDINGS_LIMIT: usize = 20;

/// Reloads through the fixed lane.
pub(super) struct RequestedReload {
    pub(super) again: Again,
    pub(super) handle: Handle,
    /// Longest wait for an answer.
    pub(super) patience: Duration,
}

impl RequestedReload {
    async fn ask(&self) -> Arc<ReloadReport> {
        let begun = Instant::now();
        let work = async {
            // Before the reload, so that it has what was read.
            let findings = self.again.reread().await;
            (findings, self.handle.requests.reload().await)
        };
        let mut report = match timeout(self.patience, work).await {
            Ok((findings, attempt)) => {
                let mut report = report(&attempt);
                report.warnings.extend(findings.into_iter().take(FINDINGS_LIMIT));
                report
            }
            Err(_) => self.late(),
        };
        report.duration_ms = begun.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        Arc::new(report)
    }

    /// No answer in time.
    fn late(&self) -> ReloadReport {
        let (result, why) = if self.handle.built.borrow().is_none() {
            (ReloadOutcome::NoTarget, "the source is not complete yet")
        } else {
            (ReloadOutcome::Failed, "other reloads come first, or NGINX does not confirm; it goes on, /status will say how it ended")
        };
        let last = self.handle.requests.last();
        let mut report = ReloadReport::new(last.as_ref().map_or(0, |last| last.run), result);
        report.serving = last.and_then(|last| revision(&last.serving));
        report.triggers = vec!["asked"];
        report.message = Some(format!("no answer within {:?} (--request-timeout): {why}", self.patience));
        report.finished = format!("{:.3}", jiff::Timestamp::now());
        report
    }
}

impl Reloads for RequestedReload {
    fn reload(&self) -> Pin<Box<dyn Future<Output = Arc<ReloadReport>> + Send + '_>> {
        Box::pin(self.ask())
    }

    fn last(&self) -> Option<Arc<ReloadReport>> {
        self.handle.requests.last().map(|attempt| Arc::new(report(&attempt)))
    }

    fn registry(&self) -> Option<Registry> {
        // They are on --healthz-port.
        None
    }

    fn ready(&self) -> Result<(), String> {
        if self.handle.ready() { Ok(()) } else { Err("nginx has not confirmed a first configuration yet".to_owned()) }
    }
}

/// In the form that people know from `narthex watch`.
fn report(attempt: &Attempt) -> ReloadReport {
    let result = match &attempt.result {
        Ok(_) => ReloadOutcome::Applied,
        Err(ApplyError::Refused { .. }) => ReloadOutcome::Rejected,
        Err(ApplyError::Doubtful { .. } | ApplyError::Slow(_) | ApplyError::Failed(_)) => ReloadOutcome::Failed,
    };
    let finished = jiff::Timestamp::try_from(attempt.finished).unwrap_or_default();
    ReloadReport {
        triggers: attempt.reasons.clone(),
        revision: attempt.result.as_ref().ok().and_then(|text| revision(text)),
        serving: revision(&attempt.serving),
        // Each text is tested where it will stand; what failed otherwise may not have come so far.
        tested: (result != ReloadOutcome::Failed).then_some(Tested::Exact),
        message: attempt.result.as_ref().err().map(ToString::to_string),
        warnings: attempt.quarantined.clone(),
        duration_ms: attempt.took.as_millis().try_into().unwrap_or(u64::MAX),
        finished: format!("{finished:.3}"),
        ..ReloadReport::new(attempt.run, result)
    }
}

fn revision(text: &str) -> Option<Revision> {
    (!text.is_empty()).then(|| Revision::named(text))
}
