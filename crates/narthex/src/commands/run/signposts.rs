//! Keeps the signposts that NGINX reads as the newest build says.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::{Built, Signposts};
use tokio::sync::watch;
use tracing::{error, info};

/// How long to wait after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Runs for ever. Nothing is written where all connections are decrypted.
pub(super) async fn run(directory: PathBuf, mut built: watch::Receiver<Option<Arc<Built>>>) -> &'static str {
    let mut held: Option<Signposts> = None;
    let mut failing = false;
    loop {
        let wanted = built.borrow_and_update().as_ref().and_then(|built| {
            let model = &built.model;
            model.fixed.globals.listen.passthrough.map(|_| model.signposts.clone())
        });
        let outcome = match wanted.filter(|wanted| held.as_ref() != Some(wanted)) {
            None => Ok(()),
            Some(wanted) => nginx::put_up(&directory, wanted.iter().map(|(host, text)| (&**host, &**text))).map(|()| held = Some(wanted)),
        };
        if let (Err(error), false) = (&outcome, failing) {
            let error = error as &dyn std::error::Error;
            error!(error, directory = %directory.display(), "TLS connections that are not decrypted may go to old endpoints: it is tried again");
        } else if outcome.is_ok() && failing {
            info!("the endpoints of TLS connections that are not decrypted are up to date again");
        }
        failing = outcome.is_err();
        let changed = async {
            if built.changed().await.is_err() {
                std::future::pending().await
            }
        };
        if failing {
            let _ = tokio::time::timeout(RETRY, changed).await;
        } else {
            changed.await;
        }
    }
}
