//! What comes from endpoints, what goes to them, and how their names are looked up.

use std::net::Ipv6Addr;

use anyhow::Context;
use e2e::{Case, rule};
use testkit::gate::Gate;
use testkit::http::Request;

use super::{HOST, Serving};

#[tokio::test]
async fn allow_backend_server_header_needs_server_tokens_and_then_keeps_the_endpoint_s() -> anyhow::Result<()> {
    let serving = Serving::start("keys-server", &[]).await?;
    for (allowed, tokens) in [(false, false), (true, false), (true, true), (false, true)] {
        let flags = [allowed, tokens].map(|on| if on { "true" } else { "false" });
        serving.case.settings(&[("allow-backend-server-header", flags[0]), ("server-tokens", flags[1])]).await?;
        let good = |found: &[String]| match (allowed, tokens) {
            (_, false) => found.is_empty(),
            (true, true) => found == ["echo"],
            (false, true) => matches!(found, [own] if own.starts_with("nginx/")),
        };
        let servers = |response: &testkit::http::Response| response.header_all("server").map(str::to_owned).collect::<Vec<_>>();
        let what = format!("Server with {flags:?}");
        serving.controller.until_that(&what, HOST, "/", |response| good(&servers(response))).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_second_server_header_of_an_endpoint_does_not_get_through() -> anyhow::Result<()> {
    let serving = Serving::start("keys-servers", &[("allow-backend-server-header", "true")]).await?;
    let request = Request::get(serving.controller.http(), "/").host(HOST);
    let answer = request.header("x-echo-header", "server: one").header("x-echo-header", "server: two").send().await?;
    assert_eq!((answer.status, answer.header("server")), (200, None));
    Ok(())
}

#[tokio::test]
async fn retry_non_idempotent_tries_again_what_may_act_twice() -> anyhow::Result<()> {
    let case = Case::new("keys-retry").await?;
    let servers = case.echo(3).await?;
    let retried = ("proxy-next-upstream", "error timeout http_502");
    case.settings(&[retried]).await?;
    case.create(&rule("keys", HOST).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let tries = async || {
        let before = servers.requests();
        let answer = Request::new("POST", controller.http(), "/?status=502").host(HOST).body("x").send().await?;
        anyhow::Ok((answer.status, servers.requests() - before))
    };
    assert_eq!(tries().await?, (502, 1));
    case.settings(&[retried, ("retry-non-idempotent", "true")]).await?;
    testkit::poll(e2e::PATIENCE, || async {
        let found = tries().await?;
        anyhow::ensure!(found == (502, 3), "{found:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn disable_ipv6_dns_asks_for_no_ipv6_address() -> anyhow::Result<()> {
    let gate = Gate::start((Ipv6Addr::LOCALHOST, 0).into()).await.context("the machine has IPv6")?;
    for (id, disabled) in [("keys-ipv6-dns", "false"), ("keys-no-ipv6-dns", "true")] {
        let case = Case::new(id).await?;
        let name = format!("gate.{}.test", case.ns());
        case.bed.dns_set(&name, vec![Ipv6Addr::LOCALHOST.into()], 1).await?;
        let _servers = case.echo(1).await?;
        case.settings(&[("disable-ipv6-dns", disabled)]).await?;
        let url = format!("http://{name}:{}/status/200", gate.address().port());
        case.create(&rule("keys", HOST).annotation("auth-url", &url).build()).await?;
        let controller = case.controller().flag("--allow-local-endpoints").start().await?;
        controller.until(HOST, "/", if disabled == "true" { 500 } else { 200 }).await?;
        case.bed.dns_remove(&name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn hsts_can_be_left_to_the_endpoint() -> anyhow::Result<()> {
    let serving = Serving::start("keys-hsts", &[("ssl-redirect", "false"), ("hsts", "false")]).await?;
    let request = || Request::get(serving.controller.https(), "/").tls(HOST).host(HOST);
    let answer = request().header("x-echo-header", "strict-transport-security: max-age=7").send().await?;
    assert_eq!(answer.header("strict-transport-security"), Some("max-age=7"));
    assert_eq!(request().send().await?.header("strict-transport-security"), None);
    Ok(())
}
