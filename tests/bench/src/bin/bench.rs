//! The end-to-end benchmarks; run by `make bench` inside the bed.
//!
//! Usage: `bench OUT.md [CRITERION.md]`, which draws the plots into `performance` beside it, `bench plot OUT.md DIR` to draw those of a page that
//! is there, or one part alone, without a file: `bench hostile` for what tenants notice of a hostile one,
//! `bench throughput` for requests a second, `bench webhook` for admission reviews,
//! `bench streams` for TCP and UDP services, `bench certificates` for 10,000 hosts with TLS,
//! `bench statuses` for new Ingresses while statuses are written, `bench scrape` for `/metrics` of 10,000 hosts, `bench api` for lists of the inspection API of as many, `bench exact` for requests by metrics
//! and by the client (a minute, or `BENCH_EXACT_SECONDS`). `BENCH_SIZES=1000,10000` chooses the numbers of Ingresses; none: only
//! plain NGINX is measured.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::controller::{Controller, cpu, resident_bytes};
use bench::deaths::Deaths;
use bench::measure::{Prober, all_answer, percentile};
use bench::profiles;
use bench::report::{BenchReport, ms, progress};
use bench::{throughput, world};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use testkit::bed::Bed;
use testkit::echo::{self, Identity};
use testkit::kube::{Namespace, create_all, mk_ingress_class};

/// The address in statuses.
const STATUS: &str = "10.77.9.99";

