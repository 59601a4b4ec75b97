//! Paths that `rewrite-target` makes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use equivalence::world::World;
use testkit::echo::{self, Identity};
use testkit::kube::{PathType, mk_ingress};

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const HOST: &str = "rewritten.test";

/// Another controller for these annotations let `/api../admin` out of `/api(.*)`, past the rule that protects `/admin`.
#[tokio::test]
async fn cve_2026_67309_a_capture_never_leads_out_of_the_path_of_its_rule() -> anyhow::Result<()> {
    let web = echo::start(ANY, Identity::named("web")).await?;
    let open =
        mk_ingress("open").host(HOST).path("/api(.*)", PathType::ImplementationSpecific, "web", 80).annotation("rewrite-target", "/$1");
    let closed =
        mk_ingress("closed").host(HOST).path("/admin", PathType::Prefix, "web", 80).annotation("whitelist-source-range", "10.9.9.9");
    let world = World::new().await?.service("web", &[web.address()]).ingress("open", open).ingress("closed", closed).serve().await?;
    assert_eq!(world.get(HOST, "/api/x").await?.status, 200);
    assert_eq!(world.get(HOST, "/admin").await?.status, 403);
    let before = web.requests();
    for target in ["/api../admin", "/api%2e%2e/admin", "/api..%2fadmin", "/api./admin", "/api%2e%2E%2Fadmin?x=y"] {
        assert_eq!(world.get(HOST, target).await?.status, 400, "{target}");
    }
    assert_eq!(web.requests(), before);
    Ok(())
}
