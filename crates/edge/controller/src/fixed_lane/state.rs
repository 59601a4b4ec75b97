//! What people see of the lane: why the wanted configuration is not applied, and that it is again.

use std::time::Duration;

use inspect::RevisionKind;
use tracing::{debug, error, info, warn};

use super::causes::Causes;
use super::{Lane, TurnOutcome};
use crate::journal::Attempted;
use crate::port::{Applied, ApplyError, Nginx};

impl<N: Nginx> Lane<N> {
    /// Writes an attempt into the journal, unless there was nothing to do.
    pub(super) fn note(&self, applied: &Result<Applied, ApplyError>, reasons: &[String], causes: &Causes, is_first: bool, took: Duration) {
        let (kind, result) = match applied {
            Ok(applied) if applied.unchanged && is_first => (RevisionKind::Adopted, Ok(&*applied.revision)),
            Ok(applied) if applied.unchanged => return,
            Ok(applied) => (if applied.started { RevisionKind::Start } else { RevisionKind::Reload }, Ok(&*applied.revision)),
            Err(error) => (if is_first || self.down() { RevisionKind::Start } else { RevisionKind::Reload }, Err(error.to_string())),
        };
        let effect = self.waiting_since.map_or(took, |since| since.elapsed());
        let namespaces = causes.namespaces.iter().map(ToString::to_string).collect();
        self.ends.journal.attempted(Attempted { kind, result, reasons, namespaces, effect, took });
    }

    /// The consequence while a configuration is not applied; for messages.
    pub(super) async fn instead(&mut self) -> &'static str {
        if self.nginx.runs().await {
            "the last known good configuration stays active"
        } else {
            "nginx does not run, so nothing is served yet"
        }
    }

    /// The wanted configuration can't be applied, and no object is at fault. Logged once for as long as it stays so.
    pub(super) async fn failed(&mut self, message: &str) -> TurnOutcome {
        let instead = self.instead().await;
        if self.ends.fault.borrow().as_deref() == Some(message) {
            debug!(error = message, "the configuration of nginx still can't be applied");
        } else {
            error!(
                error = message,
                "the configuration of nginx can't be applied, for which no object is at fault: {instead}; it is tried again"
            );
            self.report.reload(Err(message));
            self.ends.fault.send_replace(Some(message.to_owned()));
        }
        TurnOutcome::Failed
    }

    /// A reload waits for old workers to end, as those who ask for it left most of them. Said once for as long as it stays so.
    pub(super) async fn waits(&mut self, message: &str) -> TurnOutcome {
        let instead = self.instead().await;
        self.metrics.waiting(true);
        if self.ends.fault.borrow().as_deref() != Some(message) {
            warn!("{message}; {instead}, and reloads that others need begin");
            self.report.reload(Err(message));
            self.ends.fault.send_replace(Some(message.to_owned()));
        }
        TurnOutcome::Waiting
    }

    pub(super) fn sound(&self) {
        self.metrics.waiting(false);
        let loaded = self.ends.loaded.borrow();
        if loaded.fixed.is_some() {
            self.metrics.settled(&loaded.revision);
        }
        drop(loaded);
        if self.ends.fault.borrow().is_some() {
            info!("nginx takes its configuration again");
            self.ends.fault.send_replace(None);
        }
    }
}
