//! Probes: one action again and again, and what its results add up to.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::{Container, Probe};

use super::action::Action;
use super::runtime::Exec;

/// A probe with Kubernetes' defaults filled in.
#[derive(Debug, Clone)]
pub(super) struct Check {
    action: Action,
    delay: Duration,
    period: Duration,
    timeout: Duration,
    successes: u32,
    failures: u32,
}

/// The three probes of a container.
#[derive(Debug, Clone, Default)]
pub(super) struct Checks {
    pub(super) startup: Option<Check>,
    pub(super) readiness: Option<Check>,
    pub(super) liveness: Option<Check>,
}

impl Checks {
    /// Those of a container.
    ///
    /// # Errors
    /// One is of a kind that is not supported.
    pub(super) fn of(container: &Container, address: Ipv4Addr) -> anyhow::Result<Self> {
        let check = |name: &str, probe: &Option<Probe>| {
            let check = probe.as_ref().map(|probe| Check::of(probe, container, address)).transpose();
            check.with_context(|| format!("{name} of container {}", container.name))
        };
        Ok(Self {
            startup: check("startupProbe", &container.startup_probe)?,
            readiness: check("readinessProbe", &container.readiness_probe)?,
            liveness: check("livenessProbe", &container.liveness_probe)?,
        })
    }
}

impl Check {
    fn of(probe: &Probe, container: &Container, address: Ipv4Addr) -> anyhow::Result<Self> {
        let seconds =
            |value: Option<i32>, default: u64| Duration::from_secs(value.and_then(|value| value.try_into().ok()).unwrap_or(default));
        let count = |value: Option<i32>, default: u32| value.and_then(|value| value.try_into().ok()).unwrap_or(default).max(1);
        Ok(Self {
            action: Action::of_probe(probe, container, address)?,
            delay: seconds(probe.initial_delay_seconds, 0),
            period: seconds(probe.period_seconds, 10).max(Duration::from_secs(1)),
            timeout: seconds(probe.timeout_seconds, 1).max(Duration::from_secs(1)),
            successes: count(probe.success_threshold, 1),
            failures: count(probe.failure_threshold, 3),
        })
    }

    /// The same without its initial delay.
    pub(super) fn at_once(mut self) -> Self {
        self.delay = Duration::ZERO;
        self
    }

    /// Asks for ever, and tells each result that has come often enough.
    pub(super) async fn follow(&self, exec: &Exec, mut tell: impl FnMut(bool)) -> std::convert::Infallible {
        tokio::time::sleep(self.delay).await;
        let (mut successes, mut failures) = (0, 0);
        loop {
            let asked = tokio::time::Instant::now();
            if self.ask(exec).await {
                (successes, failures) = (successes + 1, 0);
            } else {
                (successes, failures) = (0, failures + 1);
            }
            if successes >= self.successes {
                tell(true);
            } else if failures >= self.failures {
                tell(false);
            }
            tokio::time::sleep_until(asked + self.period).await;
        }
    }

    async fn ask(&self, exec: &Exec) -> bool {
        match tokio::time::timeout(self.timeout, self.action.run(exec)).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::debug!(error = format!("{error:#}"), "a probe failed");
                false
            }
            Err(_) => {
                tracing::debug!(timeout = ?self.timeout, "a probe was not answered");
                false
            }
        }
    }

    /// Asks until the results add up to success (true) or failure.
    pub(super) async fn until(&self, exec: &Exec, wanted: bool) -> bool {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let ask = self.follow(exec, |result| {
            // One that is not waited for any more.
            let _ = sender.try_send(result);
        });
        let wait = async {
            loop {
                match receiver.recv().await {
                    // A startup probe ends with either result, a liveness probe with failure alone.
                    Some(result) if result == wanted || !result => return result,
                    Some(_) => {}
                    None => return false,
                }
            }
        };
        tokio::select! {
            never = ask => match never {},
            result = wait => result,
        }
    }
}