/// Changes measured for each figure.
const SAMPLES: usize = 200;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let out = args
        .next()
        .context("usage: bench OUT.md [CRITERION.md], bench hostile, bench throughput, bench webhook, bench streams, bench certificates, bench statuses, bench scrape, bench api, bench exact or bench plot OUT.md DIR")?;
    if out.as_os_str() == "plot" {
        let (page, directory) = (args.next().context("bench plot OUT.md DIR")?, args.next().context("bench plot OUT.md DIR")?);
        return bench::plot::write(&page, &directory);
    }
    let mut report = BenchReport::default();
    if out.as_os_str() == "hostile" {
        return bench::hostile::measure(&mut report).await;
    }
    let criterion = args.next().map(std::fs::read_to_string).transpose()?.unwrap_or_default();
    let sizes = std::env::var("BENCH_SIZES").unwrap_or_else(|_| "1000,10000".into());
    // Now: later the load is our own.
    let machine = machine();
    let bed = Bed::from_env()?;
    if out.as_os_str() == "streams" {
        return bench::streams::measure(&bed, &mut report).await;
    }
    let ports = testkit::ports::Ports::take(5)?;
    let a = echo::start(address(11, ports[0]), Identity::named("a")).await?;
    let b = echo::start(address(12, ports[0]), Identity::named("b")).await?;
    let narthex = std::env::var("NARTHEX_BIN").context("NARTHEX_BIN names no binary: run `make bench`")?;
    let only_webhook = out.as_os_str() == "webhook";
    let only_statuses = out.as_os_str() == "statuses";
    let only_throughput = out.as_os_str() == "throughput";
    let only_certificates = out.as_os_str() == "certificates";
    let (only_scrape, only_api, only_exact) = (out.as_os_str() == "scrape", out.as_os_str() == "api", out.as_os_str() == "exact");
    if !(only_throughput || only_webhook || only_statuses || only_certificates || only_scrape || only_api || only_exact) {
        bench::follow::measure(&mut report, &narthex).await?;
        bench::leave::measure(&mut report, &narthex).await?;
    }
    let mut world = World { bed: &bed, namespace: bed.namespace("bench").await?, a: a.address(), b: b.address(), count: 0, extra: 0 };
    let class = kube::Api::all(world.namespace.client().clone());
    class.create(&PostParams::default(), &mk_ingress_class("nginx", "k8s.io/ingress-nginx")).await?;

    if only_throughput {
        world.grow(100).await?;
        let controller = Controller::start(&bed, world.namespace.name()).await?;
        return throughput::measure(&world.namespace, &controller, &ports, &mut report).await;
    }
    if only_exact {
        world.grow(100).await?;
        let controller = Controller::start(&bed, world.namespace.name()).await?;
        return bench::exact::measure(&world.namespace, &controller, [world.a, world.b], &mut report).await;
    }
    if only_scrape || only_api {
        world.grow(10_000).await?;
        let controller = Controller::start(&bed, world.namespace.name()).await?;
        return match only_api {
            true => bench::api::measure(&world.namespace, &controller, world.count, &mut report).await,
            false => bench::scrape::measure(&controller, world.count, &mut report).await,
        };
    }
    if only_certificates {
        return bench::certificates::measure(&bed, a.address(), &mut report).await;
    }
    if only_webhook {
        world.grow(10_000).await?;
        return bench::webhook::measure(&bed, world.namespace.name(), world.count, &mut report).await;
    }
    if only_statuses {
        world.grow(10_000).await?;
        return world.beside_statuses(&mut report).await;
    }
    for size in sizes.split(',').filter(|size| !size.is_empty()) {
        world.grow(size.trim().parse()?).await?;
        let mut controller = Controller::start(&bed, world.namespace.name()).await?;
        world.endpoint_changes(&controller, &mut report, false).await?;
        world.endpoint_changes(&controller, &mut report, true).await?;
        world.new_ingresses(&controller, &mut report).await?;
        if world.count < 10_000 {
            world.many_at_once(&controller, &mut report).await?;
            profiles::measure(&world.namespace, &controller, &mut report).await?;
            throughput::measure(&world.namespace, &controller, &ports, &mut report).await?;
            bench::exact::measure(&world.namespace, &controller, [world.a, world.b], &mut report).await?;
            Deaths { bed: &bed, namespace: &world.namespace, host: world::host(1) }.measure(&mut controller, &mut report).await?;
        } else {
            bench::api::measure(&world.namespace, &controller, world.count, &mut report).await?;
            bench::scrape::measure(&controller, world.count, &mut report).await?;
            world.new_profiles(&controller, &mut report).await?;
            world.cold_start(&mut controller, &mut report).await?;
            footprint(&controller, &mut report).await?;
            controller.stop()?;
            bench::webhook::measure(&bed, world.namespace.name(), world.count, &mut report).await?;
            world.beside_statuses(&mut report).await?;
            world.annotate(&mut controller, &mut report).await?;
        }
    }
    bench::certificates::measure(&bed, a.address(), &mut report).await?;
    bench::streams::measure(&bed, &mut report).await?;
    bench::hostile::measure(&mut report).await?;
    report.write(&out, &machine, &criterion)?;
    bench::plot::write(&out, &out.with_file_name("performance"))
}

fn address(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 77, 9, last], port))
}

fn machine() -> String {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cpus} cores, Linux {}, everything on the same cores; load average before the start {load}", kernel.trim())
}

fn mb(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

struct World<'a> {
    bed: &'a Bed,
    namespace: Namespace,
    a: SocketAddr,
    b: SocketAddr,
    count: usize,
    /// Ingresses added beyond `count`, for unique names.
    extra: usize,
}

