//! Copies of requests: `mirror-target`.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use equivalence::rules::NAMESPACE;
use equivalence::world::{PATIENCE, World};
use model::ObjectKey;
use testkit::echo::{self, Handle, Identity, Seen};
use testkit::http::Request;
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;

const HOST: &str = "copied.test";
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A host with one path, whose requests are copied.
fn copied(target: &str) -> IngressBuilder {
    mk_ingress("web").host(HOST).path("/web", PathType::Prefix, "web", 80).annotation("mirror-target", target)
}

/// A backend, and what gets the copies.
async fn servers() -> anyhow::Result<[Handle; 2]> {
    Ok([echo::start(ANY, Identity::named("web")).await?, echo::start(ANY, Identity::named("copies")).await?])
}

/// The copy of a request, which must be the only one to come.
async fn copy_of(request: Request, status: u16, copies: &Handle) -> anyhow::Result<Seen> {
    let before = copies.requests();
    assert_eq!(request.send().await?.status, status);
    poll(PATIENCE, || async {
        anyhow::ensure!(copies.requests() == before + 1, "{} copies", copies.requests() - before);
        copies.last().context("no copy")
    })
    .await
}

#[tokio::test]
async fn a_copy_keeps_the_query_where_its_target_has_a_path() -> anyhow::Result<()> {
    let [web, copies] = servers().await?;
    for (target, uri) in [("/copy", "/copy?a=b&c"), ("/copy?x=y", "/copy?x=y?a=b&c"), ("", "/web/p?a=b&c"), ("/copy$uri", "/copy/web/p")] {
        let ingress = copied(&format!("http://{}{target}", copies.address()));
        let world = World::new().await?.service("web", &[web.address()]).ingress("web", ingress).serve().await?;
        let copy = copy_of(world.request("GET", HOST, "/web/p?a=b&c"), 200, &copies).await?;
        assert_eq!(copy.request_uri, uri, "{target}");
    }
    Ok(())
}

#[tokio::test]
async fn requests_for_paths_without_a_rule_are_copied() -> anyhow::Result<()> {
    let [web, copies] = servers().await?;
    let snippet = ("configuration-snippet", "add_header X-Snippet 1 always;");
    for (annotations, default) in [(&[][..], false), (&[][..], true), (&[snippet][..], false), (&[snippet][..], true)] {
        let ingress = copied(&format!("http://{}/copy", copies.address()));
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
        let world = World::new().await?.service("web", &[web.address()]).ingress("web", ingress);
        let world = world.set(|settings| settings.default_backend_service = default.then(|| ObjectKey::new(NAMESPACE, "web")));
        let world = world.serve().await?;
        let request = world.request("POST", HOST, "/else?a=b").body("body");
        let copy = copy_of(request, if default { 200 } else { 404 }, &copies).await?;
        assert_eq!((copy.method.as_str(), copy.request_uri.as_str(), copy.body_bytes), ("POST", "/copy?a=b", 4));
    }
    Ok(())
}

#[tokio::test]
async fn a_copy_keeps_a_content_length_of_zero() -> anyhow::Result<()> {
    let [web, copies] = servers().await?;
    for body in ["on", "off"] {
        let ingress = copied(&format!("http://{}/copy", copies.address())).annotation("mirror-request-body", body);
        let world = World::new().await?.service("web", &[web.address()]).ingress("web", ingress).serve().await?;
        let empty = world.request("POST", HOST, "/web").header("Content-Length", "0");
        assert_eq!(copy_of(empty, 200, &copies).await?.header("content-length"), Some("0"), "mirror-request-body: {body}");
        let none = world.request("GET", HOST, "/web");
        assert_eq!(copy_of(none, 200, &copies).await?.header("content-length"), None, "mirror-request-body: {body}");
        let some = copy_of(world.request("POST", HOST, "/web").body("body"), 200, &copies).await?;
        assert_eq!((some.header("content-length"), some.body_bytes), if body == "on" { (Some("4"), 4) } else { (None, 0) });
    }
    Ok(())
}
