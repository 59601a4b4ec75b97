//! Backends without endpoints.

use equivalence::world::World;
use testkit::kube::{PathType, mk_ingress};

const HOST: &str = "missing.test";

#[tokio::test]
async fn a_503_without_endpoints_has_the_headers_of_snippet_and_settings() -> anyhow::Result<()> {
    let ingress = mk_ingress("web").host(HOST).path("/", PathType::Prefix, "empty", 80);
    let ingress = ingress.annotation("configuration-snippet", "add_header X-Always $ingress_name always; add_header X-Good 1;");
    let ingress = ingress.annotation("custom-headers", "shop/answers").annotation("enable-cors", "true");
    let settings = [("global-allowed-response-headers", "X-Custom"), ("location-snippet", "add_header X-Location 1 always;")];
    let world = World::new().await?.configured(&settings).config_map("answers", &[("X-Custom", "yes")]);
    let world = world.service("empty", &[]).ingress("web", ingress).serve().await?;
    for request in [world.request("GET", HOST, "/x"), world.request("POST", HOST, "/x").body("body")] {
        let answer = request.header("Origin", "http://other.test").send().await?;
        assert_eq!(answer.status, 503);
        let wanted = [
            ("x-always", Some("web")),
            ("x-location", Some("1")),
            ("x-good", None),
            ("x-custom", Some("yes")),
            ("access-control-allow-origin", Some("*")),
        ];
        for (name, value) in wanted {
            assert_eq!(answer.header(name), value, "{name} in {answer:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_snippet_that_redirects_needs_no_endpoint() -> anyhow::Result<()> {
    let ingress = mk_ingress("web").host(HOST).path("/", PathType::Prefix, "empty", 80);
    let ingress = ingress.annotation("configuration-snippet", "if ($arg_go) { return 301 https://other.test$uri; }");
    let world = World::new().await?.service("empty", &[]).ingress("web", ingress).serve().await?;
    let answer = world.get(HOST, "/x?go=1").await?;
    assert_eq!((answer.status, answer.header("location")), (301, Some("https://other.test/x")));
    assert_eq!(world.get(HOST, "/x").await?.status, 503);
    Ok(())
}
