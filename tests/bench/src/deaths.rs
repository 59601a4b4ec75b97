//! Interruptions when a part dies: each part is killed under load.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::ensure;
use kube::api::PostParams;
use testkit::bed::Bed;
use testkit::http::Request;
use testkit::kube::{Namespace, PathType, mk_ingress};
use testkit::load::{Load, Running};

use crate::controller::Controller;
use crate::measure::Prober;
use crate::report::{BenchReport, ms};

/// Requests a second while parts die.
const RATE: u32 = 500;
/// Requests before a death, and after the recovery.
const SHARE: u64 = 250;
/// Longest wait for a recovery.
const PATIENCE: Duration = Duration::from_secs(60);

/// The set-up in which parts are killed.
pub struct Deaths<'a> {
    /// The bed whose API server dies.
    pub bed: &'a Bed,
    /// A namespace that the controller watches, with the Service `s1` in it.
    pub namespace: &'a Namespace,
    /// A host that is served.
    pub host: String,
}

impl Deaths<'_> {
    /// Kills one part after the other.
    ///
    /// # Errors
    /// Something never recovers.
    pub async fn measure(&self, controller: &mut Controller, report: &mut BenchReport) -> anyhow::Result<()> {
        let load = self.load(controller).await;
        let took = self.master(controller).await?;
        finish(load, "NGINX master killed, the next one serves", took, "master: never", report).await;

        let load = self.load(controller).await;
        let took = self.workers(controller).await?;
        finish(load, "all NGINX workers killed, served again", took, "", report).await;

        let load = self.load(controller).await;
        let took = restart(controller).await?;
        finish(load, "controller killed, the next one is ready", took, "", report).await;

        let load = self.load(controller).await;
        let took = self.api_server(controller).await?;
        finish(load, "API server killed, a change after its return is served", took, "", report).await;
        Ok(())
    }

    async fn load(&self, controller: &Controller) -> Running {
        let load = Load::new(Request::get(controller.http(), "/").host(&self.host), RATE).start();
        load.begin(SHARE).await;
        load
    }

    /// The time until the workers of a new master answer. Meanwhile the orphaned ones do.
    async fn master(&self, controller: &Controller) -> anyhow::Result<Duration> {
        let starts = controller.metric("narthex_nginx_starts_total").await?;
        let began = Instant::now();
        kill(controller.nginx()?.0)?;
        while controller.metric("narthex_nginx_starts_total").await? <= starts {
            ensure!(began.elapsed() < PATIENCE, "no NGINX was started within {PATIENCE:?} after its master was killed");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.served(controller).await?;
        Ok(began.elapsed())
    }

    async fn workers(&self, controller: &Controller) -> anyhow::Result<Duration> {
        let began = Instant::now();
        for worker in controller.nginx()?.1 {
            kill(worker)?;
        }
        self.served(controller).await?;
        Ok(began.elapsed())
    }

    /// The time from the return of the API server until an Ingress that is made then is served.
    async fn api_server(&self, controller: &Controller) -> anyhow::Result<Duration> {
        self.bed.api_server().kill().await?;
        self.bed.api_server().start().await?;
        let began = Instant::now();
        let host = "after.example.com";
        let ingress = mk_ingress("after").class("nginx").host(host).path("/", PathType::Prefix, "s1", 80).build();
        // The client's connection died with the server.
        while let Err(error) = self.namespace.api().create(&PostParams::default(), &ingress).await {
            ensure!(began.elapsed() < PATIENCE, "the API server makes no Ingress after its return: {error}");
        }
        Prober::new(controller.http()).until(host, |response| response.status == 200).await?;
        Ok(began.elapsed())
    }

    async fn served(&self, controller: &Controller) -> anyhow::Result<()> {
        Prober::new(controller.http()).until(&self.host, |response| response.status == 200).await.map(drop)
    }
}

/// The time until a new controller, started at once, is ready. NGINX goes on meanwhile.
async fn restart(controller: &mut Controller) -> anyhow::Result<Duration> {
    controller.kill()?;
    let began = Instant::now();
    controller.launch()?;
    controller.healthy().await?;
    Ok(began.elapsed())
}

fn kill(pid: u32) -> std::io::Result<()> {
    Command::new("kill").args(["-9", &pid.to_string()]).status().map(drop)
}

#[expect(clippy::print_stdout, reason = "what failed, for the operator of the benchmark")]
async fn finish(load: Running, what: &str, took: Duration, peer: &'static str, report: &mut BenchReport) {
    load.begin(SHARE).await;
    let seen = load.stop().await;
    let (failed, requests) = (seen.failures.len(), seen.requests());
    let figure = format!("{}; {failed} of {requests} requests failed, slowest {}", ms(took), ms(seen.percentile(100.0)));
    report.add(what, figure, "≤ 1 s", took <= Duration::from_secs(1), peer);
    if failed > 0 {
        println!("  {seen}");
    }
}
