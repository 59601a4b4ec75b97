//! The life of one container: started, probed, started again, ended.

mod action;
mod probe;
mod runtime;
mod spec;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container as Spec;
use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use self::action::Action;
use self::probe::Checks;
use self::runtime::{Bundle, Exec, Running};
pub(super) use self::spec::{Mount, Surroundings, read_only_root, specification, user};
use super::report::{Phase, Report};

/// Wait before a container that ended is started again. A kubelet waits 10 s and ever longer.
const RESTART: Duration = Duration::from_secs(1);
/// A container gets this long after its hook, however long that took.
const AFTER_HOOK: Duration = Duration::from_secs(2);

/// The order to end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// Time from the hook to SIGKILL; zero: killed at once, without its hook.
    pub(super) grace: Duration,
}

/// A container that is to run.
pub(super) struct Container {
    /// Directory of its logs and files.
    pub(super) directory: PathBuf,
    /// Its specification for the runtime.
    pub(super) specification: Value,
    /// The image's root where it is to have a writable layer.
    pub(super) layer_over: Option<PathBuf>,
    pub(super) health: Health,
    /// Whether it is started again after any end.
    pub(super) restart: bool,
    /// The grace period of its Pod.
    pub(super) grace: Duration,
}

/// Probes and hook of a container.
pub(super) struct Health {
    checks: Checks,
    pre_stop: Option<Action>,
}

impl Health {
    /// Those of a container.
    ///
    /// # Errors
    /// One is of a kind that is not supported.
    pub(super) fn of(container: &Spec, address: Ipv4Addr) -> anyhow::Result<Self> {
        let lifecycle = container.lifecycle.as_ref();
        anyhow::ensure!(
            lifecycle.is_none_or(|hooks| hooks.post_start.is_none()),
            "container {}: postStart is not supported",
            container.name
        );
        let hook = lifecycle.and_then(|hooks| hooks.pre_stop.as_ref());
        let pre_stop = hook.map(|hook| Action::of_hook(hook, container, address)).transpose()?;
        Ok(Self { checks: Checks::of(container, address)?, pre_stop })
    }
}

/// The end of one run of a container.
enum End {
    /// By itself, with this code.
    Exited(i32),
    /// Its startup or liveness probe failed.
    Unhealthy,
    Stopped(Stop),
}

impl Container {
    /// Runs it until it is stopped, or has ended for good. `tell` takes each change of its state.
    ///
    /// # Errors
    /// It can't be started.
    pub(super) async fn run(
        self,
        mut stop: watch::Receiver<Option<Stop>>,
        tell: impl Fn(&dyn Fn(&mut Report)) + Sync,
    ) -> anyhow::Result<()> {
        for restarts in 0_u32.. {
            let mut running = self.start(restarts)?;
            let started = Timestamp::now();
            tell(&|report| *report = Report { restarts, phase: Phase::Running(started), ..Report::default() });
            let exec = running.exec();
            let end = tokio::select! {
                code = running.ended() => End::Exited(code?),
                order = stopped(&mut stop) => End::Stopped(order),
                () = self.watch_health(&exec, &tell) => End::Unhealthy,
            };
            let code = match end {
                End::Exited(code) => code,
                End::Unhealthy => self.end(&mut running, self.grace, &tell).await?,
                End::Stopped(order) => self.end(&mut running, order.grace, &tell).await?,
            };
            tell(&|report| {
                *report = Report { restarts, phase: Phase::Ended { code, started, ended: Timestamp::now() }, ..Report::default() }
            });
            if matches!(end, End::Stopped(_)) || !self.restart {
                return Ok(());
            }
            tokio::select! {
                _ = stopped(&mut stop) => return Ok(()),
                () = tokio::time::sleep(RESTART) => {}
            }
        }
        Ok(())
    }

    fn start(&self, restarts: u32) -> anyhow::Result<Running> {
        let bundle = Bundle {
            directory: self.directory.join(restarts.to_string()),
            name: format!("container-{restarts}"),
            log: &self.directory.join(format!("{restarts}.log")),
            pid_file: &self.directory.join("pid"),
        };
        Running::start(bundle, &self.specification, self.layer_over.as_deref())
    }

    /// Tells when it is started and ready; returns when it is to be started again.
    async fn watch_health(&self, exec: &Exec, tell: &(impl Fn(&dyn Fn(&mut Report)) + Sync)) {
        if let Some(startup) = &self.health.checks.startup
            && !startup.until(exec, true).await
        {
            return;
        }
        tell(&|report| report.started = true);
        let liveness = async {
            match &self.health.checks.liveness {
                Some(liveness) => while liveness.until(exec, false).await {},
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            never = self.readiness(exec, tell, false) => match never {},
            () = liveness => {}
        }
    }

    async fn readiness(&self, exec: &Exec, tell: &(impl Fn(&dyn Fn(&mut Report)) + Sync), at_once: bool) -> std::convert::Infallible {
        match self.health.checks.readiness.clone() {
            Some(check) => {
                let check = if at_once { check.at_once() } else { check };
                check.follow(exec, |ready| tell(&|report| report.ready = ready)).await
            }
            None => {
                tell(&|report| report.ready = report.started);
                std::future::pending().await
            }
        }
    }

    /// Ends it as a kubelet does: the hook, SIGTERM, and SIGKILL after the grace period; its readiness goes on being asked for.
    async fn end(&self, running: &mut Running, grace: Duration, tell: &(impl Fn(&dyn Fn(&mut Report)) + Sync)) -> anyhow::Result<i32> {
        let exec = running.exec();
        let deadline = Instant::now() + grace;
        if !grace.is_zero() {
            let hook = async {
                if let Some(hook) = &self.health.pre_stop
                    && let Ok(Err(error)) = tokio::time::timeout_at(deadline, hook.run(&exec)).await
                {
                    tracing::info!(directory = %self.directory.display(), error = format!("{error:#}"), "a preStop hook failed");
                }
            };
            let ended = async {
                hook.await;
                running.signal(Signal::SIGTERM).await;
                let deadline = deadline.max(Instant::now() + AFTER_HOOK);
                tokio::time::timeout_at(deadline, running.ended()).await
            };
            tokio::select! {
                never = self.readiness(&exec, tell, true) => match never {},
                ended = ended => if let Ok(code) = ended { return code },
            }
        }
        running.signal(Signal::SIGKILL).await;
        running.ended().await
    }
}

/// The order to stop, when it comes; never, if it can't come any more.
async fn stopped(stop: &mut watch::Receiver<Option<Stop>>) -> Stop {
    match stop.wait_for(Option::is_some).await.map(|order| *order) {
        Ok(Some(order)) => order,
        Ok(None) | Err(_) => std::future::pending().await,
    }
}
