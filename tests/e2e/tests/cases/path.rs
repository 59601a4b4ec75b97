//! Path and host rules.

use anyhow::ensure;
use e2e::{Case, Controller, Echo, PATIENCE};
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;

/// An Ingress of one host and one path to `echo`.
fn rule(name: &str, host: &str, path: &str, path_type: PathType) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(host).path(path, path_type, "echo", 80)
}

/// The same, which tells the backend what it is.
fn tagged(name: &str, host: &str, path: &str, path_type: PathType) -> IngressBuilder {
    let snippet = format!("proxy_set_header tag {name};");
    rule(name, host, path, path_type).annotation("configuration-snippet", &snippet)
}

async fn tag(controller: &Controller, host: &str, path: &str) -> anyhow::Result<Option<String>> {
    Ok(controller.seen(host, path).await?.header("tag").map(str::to_owned))
}

#[tokio::test]
async fn path_01_an_ingress_whose_path_holds_directives_is_left_out() -> anyhow::Result<()> {
    let case = Case::new("path-01").await?;
    let _echo = case.echo(1).await?;
    let host = "inspection123.com";
    case.create(&rule("bad", host, "/bla{alias /var/run/secrets/;}location ~* ^/abcd", PathType::Prefix).build()).await?;
    case.create(&rule("good", host, "/xpto", PathType::Prefix).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(host, "/xpto", 200).await?;
    assert_eq!(controller.statuses(host, ["/xpto", "/bla", "/abcd/"]).await?, [200, 404, 404]);
    let record = controller.host_record(host).await?.to_string();
    assert!(record.contains("\"/xpto/\"") && !record.contains("bla") && !controller.nginx_conf()?.contains("abcd"), "{record}");
    Ok(())
}

#[tokio::test]
async fn path_02_a_snippet_sees_the_service_of_its_own_rule() -> anyhow::Result<()> {
    let case = Case::new("path-02").await?;
    case.allow_snippets().await?;
    let _echo = case.deploy(&[Echo::named("first-service"), Echo::named("second-service")]).await?;
    let ingress = mk_ingress("both").class("nginx").annotation("configuration-snippet", "proxy_set_header service-name $service_name;");
    let ingress = ingress.host("first.host").path("/", PathType::Prefix, "first-service", 80);
    case.create(&ingress.host("second.host").path("/", PathType::Prefix, "second-service", 80).build()).await?;
    let controller = case.controller().start().await?;
    for (host, service) in [("first.host", "first-service"), ("second.host", "second-service")] {
        controller.until(host, "/exact", 200).await?;
        let seen = controller.seen(host, "/exact").await?;
        assert_eq!((seen.service.as_str(), &seen.headers["service-name"]), (service, &vec![service.to_owned()]));
    }
    Ok(())
}

#[tokio::test]
async fn path_03_exact_and_prefix_live_side_by_side_and_the_oldest_wins() -> anyhow::Result<()> {
    let case = Case::new("path-03").await?;
    case.allow_snippets().await?;
    let _echo = case.echo(1).await?;
    let host = "exact.path";
    case.create(&tagged("exact", host, "/exact", PathType::Exact).build()).await?;
    // Named so that it wins even against one of the same second.
    case.create(&tagged("prefix", host, "/exact", PathType::Prefix).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(host, "/exact", 200).await?;
    assert_eq!(tag(&controller, host, "/exact").await?.as_deref(), Some("exact"));
    assert_eq!(tag(&controller, host, "/exact/suffix").await?.as_deref(), Some("prefix"));

    case.create(&tagged("duplicate", host, "/exact", PathType::Prefix).build()).await?;
    poll(PATIENCE, || async {
        ensure!(controller.metrics().await?.contains("narthex_problems{kind=\"Conflict\"} 1"), "the duplicate was not seen yet");
        Ok(())
    })
    .await?;
    assert_eq!(tag(&controller, host, "/exact/suffix").await?.as_deref(), Some("prefix"));
    Ok(())
}

#[tokio::test]
async fn path_04_exact_and_prefix_of_root_and_of_a_path_mix() -> anyhow::Result<()> {
    let case = Case::new("path-04").await?;
    case.allow_snippets().await?;
    let _echo = case.echo(1).await?;
    let host = "mixed.path";
    case.create(&tagged("exact-root", host, "/", PathType::Exact).build()).await?;
    case.create(&tagged("prefix-root", host, "/", PathType::Prefix).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(host, "/bar", 200).await?;
    assert_eq!(tag(&controller, host, "/").await?.as_deref(), Some("exact-root"));
    assert_eq!(tag(&controller, host, "/bar").await?.as_deref(), Some("prefix-root"));

    case.create(&tagged("exact-foo", host, "/foo", PathType::Exact).build()).await?;
    case.create(&tagged("prefix-foo", host, "/foo", PathType::Prefix).build()).await?;
    controller.until_that("prefix-foo", host, "/foo/bar", |response| response.text().contains("\ntag=prefix-foo\n")).await?;
    controller.until_that("exact-foo", host, "/foo", |response| response.text().contains("\ntag=exact-foo\n")).await?;
    assert_eq!(tag(&controller, host, "/foobar").await?.as_deref(), Some("prefix-root"));
    Ok(())
}

#[tokio::test]
async fn path_05_a_prefix_matches_whole_segments() -> anyhow::Result<()> {
    let case = Case::new("path-05").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("prefix", "prefix.path", "/aaa", PathType::Prefix).build()).await?;
    let controller = case.controller().start().await?;
    controller.until("prefix.path", "/aaa", 200).await?;
    assert_eq!(controller.statuses("prefix.path", ["/aaa", "/aaacccc", "/aaa/cccc", "/aaa/"]).await?, [200, 404, 200, 200]);
    Ok(())
}

/// A regular expression as a path, of either type: both are matched as such.
async fn regex(id: &str, path: &str, requests: [&str; 3]) -> anyhow::Result<()> {
    let case = Case::new(id).await?;
    let _echo = case.echo(1).await?;
    let types = [("regex-prefix.path", PathType::Prefix), ("regex.path", PathType::ImplementationSpecific)];
    for (host, path_type) in types {
        case.create(&rule(host, host, path, path_type).annotation("use-regex", "true").build()).await?;
    }
    let controller = case.controller().start().await?;
    for (host, _) in types {
        controller.until(host, requests[0], 200).await?;
        assert_eq!(controller.statuses(host, requests).await?, [200, 404, 404]);
    }
    Ok(())
}

#[tokio::test]
async fn path_06_a_regex_may_demand_the_end_of_the_path() -> anyhow::Result<()> {
    regex("path-06", "/id/[0-9]+$", ["/id/1", "/id/aaa", "/id/123a"]).await
}

#[tokio::test]
async fn path_07_a_regex_may_vary_in_several_segments() -> anyhow::Result<()> {
    regex("path-07", "/id/[0-9]+/post/[a-zA-Z]+$", ["/id/123/post/abc", "/id/123/post/abc123", "/id/abc/post/abc"]).await
}

#[tokio::test]
async fn path_08_a_rule_without_host_serves_unknown_hosts() -> anyhow::Result<()> {
    let case = Case::new("path-08").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("default-host", "", "/", PathType::Prefix).build()).await?;
    let controller = case.controller().start().await?;
    controller.until("nobody.knows", "/", 200).await?;
    let record = controller.host_record("_").await?;
    let (policy, route) = (&record["policies"][0], &record["locations"][0]);
    let identity = [&policy["namespace"], &policy["ingress"], &route["service"], &route["port"], &route["path"]];
    assert_eq!(identity, [case.ns(), "default-host", "echo", "80", "/"], "{record}");
    Ok(())
}
