//! Everything that clients have open while Pods come and go.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use e2e::{Case, Servers};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use testkit::http::Request;
use testkit::kube::{IngressBuilder, PathType, mk_ingress, mk_service, mk_slice};
use testkit::load::{Load, Running};
use testkit::service::{Service, Targets};
use testkit::streams::{self, StreamEnd};
use testkit::{grpc, poll, ports};
use tokio::sync::watch;
use tokio::task::JoinSet;

const WEB: &str = "web.example.com";
const SOCKET: &str = "socket.example.com";
const GRPC: &str = "grpc.example.com";
/// Requests a second on kept connections and on new ones: 500 in all.
const RATES: [u32; 2] = [300, 200];
/// Streams of each kind.
const STREAMS: usize = 3;
/// Duration of an answer that takes long.
const SLOW: Duration = Duration::from_secs(20);
/// Duration of a stream that ends by itself.
const SHORT: Duration = Duration::from_secs(5);
/// A stream that nothing but a deadline ends.
const LONG: Duration = Duration::from_secs(24 * 3600);
const PATIENCE: Duration = Duration::from_secs(60);

/// The servers behind the rules.
pub(crate) struct Backends {
    _echo: Servers,
    _streams: streams::Server,
    _grpc: grpc::Server,
}

impl Backends {
    /// Starts them, with the Ingresses of this class that lead to them.
    pub(crate) async fn start(case: &Case, class: &str) -> anyhow::Result<Self> {
        let echo = case.echo(2).await?;
        let addresses = ports::addresses(2)?;
        let at = |index: usize| SocketAddr::from((addresses[index], 9000));
        for (service, address) in [("socket", at(0)), ("grpc", at(1))] {
            case.create(&mk_service(service, 80, 9000, None)).await?;
            case.create(&mk_slice(service, service, &[address])).await?;
        }
        case.certificate("grpc", &[GRPC]).await?;
        let rule = |host: &str, service: &str| rule(class, host, service);
        case.create(&rule(WEB, "echo").build()).await?;
        case.create(&rule(SOCKET, "socket").build()).await?;
        case.create(&rule(GRPC, "grpc").annotation("backend-protocol", "GRPC").tls(GRPC, "grpc").build()).await?;
        Ok(Self { _echo: echo, _streams: streams::Server::start(at(0)).await?, _grpc: grpc::Server::start(at(1), None).await? })
    }
}

/// A rule of a class, or of none if that is empty, named like its host.
pub(crate) fn rule(class: &str, host: &str, service: &str) -> IngressBuilder {
    let rule = mk_ingress(host).host(host).path("/", PathType::Prefix, service, 80);
    if class.is_empty() { rule } else { rule.class(class) }
}

/// Something that went wrong, and with which Pod.
struct Fault {
    target: Option<IpAddr>,
    what: String,
}

/// The traffic of all clients, through one Service.
pub(crate) struct Traffic {
    service: Service,
    loads: Vec<Running>,
    stop: watch::Sender<bool>,
    streams: JoinSet<Vec<Fault>>,
}

impl Traffic {
    /// Starts it when the Service answers for all rules. `deadline`: there are streams that last for ever; each has to live so long after its
    /// Pod was given up.
    pub(crate) async fn start(case: &Case, service: &str, deadline: Option<Duration>) -> anyhow::Result<Self> {
        let service = Service::follow(case.namespace.api::<EndpointSlice>(), service);
        let targets = service.targets();
        until_served(&targets).await.with_context(|| super::pods::logs(case))?;
        let request = Request::get(SocketAddr::from(([0, 0, 0, 0], 80)), "/").host(WEB);
        let kept = Load::new(request.clone(), RATES[0]).to(Arc::clone(&targets));
        let fresh = Load::new(request.header("Connection", "close"), RATES[1]).to(Arc::clone(&targets));
        let (stop, stopping) = watch::channel(false);
        let mut streams = JoinSet::new();
        for _ in 0..STREAMS {
            for kind in [Kind::Slow, Kind::Socket, Kind::Grpc] {
                streams.spawn(again_and_again(kind, Arc::clone(&targets), stopping.clone()));
            }
            if let Some(deadline) = deadline {
                streams.spawn(for_ever(Arc::clone(&targets), deadline, stopping.clone()));
            }
        }
        Ok(Self { service, loads: vec![kept.start(), fresh.start()], stop, streams })
    }

    /// The endpoints of now.
    pub(crate) fn targets(&self) -> Vec<IpAddr> {
        self.service.targets().all()
    }

    /// Waits until this many requests were begun from now on.
    pub(crate) async fn flow(&self, requests: u64) {
        self.loads[0].begin(requests).await;
    }

