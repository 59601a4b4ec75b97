//! `/nginx_status`: the counters of NGINX for whom the lists name.

use std::net::Ipv6Addr;

use anyhow::ensure;
use e2e::PATIENCE;
use testkit::http::Request;
use testkit::poll;

use super::{HOST, Serving};

const UNKNOWN: &str = "unknown.example.com";

#[tokio::test]
async fn nginx_status_is_for_the_machine_itself_on_the_catch_all_host() -> anyhow::Result<()> {
    let serving = Serving::start("keys-status", &[]).await?;
    let own = serving.controller.get(UNKNOWN, "/nginx_status").await?;
    assert!(own.status == 200 && own.text().starts_with("Active connections: "), "{} {}", own.status, own.text());
    let other = std::net::IpAddr::from(testkit::ports::addresses(1)?[0]);
    let request = |path: &str| Request::get(serving.controller.http(), path).host(UNKNOWN).source(other).send();
    assert_eq!(request("/nginx_status").await?.status, 403);
    assert_eq!(serving.controller.seen(HOST, "/nginx_status").await?.path, "/nginx_status", "a host of an Ingress has its own");

    // By addresses that the settings name.
    let own_list = [("nginx-status-ipv4-whitelist", &*format!("{other}/32")), ("nginx-status-ipv6-whitelist", "")];
    serving.case.settings(&own_list).await?;
    serving.controller.until(UNKNOWN, "/nginx_status", 403).await?;
    // Workers of before may still take a connection.
    poll(PATIENCE, || async {
        let status = request("/nginx_status").await?.status;
        ensure!(status == 200, "{status} for an address of the list");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn nginx_status_ipv6_whitelist_is_that_of_ipv6() -> anyhow::Result<()> {
    let ask =
        |serving: &Serving| Request::get(serving.controller.http(), "/nginx_status").at(Ipv6Addr::LOCALHOST.into()).host(UNKNOWN).send();
    let serving = Serving::start("keys-status-v6", &[("nginx-status-ipv4-whitelist", "")]).await?;
    assert_eq!(ask(&serving).await?.status, 200);
    assert_eq!(serving.controller.get(UNKNOWN, "/nginx_status").await?.status, 403);
    let other = Serving::start("keys-status-v6-other", &[("nginx-status-ipv6-whitelist", "fd00::/8")]).await?;
    assert_eq!(ask(&other).await?.status, 403);
    Ok(())
}
