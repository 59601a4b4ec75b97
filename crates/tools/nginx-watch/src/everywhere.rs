//! A reload here and at the peers, after the command that comes before: asked for by HTTP, or by the clock.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::before::Done;
use crate::http::HttpServer;
use crate::lock::Wanted;
use crate::report::{ReloadOutcome, ReloadReport};

/// The clock is not asked more often than this.
const SHORTEST: Duration = Duration::from_secs(1);
/// After a failure the clock tries again so soon, or sooner.
const RETRY: Duration = Duration::from_secs(300);

/// The result of a reload everywhere.
pub(crate) struct OverallResult {
    /// 2xx only when what was asked for has happened, everywhere.
    pub(crate) status: StatusCode,
    /// Here.
    pub(crate) report: Arc<ReloadReport>,
    /// The answers of the peers: fields for the answer.
    pub(crate) extra: Value,
}

/// 2xx only when what was asked for has happened.
const fn status_of(outcome: ReloadOutcome) -> StatusCode {
    match outcome {
        ReloadOutcome::Applied | ReloadOutcome::Unchanged | ReloadOutcome::Tested => StatusCode::OK,
        ReloadOutcome::Rejected => StatusCode::UNPROCESSABLE_ENTITY,
        ReloadOutcome::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        ReloadOutcome::NoTarget | ReloadOutcome::NotRead | ReloadOutcome::Unreadable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl HttpServer {
    /// Reloads here and, unless the call comes from a peer, notifies all of them.
    pub(crate) async fn everywhere(&self, relayed: bool) -> OverallResult {
        let notifying = async {
            match self.peers.as_ref().filter(|_| !relayed) {
                None => Ok(None),
                Some(peers) => {
                    let token = self.access.token()?;
                    peers.notify(token.as_deref()).await.map(Some)
                }
            }
        };
        let (report, notified) = tokio::join!(self.reloads.reload(), notifying);
        let mut extra = json!({});
        let mut status = status_of(report.result);
        match notified {
            Ok(None) => {}
            Ok(Some(answers)) => {
                for answer in answers.iter().filter(|answer| !answer.ok) {
                    tracing::error!(peer = %answer.address, result = answer.result, error = answer.message, "a peer did not reload");
                }
                if answers.iter().any(|answer| !answer.ok) && status == StatusCode::OK {
                    status = StatusCode::BAD_GATEWAY;
                }
                extra["peers"] = json!(answers);
            }
            Err(error) => {
                tracing::error!(%error, "no peer was notified");
                status = if status == StatusCode::OK { StatusCode::BAD_GATEWAY } else { status };
                extra["peers_error"] = json!(error.to_string());
            }
        }
        OverallResult { status, report, extra }
    }

    /// Does so every `period`, and at once if it is due: the command, unless another replica has run it within the period, and then the reload everywhere.
    /// Never returns.
    ///
    /// Without [`HttpServer::before`] there is nothing to do, for ever.
    pub async fn by_the_clock(self, period: Duration) {
        let Some(before) = self.before.clone() else { return std::future::pending().await };
        let period = period.max(SHORTEST);
        loop {
            let wait = match before.run(Wanted::UnlessWithin(period)).await {
                Ok(Done::Here) => {
                    let OverallResult { status, report, .. } = self.everywhere(false).await;
                    let result = report.result.label();
                    if status.is_success() {
                        tracing::info!(result, "the command of --before was run, and NGINX reloaded everywhere");
                    } else {
                        tracing::error!(
                            result,
                            error = report.message,
                            "the command of --before was run, and NGINX did not reload everywhere"
                        );
                    }
                    period
                }
                // The replica that ran it notifies us.
                Ok(Done::Elsewhere) => period,
                // It was logged.
                Err(_) => period.min(RETRY),
            };
            sleep(wait).await;
        }
    }
}