    /// Ends it when everything open has ended; fails with all that went wrong, but for what these Pods did.
    pub(crate) async fn stop(mut self, excused: &BTreeSet<IpAddr>) -> anyhow::Result<usize> {
        let (mut faults, mut requests) = (Vec::new(), 0);
        for load in self.loads.drain(..) {
            let report = load.stop().await;
            requests += report.requests();
            let failures = report.failures.into_iter();
            faults.extend(
                failures.map(|failure| Fault { target: failure.target, what: format!("at {:.1?}: {}", failure.at, failure.error) }),
            );
        }
        self.stop.send_replace(true);
        while let Some(ended) = self.streams.join_next().await {
            faults.extend(ended?);
        }
        faults.retain(|fault| fault.target.is_none_or(|target| !excused.contains(&target)));
        let (count, first) = (faults.len(), &faults[..faults.len().min(20)]);
        let text: Vec<String> = first.iter().map(|fault| format!("{:?}: {}", fault.target, fault.what)).collect();
        ensure!(faults.is_empty(), "{count} faults beside {requests} requests, the first of them:\n{}", text.join("\n"));
        Ok(requests)
    }
}

async fn until_served(targets: &Targets) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        for target in targets.all() {
            let request = |host: &str| Request::get(SocketAddr::from((target, 80)), "/").host(host).header("Connection", "close");
            let answer = request(WEB).send().await?;
            ensure!(answer.status == 200, "{WEB}: {}", answer.status);
            streams::run(SocketAddr::from((target, 80)), SOCKET, Duration::ZERO).await?;
            let answer = call(target, Duration::ZERO).await?;
            ensure!(answer.grpc_status.as_deref() == Some("0"), "{GRPC}: {answer:?}");
        }
        ensure!(!targets.all().is_empty(), "the Service has no endpoints");
        Ok(())
    })
    .await
}

async fn call(target: IpAddr, time: Duration) -> anyhow::Result<grpc::Answer> {
    let millis = time.as_millis().to_string();
    grpc::call(SocketAddr::from((target, 443)), Some(GRPC), GRPC, "/hello.Greeter/Say", &[("x-stream-ms", &millis)]).await
}

/// Clients whose streams end by themselves.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A request that is answered late.
    Slow,
    /// An upgraded connection.
    Socket,
    /// A call with a stream of messages.
    Grpc,
}

impl Kind {
    async fn run(self, target: IpAddr) -> anyhow::Result<()> {
        match self {
            Self::Slow => {
                let request = Request::get(SocketAddr::from((target, 80)), format!("/?delay_ms={}", SLOW.as_millis())).host(WEB);
                let answer = request.timeout(SLOW * 3).send().await?;
                ensure!(answer.status == 200, "status {}", answer.status);
            }
            Self::Socket => {
                let end = streams::run(SocketAddr::from((target, 80)), SOCKET, SHORT).await?;
                ensure!(end == StreamEnd::Done, "closed before its end");
            }
            Self::Grpc => {
                let answer = tokio::time::timeout(PATIENCE, call(target, SHORT)).await.context("no end")??;
                ensure!(answer.grpc_status.as_deref() == Some("0"), "{answer:?}");
            }
        }
        Ok(())
    }
}

async fn again_and_again(kind: Kind, targets: Arc<Targets>, stopping: watch::Receiver<bool>) -> Vec<Fault> {
    let mut faults = Vec::new();
    while !*stopping.borrow() {
        let target = targets.pick();
        let ended = async { kind.run(target.context("the Service has no endpoint")?).await }.await;
        if let Err(error) = ended {
            faults.push(Fault { target, what: format!("{kind:?}: {error:#}") });
            // The pace of a client that tries again.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    faults
}

/// Opens another stream when one was closed, and checks that it was not closed too soon.
async fn for_ever(targets: Arc<Targets>, deadline: Duration, mut stopping: watch::Receiver<bool>) -> Vec<Fault> {
    let mut faults = Vec::new();
    loop {
        let Some(target) = targets.pick() else {
            faults.push(Fault { target: None, what: "the Service has no endpoint".to_owned() });
            return faults;
        };
        let ended = tokio::select! {
            ended = streams::run(SocketAddr::from((target, 80)), SOCKET, LONG) => ended,
            _ = stopping.wait_for(|stop| *stop) => return faults,
        };
        let what = match ended {
            Ok(StreamEnd::Closed(at)) => too_soon(&targets, target, at, deadline),
            Ok(StreamEnd::Done) => None,
            Err(error) => Some(format!("{error:#}")),
        };
        if let Some(what) = what {
            faults.push(Fault { target: Some(target), what: format!("a stream for ever: {what}") });
            // The pace of a client that tries again.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

fn too_soon(targets: &Targets, target: IpAddr, at: Instant, deadline: Duration) -> Option<String> {
    match targets.left(target) {
        None => Some("closed by a Pod that stays".to_owned()),
        Some(left) if at < left + deadline => Some(format!("closed {:?} after its Pod was given up", at.duration_since(left))),
        Some(_) => None,
    }
}
