//! Which requests are counted.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::ensure;
use equivalence::world::{PATIENCE, World};
use model::options::{RequestCounting, UnknownHosts};
use testkit::echo::{self, Identity};
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[tokio::test]
async fn a_request_for_a_host_that_no_ingress_has_is_not_counted() -> anyhow::Result<()> {
    let web = echo::start(ANY, Identity::named("web")).await?;
    let bounds = || "1,10".parse().unwrap();
    let counting =
        RequestCounting { unknown_hosts: UnknownHosts::Skip, time: bounds(), length: bounds(), size: bounds(), native_schema: None };
    let world = World::new().await?.service("web", &[web.address()]).set(|settings| settings.counting = Some(counting));
    let world = world.ingress("web", mk_ingress("web").host("known.test").path("/", PathType::Prefix, "web", 80));
    let world = world.serve().await?;
    assert_eq!(world.get("unknown.test", "/").await?.status, 404);
    assert_eq!(world.get("known.test", "/").await?.status, 200);
    let batch = poll(PATIENCE, || async {
        let batch = Request::get(world.side().control(), "/requests?done=0").host("control").send().await?.text();
        ensure!(batch.contains("known.test"), "nothing waits: {batch:?}");
        Ok(batch)
    })
    .await?;
    // The number of the answer, the bounds, and one series.
    assert_eq!(batch.lines().count(), 3, "{batch}");
    Ok(())
}
