//! Answers that send the request elsewhere: `X-Accel-Redirect`.

use std::net::{Ipv4Addr, SocketAddr};

use equivalence::world::World;
use testkit::echo::{self, Identity};
use testkit::kube::{PathType, mk_ingress};

const HOST: &str = "redirected.test";
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[tokio::test]
async fn a_page_for_an_error_that_leads_to_that_error_again_ends_with_it() -> anyhow::Result<()> {
    let (web, pages) = (echo::start(ANY, Identity::named("web")).await?, echo::start(ANY, Identity::named("pages")).await?);
    let ingress = mk_ingress("web").host(HOST).path("/web", PathType::Prefix, "web", 80);
    let ingress = ingress.annotation("custom-http-errors", "404").annotation("default-backend", "pages");
    let world = World::new().await?.service("web", &[web.address()]).service("pages", &[pages.address()]);
    let world = world.ingress("web", ingress).serve().await?;
    let request = |target: &str| world.request("GET", HOST, target).header("x-echo-header", "X-Accel-Redirect: /x");
    let page = world.get(HOST, "/x").await?;
    assert_eq!((page.status, page.text().contains("server=pages")), (200, true), "{page:?}");
    assert_eq!(request("/web").send().await?.status, 404);
    assert_eq!(request("/x").send().await?.status, 404);
    assert_eq!(pages.last().map(|seen| seen.header("x-code").map(str::to_owned)), Some(Some("404".into())));
    for name in ["@base", "@narthex_errors", "//narthex/mirror", "/_narthex_external_auth/base"] {
        let answer = world.request("GET", HOST, "/web").header("x-echo-header", format!("X-Accel-Redirect: {name}")).send().await?;
        assert!([404, 500].contains(&answer.status), "{name}: {answer:?}");
    }
    Ok(())
}
