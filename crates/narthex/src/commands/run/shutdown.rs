//! Signals, and the orderly end: new connections go elsewhere, open requests are finished, the metrics are scraped once more.

use std::future::Future;
use std::time::Duration;

use controller::Handle;
use nginx::{LiveClient, Supervisor};
use nix::sys::signal::Signal as SignalNumber;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

/// The signal of `narthex wait-shutdown`: it stops a controller like the others, and changes nothing where one stops already.
pub(crate) const ONCE: SignalNumber = SignalNumber::SIGUSR1;

/// Signals that mean something.
pub(crate) struct Signals {
    once: Signal,
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hangup: Signal,
}

/// What a signal asks for.
pub(crate) enum Event {
    /// SIGTERM, SIGINT, SIGQUIT or [`ONCE`], by name.
    Stop(&'static str),
    /// SIGHUP: read the directory again.
    Reload,
}

impl Signals {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            // First: where this one is handled, all are about to be.
            once: signal(SignalKind::from_raw(ONCE as i32))?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Event {
        tokio::select! {
            _ = self.once.recv() => Event::Stop(ONCE.as_str()),
            _ = self.terminate.recv() => Event::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Event::Stop("SIGINT"),
            _ = self.quit.recv() => Event::Stop("SIGQUIT"),
            _ = self.hangup.recv() => Event::Reload,
        }
    }

    /// Waits for `work`, or for a second signal to stop, which is another than [`ONCE`]. `None`: the signal came first.
    pub(crate) async fn or_second<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                event = self.next() => match event {
                    Event::Stop(signal) if signal == ONCE.as_str() => info!(signal, "stops already: this signal hastens nothing"),
                    Event::Stop(_) => return None,
                    Event::Reload => {}
                },
            }
        }
    }
}

/// How long NGINX is asked to finish what it has begun beyond the time that its workers have: they are ended by NGINX itself then.
const BEYOND: Duration = Duration::from_secs(5);
/// Drain of workers without a limit of their own. A kubelet ends the Pod long before.
const UNLIMITED: Duration = Duration::from_secs(24 * 3600);

/// The time in which NGINX serves on although it is to end. Connections end with their next answer, so that clients open new ones elsewhere.
/// Another container than ours (`None`) does that itself.
pub(super) async fn grace(wait: Duration, control: Option<&LiveClient>, signals: &mut Signals) {
    if !wait.is_zero() {
        info!(seconds = wait.as_secs(), "health and readiness fail from now on; new connections are served until the grace period is over");
    }
    if let Some(control) = control {
        // Where NGINX does not run, or does not answer, there is nothing to be lost.
        let _ = signals.or_second(control.closing(true)).await;
    }
    signals.or_second(tokio::time::sleep(wait)).await;
}

/// The wait after the end of NGINX, in which health and metrics still answer.
pub(super) async fn post_grace(wait: Duration, signals: &mut Signals) {
    if !wait.is_zero() {
        info!(seconds = wait.as_secs(), "nginx has ended; metrics answer until the process ends");
        signals.or_second(tokio::time::sleep(wait)).await;
    }
}

/// How long NGINX may take to end: `limit`, else what the configuration that it runs gives its workers.
pub(super) fn drain(limit: Option<Duration>, handle: &Handle) -> Duration {
    let running = handle.loaded.borrow().fixed.clone();
    let built = || handle.built.borrow().as_ref().map(|built| built.model.fixed.globals.config.worker_shutdown_timeout);
    let timeout = running.map(|fixed| fixed.globals.config.worker_shutdown_timeout).or_else(built);
    drain_of(limit, timeout.map(|timeout| timeout.millis))
}

/// `workers`: `worker-shutdown-timeout` in milliseconds; for NGINX zero is no limit.
fn drain_of(limit: Option<Duration>, workers: Option<u64>) -> Duration {
    match (limit, workers) {
        (Some(limit), _) => limit,
        (None, None | Some(0)) => UNLIMITED,
        (None, Some(millis)) => Duration::from_millis(millis) + BEYOND,
    }
}

/// Ends NGINX: open requests are finished, for at most `drain`; a second signal ends it at once.
pub(super) async fn quit(options: nginx::Options, drain: Duration, signals: &mut Signals) -> anyhow::Result<()> {
    let supervisor = Supervisor::open(options.clone()).await?;
    match supervisor.pid().await {
        Some(_) => info!(seconds = drain.as_secs(), "nginx finishes its open requests"),
        None => info!("nginx does not run: there is nothing to end"),
    }
    match signals.or_second(supervisor.quit(drain)).await {
        Some(ended) => Ok(ended?),
        None => {
            warn!("second signal: nginx is ended at once");
            Ok(Supervisor::open(options).await?.quit(Duration::ZERO).await?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_have_the_time_that_the_configuration_gives_them() {
        let secs = Duration::from_secs;
        assert_eq!(drain_of(None, Some(600_000)), secs(605));
        assert_eq!(drain_of(Some(secs(1)), Some(600_000)), secs(1));
        assert_eq!((drain_of(None, Some(0)), drain_of(None, None)), (UNLIMITED, UNLIMITED));
    }
}