impl World<'_> {
    /// Adds Ingresses, Services and EndpointSlices up to `count`.
    #[expect(clippy::print_stdout, reason = "progress of a benchmark")]
    async fn grow(&mut self, count: usize) -> anyhow::Result<()> {
        let began = Instant::now();
        let (client, namespace) = (self.namespace.client(), self.namespace.name());
        progress(&format!("making {} Services", count - self.count));
        create_all(client, namespace, (self.count..count).map(world::service)).await?;
        progress("and as many EndpointSlices");
        create_all(client, namespace, (self.count..count).map(|number| world::slice(number, self.a))).await?;
        progress("and as many Ingresses");
        create_all(client, namespace, (self.count..count).map(world::ingress)).await?;
        self.count = count;
        println!("\n{count} Ingresses, Services and EndpointSlices (made in {:.0} s)", began.elapsed().as_secs_f64());
        Ok(())
    }

    /// Moves Services between the two echo servers.
    async fn endpoint_changes(&mut self, controller: &Controller, report: &mut BenchReport, churn: bool) -> anyhow::Result<()> {
        let reloads = controller.metric("narthex_reloads_total").await?;
        let churning = churn.then(|| self.churn());
        let mut samples = self.move_endpoints(controller).await?;
        if let Some(churning) = churning {
            churning.abort();
        }
        let reloads = controller.metric("narthex_reloads_total").await? - reloads;
        let (p50, p99) = (percentile(&mut samples, 50.0), percentile(&mut samples, 99.0));
        let figure = format!("p50 {}, p99 {}, {reloads} reloads", ms(p50), ms(p99));
        let what = if churn { " while 2 Ingresses a second are added" } else { "" };
        let what = format!("endpoint change served, {} Ingresses{what}", self.count);
        let (target, limit_p50, limit_p99, peer) = match (churn, self.count) {
            (true, _) => ("p99 ≤ 100 ms", 1_000, 100, "p50 3,225 ms"),
            (false, ..10_000) => ("p50 ≤ 15 ms, p99 ≤ 50 ms, 0 reloads", 15, 50, "p50 2,932, p99 3,986 ms"),
            (false, _) => ("p99 ≤ 100 ms", 1_000, 100, "over 8,000 ms"),
        };
        let met = p50 <= Duration::from_millis(limit_p50) && p99 <= Duration::from_millis(limit_p99) && reloads == 0.0;
        report.add(what, figure, target, met, peer);
        Ok(())
    }

    /// How long it took until each of many Services was served by the other echo server.
    async fn move_endpoints(&self, controller: &Controller) -> anyhow::Result<Vec<Duration>> {
        let mut prober = Prober::new(controller.http());
        let api = self.namespace.api::<EndpointSlice>();
        let mut samples = Vec::new();
        for sample in 0..SAMPLES {
            let number = sample * 7 % self.count;
            let host = world::host(number);
            let before = prober.ask(&host).await?.text();
            let (to, name) = if before.contains("server=a") { (self.b, "server=b") } else { (self.a, "server=a") };
            let patch = json!({ "endpoints": [{ "addresses": [to.ip()], "conditions": { "ready": true } }] });
            api.patch(&format!("s{number}-1"), &PatchParams::default(), &Patch::Merge(patch)).await?;
            samples.push(prober.until(&host, |response| response.text().contains(name)).await?);
        }
        Ok(samples)
    }

    /// Adds two Ingresses a second until it is aborted.
    fn churn(&mut self) -> tokio::task::JoinHandle<()> {
        let api = self.namespace.api::<Ingress>();
        let from = self.reserve(10_000);
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_millis(500));
            for number in from.. {
                tick.tick().await;
                // One that fails is one that is not added.
                let _ = api.create(&PostParams::default(), &named(number, 0)).await;
            }
        })
    }

    /// Numbers for Ingresses that are not part of the world.
    fn reserve(&mut self, count: usize) -> usize {
        let from = 100_000 + self.extra;
        self.extra += count;
        from
    }

    async fn new_ingresses(&mut self, controller: &Controller, report: &mut BenchReport) -> anyhow::Result<()> {
        let reloads = controller.metric("narthex_reloads_total").await?;
        let mut samples = self.create_and_wait(controller, SAMPLES, |ingress| ingress, Duration::ZERO).await?;
        let reloads = controller.metric("narthex_reloads_total").await? - reloads;
        let (p50, p99) = (percentile(&mut samples, 50.0), percentile(&mut samples, 99.0));
        let (target, limit, peer) = if self.count < 10_000 {
            ("p50 ≤ 15 ms, p99 ≤ 100 ms, 0 reloads", 15, "p50 3,164, max 3,554 ms")
        } else {
            ("p50 ≤ 25 ms, p99 ≤ 100 ms, 0 reloads", 25, "p50 10,320 ms at 5,000")
        };
        let met = p50 <= Duration::from_millis(limit) && p99 <= Duration::from_millis(100) && reloads == 0.0;
        let figure = format!("p50 {}, p99 {}, {reloads} reloads", ms(p50), ms(p99));
        report.add(format!("new Ingress served, known profile, {} Ingresses", self.count), figure, target, met, peer);
        Ok(())
    }

    /// New Ingresses while a controller writes the statuses of all others, and their Events.
    async fn beside_statuses(&mut self, report: &mut BenchReport) -> anyhow::Result<()> {
        let flags = [format!("--publish-status-address={STATUS}"), "--election-id=bench".to_owned()];
        let controller = Controller::start_with(self.bed, self.namespace.name(), &flags).await?;
        let written = |ingress: &Ingress| serde_json::to_value(&ingress.status).is_ok_and(|status| status.to_string().contains(STATUS));
        let api = self.namespace.api::<Ingress>();
        while !written(&api.get("i0").await?) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let new = self.create_and_wait(&controller, SAMPLES, |ingress| ingress, Duration::ZERO).await?;
        let moved = self.move_endpoints(&controller).await?;
        let list = api.list(&kube::api::ListParams::default()).await?;
        let left = list.items.iter().filter(|ingress| !written(ingress)).count();
        for (what, mut samples) in [("new Ingress", new), ("endpoint change", moved)] {
            let (p50, p99) = (percentile(&mut samples, 50.0), percentile(&mut samples, 99.0));
            let what = format!("{what} served while the statuses of {} are written", self.count);
            let figure = format!("p50 {}, p99 {}, {left} statuses left then", ms(p50), ms(p99));
            let met = p50 <= Duration::from_millis(10) && p99 <= Duration::from_millis(30) && left > 0;
            report.add(what, figure, "p50 ≤ 10 ms, p99 ≤ 30 ms", met, "");
        }
        Ok(())
    }

    async fn new_profiles(&mut self, controller: &Controller, report: &mut BenchReport) -> anyhow::Result<()> {
        let reloads = controller.metric("narthex_reloads_total").await?;
        let mut size = 4;
        let count = 6;
        let special = |mut ingress: Ingress| {
            size += 1;
            let annotation = ("nginx.ingress.kubernetes.io/proxy-buffer-size".to_owned(), format!("{size}k"));
            ingress.metadata.annotations.get_or_insert_default().extend([annotation]);
            ingress
        };
        // Reloads are spaced: each sample begins after a quiet time.
        let mut samples = self.create_and_wait(controller, count, special, Duration::from_secs(4)).await?;
        let reloads = (controller.metric("narthex_reloads_total").await? - reloads) / count as f64;
        let p50 = percentile(&mut samples, 50.0);
        let figure = format!("p50 {}, max {}, {reloads} reloads each", ms(p50), ms(percentile(&mut samples, 100.0)));
        let met = p50 <= Duration::from_millis(300) && reloads == 1.0;
        report.add(format!("new Ingress served, new profile, {} Ingresses", self.count), figure, "p50 ≤ 300 ms, one reload", met, "");
        Ok(())
    }

    async fn create_and_wait(
        &mut self,
        controller: &Controller,
        count: usize,
        mut change: impl FnMut(Ingress) -> Ingress,
        pause: Duration,
    ) -> anyhow::Result<Vec<Duration>> {
        let api = self.namespace.api::<Ingress>();
        let from = self.reserve(count);
        let mut prober = Prober::new(controller.http());
        let mut samples = Vec::new();
        for number in from..from + count {
            tokio::time::sleep(pause).await;
            prober.ask(&world::host(0)).await?;
            api.create(&PostParams::default(), &change(named(number, 0))).await?;
            samples.push(prober.until(&world::host(number), |response| response.status == 200).await?);
        }
        Ok(samples)
    }

    async fn many_at_once(&mut self, controller: &Controller, report: &mut BenchReport) -> anyhow::Result<()> {
        let reloads = controller.metric("narthex_reloads_total").await?;
        let count = 1_000;
        let from = self.reserve(count);
        let ingresses = (from..from + count).map(|number| named(number, 0));
        create_all(self.namespace.client(), self.namespace.name(), ingresses).await?;
        let began = Instant::now();
        let mut prober = Prober::new(controller.http());
        for number in from..from + count {
            prober.until(&world::host(number), |response| response.status == 200).await?;
        }
        let took = began.elapsed();
        let reloads = controller.metric("narthex_reloads_total").await? - reloads;
        let met = took <= Duration::from_secs(1) && reloads <= 1.0;
        let figure = format!("{} after the last answer, {reloads} reloads", ms(took));
        report.add("1,000 Ingresses created at once, all served", figure, "≤ 1 s after the last answer, ≤ 1 reload", met, "");
        Ok(())
    }

    async fn cold_start(&self, controller: &mut Controller, report: &mut BenchReport) -> anyhow::Result<()> {
        controller.stop()?;
        controller.launch()?;
        let cold = all_answer(controller.http(), (0..self.count).map(world::host), 8).await?;
        controller.healthy().await?;
        let figure = format!("{:.1} s, the first after {:.1} s", cold.all.as_secs_f64(), cold.first.as_secs_f64());
        report.add(
            format!("cold start, {} Ingresses, all hosts answer", self.count),
            figure,
            "≤ 3 s",
            cold.all <= Duration::from_secs(3),
            "21 s",
        );
        ensure!(self.bed.kubeconfig().exists());
        Ok(())
    }

    /// Gives every Ingress ten annotations, and measures the memory of a controller that starts with them.
    async fn annotate(&self, controller: &mut Controller, report: &mut BenchReport) -> anyhow::Result<()> {
        world::annotate_all(&self.namespace, self.count).await?;
        controller.stop()?;
        controller.launch()?;
        let cold = all_answer(controller.http(), (0..self.count).map(world::host), 8).await?;
        controller.healthy().await?;
        let resident = resident_bytes(controller.pid())?;
        let figure = format!("{}; cold start {:.1} s", mb(resident), cold.all.as_secs_f64());
        report.add(format!("controller memory, {} Ingresses with ten annotations each", self.count), figure, "", true, "");
        Ok(())
    }
}

