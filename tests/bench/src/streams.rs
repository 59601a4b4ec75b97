//! TCP and UDP services: the time until a changed endpoint is served, and connections a second beside plain `stream`.

use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::bed::Bed;
use testkit::ports::Ports;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::controller::{Controller, QUIET, cpu};
use crate::measure::percentile;
use crate::report::{BenchReport, ms};

/// Changes measured for each protocol.
const SAMPLES: usize = 200;
/// Rounds of connections, and the length of one.
const ROUNDS: (usize, Duration) = (5, Duration::from_secs(3));
/// Clients that connect one time after the other.
const CLIENTS: usize = 16;
/// Longest wait for an effect.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two servers, at two addresses and one port: by TCP they say a letter and close, by UDP they answer with it.
struct Servers {
    addresses: [SocketAddr; 2],
    _tasks: JoinSet<()>,
}

impl Servers {
    async fn start() -> anyhow::Result<Self> {
        let port = Ports::one()?;
        let addresses = [SocketAddr::from(([10, 77, 9, 21], port)), SocketAddr::from(([10, 77, 9, 22], port))];
        let mut tasks = JoinSet::new();
        for (address, letter) in addresses.into_iter().zip(*b"ab") {
            let (listener, socket) = (TcpListener::bind(address).await?, UdpSocket::bind(address).await?);
            tasks.spawn(async move {
                while let Ok((mut stream, _)) = listener.accept().await {
                    let _ = stream.write_all(&[letter]).await;
                }
            });
            tasks.spawn(async move {
                let mut bytes = [0; 64];
                while let Ok((_, peer)) = socket.recv_from(&mut bytes).await {
                    let _ = socket.send_to(&[letter], peer).await;
                }
            });
        }
        Ok(Self { addresses, _tasks: tasks })
    }
}

/// Adds the rows.
///
/// # Errors
/// A change is never served, or NGINX can't be started.
pub async fn measure(bed: &Bed, report: &mut BenchReport) -> anyhow::Result<()> {
    let namespace = bed.namespace("streams").await?;
    let servers = Servers::start().await?;
    let [first, second] = servers.addresses;
    let ports = |protocol: &str| json!([{"name": protocol, "port": first.port(), "protocol": protocol.to_uppercase()}]);
    let endpoints = |address: IpAddr| json!([{"addresses": [address], "conditions": {"ready": true}}]);
    let (tcp, udp, plain) = (Ports::one()?, Ports::one()?, Ports::one()?);
    for (protocol, port) in [("tcp", tcp), ("udp", udp)] {
        let service = json!({"metadata": {"name": protocol}, "spec": {"ports": ports(protocol)}});
        namespace.api::<Service>().create(&PostParams::default(), &serde_json::from_value(service)?).await?;
        let slice = json!({
            "metadata": {"name": protocol, "labels": {"kubernetes.io/service-name": protocol}},
            "addressType": "IPv4", "ports": ports(protocol), "endpoints": endpoints(first.ip()),
        });
        namespace.api::<EndpointSlice>().create(&PostParams::default(), &serde_json::from_value(slice)?).await?;
        let data = json!({port.to_string(): format!("{}/{protocol}:{protocol}", namespace.name())});
        let map = json!({"metadata": {"name": format!("{protocol}-services")}, "data": data});
        namespace.api::<ConfigMap>().create(&PostParams::default(), &serde_json::from_value(map)?).await?;
    }
    let flags = ["tcp", "udp"].map(|protocol| format!("--{protocol}-services-configmap={}/{protocol}-services", namespace.name()));
    let controller = Controller::start_with(bed, namespace.name(), &[QUIET.map(str::to_owned).to_vec(), flags.to_vec()].concat()).await?;
    let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let slices = namespace.api::<EndpointSlice>();
    let reloads = controller.metric("narthex_reloads_total").await?;
    for (protocol, port) in [("tcp", tcp), ("udp", udp)] {
        let mut samples = changes(&slices, protocol, local(port), [first.ip(), second.ip()], &endpoints).await?;
        let (p50, p99) = (percentile(&mut samples, 50.0), percentile(&mut samples, 99.0));
        let made = controller.metric("narthex_reloads_total").await? - reloads;
        let what = format!("endpoint change of a {} service served", protocol.to_uppercase());
        let met = p99 <= Duration::from_millis(50) && made == 0.0;
        report.add(what, format!("p50 {}, p99 {}, {made} reloads", ms(p50), ms(p99)), "p99 ≤ 50 ms, 0 reloads", met, "");
    }

    // Both servers, as a plain upstream has them.
    let both = json!({"endpoints": [endpoints(first.ip())[0], endpoints(second.ip())[0]]});
    slices.patch("tcp", &PatchParams::default(), &Patch::Merge(both)).await?;
    let workers = controller.nginx()?.1;
    let reference = Plain::start(local(plain), servers.addresses, workers.len())?;
    let ways = [(local(plain), reference.workers()?), (local(tcp), workers)];
    for (address, _) in &ways {
        until(*address, b"b").await?;
    }
    let (mut rates, mut costs, mut absolute) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS.0 {
        let [(plain, plain_cost), (ours, cost)] = [round(&ways[0]).await?, round(&ways[1]).await?];
        rates.push(ours / plain);
        costs.push(plain_cost / cost);
        absolute.push(ours);
    }
    let (rate, cost, absolute) = (median(rates), median(costs), median(absolute));
    let figure = format!("{rate:.2} ({absolute:.0} a second), CPU of the workers {cost:.2}");
    report.add("connections a second through a TCP service, plain `stream` = 1", figure, "≥ 0.8", rate >= 0.8, "");
    Ok(())
}

