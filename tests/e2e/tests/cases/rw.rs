//! Rewrites and paths that are regular expressions.

use e2e::{Case, rule};
use testkit::kube::{IngressBuilder, PathType, mk_ingress};

const HOST: &str = "rewrite.bar.com";

fn at(name: &str, path: &str, path_type: PathType) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(HOST).path(path, path_type, "echo", 80)
}

#[tokio::test]
async fn rw_01_rewrite_target_replaces_the_whole_path() -> anyhow::Result<()> {
    let case = Case::new("rw-01").await?;
    let _servers = case.echo(1).await?;
    case.create(&at("rewrite", "/something", PathType::Prefix).annotation("rewrite-target", "/").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/something", 200).await?;
    assert_eq!(controller.seen(HOST, "/something?a=b").await?.request_uri, "/?a=b");
    Ok(())
}

#[tokio::test]
async fn rw_02_use_regex_on_one_ingress_changes_the_others_of_the_host() -> anyhow::Result<()> {
    let case = Case::new("rw-02").await?;
    let _servers = case.echo(1).await?;
    case.create(&at("plain", "/foo", PathType::Prefix).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/foo", 200).await?;
    let ingress = at("regex", "/foo.+", PathType::ImplementationSpecific).annotation("use-regex", "true");
    case.create(&ingress.annotation("rewrite-target", "/new/backend").build()).await?;
    controller.until_that("the rewrite", HOST, "/foo/bar", |response| response.text().contains("request_uri=/new/backend\n")).await?;
    assert_eq!(controller.seen(HOST, "/foo").await?.request_uri, "/foo");
    Ok(())
}

#[tokio::test]
async fn rw_03_rewrite_target_has_the_captures_of_the_path() -> anyhow::Result<()> {
    let case = Case::new("rw-03").await?;
    let _servers = case.echo(1).await?;
    let ingress = at("regex", "/foo/bar/(.+)", PathType::ImplementationSpecific).annotation("use-regex", "true");
    case.create(&ingress.annotation("rewrite-target", "/new/backend/$1").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/foo/bar/bar", 200).await?;
    assert_eq!(controller.seen(HOST, "/foo/bar/bar").await?.request_uri, "/new/backend/bar");
    Ok(())
}

#[tokio::test]
async fn a_rewrite_target_that_redirects_comes_before_https() -> anyhow::Result<()> {
    let case = Case::new("rw-order").await?;
    let _servers = case.echo(1).await?;
    let ingress = rule("away", HOST).annotation("rewrite-target", "https://other.example.com/$1").annotation("force-ssl-redirect", "true");
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/a", 302).await?;
    assert_eq!(response.header("location"), Some("https://other.example.com/"));
    Ok(())
}
