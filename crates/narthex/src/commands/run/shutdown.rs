//! Signals, and the orderly end of NGINX.

use std::future::Future;
use std::time::Duration;

use nginx::Supervisor;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// Signals that mean something.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

/// What a signal asks for.
pub(crate) enum Event {
    /// SIGTERM or SIGINT, by name.
    Stop(&'static str),
    /// SIGHUP: read the directory again.
    Reload,
}

impl Signals {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Event {
        tokio::select! {
            _ = self.terminate.recv() => Event::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Event::Stop("SIGINT"),
            _ = self.hangup.recv() => Event::Reload,
        }
    }

    /// Waits for `work`, or for a second signal to stop. True if the work was done.
    pub(crate) async fn or_second<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                event = self.next() => if let Event::Stop(_) = event { return None },
            }
        }
    }
}

/// Ends NGINX: open requests are finished, for at most `drain`; a second signal ends it at once.
pub(super) async fn quit(options: nginx::Options, drain: Duration, signals: &mut Signals) -> anyhow::Result<()> {
    let supervisor = Supervisor::open(options.clone()).await?;
    match supervisor.pid() {
        Some(_) => info!(seconds = drain.as_secs(), "nginx finishes its open requests"),
        None => info!("nginx does not run: there is nothing to end"),
    }
    if signals.or_second(supervisor.quit(drain)).await.is_none() {
        warn!("second signal: nginx is ended at once");
        Supervisor::open(options).await?.quit(Duration::ZERO).await?;
    }
    Ok(())
}