/// An Ingress with a host of its own for the Service of another.
fn named(number: usize, service: usize) -> Ingress {
    use testkit::kube::{PathType, mk_ingress};
    let service = format!("s{service}");
    mk_ingress(&format!("i{number}")).class("nginx").host(&world::host(number)).path("/", PathType::Prefix, &service, 80).build()
}

async fn footprint(controller: &Controller, report: &mut BenchReport) -> anyhow::Result<()> {
    let resident = resident_bytes(controller.pid())?;
    report.add("controller memory, 10,000 Ingresses", mb(resident), "≤ 150 MB", resident <= 150_000_000, "488 MB");
    let (master, workers) = controller.nginx()?;
    let master = resident_bytes(master)?;
    let worker = workers.iter().filter_map(|pid| resident_bytes(*pid).ok()).max().unwrap_or_default();
    let met = master <= 60_000_000 && worker <= 120_000_000;
    let figure = format!("{} / {}", mb(master), mb(worker));
    report.add("NGINX master / worker after all hosts were asked", figure, "≤ 60 / 120 MB", met, "1,262 / 762 MB");
    let conf = std::fs::metadata(controller.work_dir().join("nginx.conf"))?.len();
    report.add("nginx.conf, 10,000 Ingresses", format!("{:.1} kB", conf as f64 / 1e3), "≤ 100 kB", conf <= 100_000, "35 MB");

    let (before, began) = (cpu(controller.pid())?, Instant::now());
    tokio::time::sleep(Duration::from_secs(20)).await;
    let share = (cpu(controller.pid())? - before).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    report.add("idle, 10,000 Ingresses", format!("{share:.1}% of a core"), "≤ 1% of a core", share <= 1.0, "");
    Ok(())
}
