//! An API server that is away while servers come and go, and whose store is compacted meanwhile.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::ensure;
use e2e::Case;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::api_proxy::{ApiProxy, Fault};
use testkit::bed::Bed;
use testkit::echo::{self, Handle, Identity};
use testkit::http::Request;
use testkit::kube::{mk_service, mk_slice};
use testkit::load::Load;
use testkit::ports;

use super::status::status_is;

const PORT: u16 = 8080;
const DRAIN: Duration = Duration::from_secs(5);
const STAYS: &str = "stays.example.com";
const GOES: &str = "goes.example.com";
const COMES: &str = "comes.example.com";

async fn server(address: Ipv4Addr) -> anyhow::Result<Handle> {
    echo::start((address, PORT).into(), Identity::named("echo")).await
}

/// Least time for which the API server is away.
fn away() -> Duration {
    if std::env::var_os("NARTHEX_SOAK").is_some() { Duration::from_secs(300) } else { Duration::ZERO }
}

/// Three servers, of which all but one are replaced again and again while the controller sees nothing.
async fn survive(usual: Fault) -> anyhow::Result<()> {
    let case = Case::with_bed(Bed::start_private().await?, "away").await?;
    let proxy = ApiProxy::start(case.bed.info()).await?;
    proxy.set(usual);
    let mut free = VecDeque::from(ports::addresses(6)?);
    let mut servers = VecDeque::new();
    let take = |free: &mut VecDeque<Ipv4Addr>| free.pop_front().expect("an address more than there are servers");
    let stays = server(take(&mut free)).await?;
    for _ in 0..2 {
        servers.push_back(server(take(&mut free)).await?);
    }
    let addresses = |servers: &VecDeque<Handle>| -> Vec<SocketAddr> { servers.iter().chain([&stays]).map(Handle::address).collect() };
    case.create(&mk_service("echo", 80, PORT, None)).await?;
    case.create(&mk_slice("echo", "echo", &addresses(&servers))).await?;
    case.serve(STAYS).await?;
    case.serve(GOES).await?;
    let launch = case.controller().flag("--publish-status-address=192.0.2.1").flag("--election-ttl=4s");
    let controller = launch.env("POD_NAME", "controller").env("POD_NAMESPACE", case.ns()).start_as(proxy.kubeconfig()).await?;
    status_is(&case, STAYS, &["192.0.2.1"]).await?;
    controller.until(STAYS, "/", 200).await?;
    controller.until(GOES, "/", 200).await?;
    let request = Request::get(controller.http(), "/").host(STAYS);
    let loads = [Load::new(request.clone(), 100).start(), Load::new(request.header("Connection", "close"), 100).start()];
    loads[0].begin(100).await;

    proxy.set(Fault::Gone);
    let gone = Instant::now();
    for round in 0.. {
        if round >= 2 && gone.elapsed() >= away() {
            break;
        }
        servers.push_back(server(take(&mut free)).await?);
        let first = servers.pop_front().expect("there are three");
        free.push_back(match first.address() {
            SocketAddr::V4(address) => *address.ip(),
            SocketAddr::V6(_) => unreachable!("addresses of the bed are of version 4"),
        });
        first.stop(DRAIN).await;
        let endpoints: Vec<_> =
            addresses(&servers).iter().map(|at| json!({"addresses": [at.ip()], "conditions": {"ready": true}})).collect();
        case.patch::<EndpointSlice>("echo", json!({"endpoints": endpoints})).await?;
        loads[0].begin(100).await;
    }
    case.delete::<Ingress>(GOES).await?;
    case.serve(COMES).await?;
    // What was watched last is forgotten: by etcd, and by the API server, which keeps some of it in memory.
    case.bed.compact().await?;
    case.bed.api_server().stop().await?;
    case.bed.api_server().start().await?;
    loads[0].begin(100).await;
    proxy.set(usual);

    controller.until(COMES, "/", 200).await?;
    controller.until(GOES, "/", 404).await?;
    status_is(&case, COMES, &["192.0.2.1"]).await?;
    let mut expected: Vec<String> = addresses(&servers).iter().map(SocketAddr::to_string).collect();
    expected.sort();
    controller.until_endpoints(&format!("{}/echo:80", case.ns()), &expected).await?;
    loads[0].begin(100).await;
    ensure!(controller.log().contains("the watch is too far behind; listing again"), "nothing was forgotten:\n{}", controller.log());
    for load in loads {
        let report = load.stop().await;
        ensure!(report.failures.is_empty(), "{report}\n{}", controller.log());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_compacted_while_the_api_server_was_away_is_read_again() -> anyhow::Result<()> {
    survive(Fault::None).await
}

/// Nothing says how far a watch of what never changes has come.
#[tokio::test(flavor = "multi_thread")]
async fn watches_without_bookmarks_are_begun_again_after_a_compaction() -> anyhow::Result<()> {
    survive(Fault::NoBookmarks).await
}