/// The times until changes of the endpoint are served.
async fn changes(
    slices: &Api<EndpointSlice>,
    protocol: &str,
    address: SocketAddr,
    endpoints: [IpAddr; 2],
    list: &impl Fn(IpAddr) -> Value,
) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::new();
    for sample in 1..=SAMPLES {
        let now = sample % 2;
        let patch = json!({"endpoints": list(endpoints[now])});
        slices.patch(protocol, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let began = Instant::now();
        let expected = [b"ab"[now]];
        match protocol {
            "tcp" => until(address, &expected).await?,
            _ => until_udp(address, &expected).await?,
        }
        samples.push(began.elapsed());
    }
    Ok(samples)
}

async fn until(address: SocketAddr, expected: &[u8]) -> anyhow::Result<()> {
    let began = Instant::now();
    while ask(address).await.unwrap_or_default() != expected {
        if began.elapsed() > PATIENCE {
            bail!("no right answer at {address} within {PATIENCE:?}");
        }
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    Ok(())
}

async fn until_udp(address: SocketAddr, expected: &[u8]) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut bytes = [0; 64];
    while began.elapsed() < PATIENCE {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).await?;
        socket.send_to(b"who", address).await?;
        if let Ok(Ok(read)) = timeout(Duration::from_millis(100), socket.recv(&mut bytes)).await
            && bytes[..read] == *expected
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    bail!("no right answer at {address} within {PATIENCE:?}")
}

async fn ask(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    TcpStream::connect(address).await?.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// Connections a second, and seconds of the workers' processors for each.
async fn round((address, workers): &(SocketAddr, Vec<u32>)) -> anyhow::Result<(f64, f64)> {
    let used = || workers.iter().map(|pid| cpu(*pid)).sum::<anyhow::Result<Duration>>();
    let (before, began, address) = (used()?, Instant::now(), *address);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(async move {
            let mut count = 0_u32;
            while began.elapsed() < ROUNDS.1 {
                ask(address).await?;
                count += 1;
            }
            std::io::Result::Ok(count)
        });
    }
    let counts = clients.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let count = f64::from(counts.iter().sum::<u32>());
    Ok((count / began.elapsed().as_secs_f64(), (used()? - before).as_secs_f64() / count))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// An NGINX with one stream server. Dropping it ends it.
struct Plain {
    child: Child,
    _scratch: tempfile::TempDir,
}

impl Plain {
    fn start(listen: SocketAddr, servers: [SocketAddr; 2], workers: usize) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let [one, two] = servers;
        let text = format!(
            "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\ndaemon off;\nworker_processes {workers};\npid {dir}/pid;\n\
             error_log stderr crit;\nevents {{ worker_connections 16384; multi_accept on; }}\n\
             stream {{ upstream u {{ server {one}; server {two}; }} server {{ listen {listen} backlog=4096; proxy_pass u; }} }}\n",
            dir = scratch.path().display()
        );
        let conf = scratch.path().join("nginx.conf");
        std::fs::write(&conf, text)?;
        let child = Command::new("nginx").arg("-c").arg(&conf).stdout(Stdio::null()).spawn().context("nginx")?;
        Ok(Self { child, _scratch: scratch })
    }

    fn workers(&self) -> anyhow::Result<Vec<u32>> {
        let master = self.child.id();
        let began = Instant::now();
        loop {
            let children = std::fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
            let workers: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            if !workers.is_empty() || began.elapsed() > PATIENCE {
                return Ok(workers);
            }
        }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}
