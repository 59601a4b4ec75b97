//! SNIP: raw text for NGINX, from Ingresses and from the settings.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use testkit::http::Request;
use testkit::poll;
use testkit::ports::Ports;

const HOST: &str = "snippet.example.com";
const ALLOWED: [(&str, &str); 2] = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];

#[tokio::test]
async fn snip_01_server_snippet_holds_for_its_host() -> anyhow::Result<()> {
    let case = Case::new("snip-01").await?;
    let _servers = case.echo(1).await?;
    case.allow_snippets().await?;
    let text = "more_set_headers \"Foo: Bar\";\nmore_set_headers \"Xpto: Lalala\";";
    case.create(&rule("echo", HOST).annotation("server-snippet", text).build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until_that("a header", HOST, "/", |response| response.header("foo") == Some("Bar")).await?;
    assert_eq!((response.status, response.header("xpto")), (200, Some("Lalala")));
    Ok(())
}

#[tokio::test]
async fn snip_02_configuration_snippet_holds_for_its_locations() -> anyhow::Result<()> {
    let case = Case::new("snip-02").await?;
    let _servers = case.echo(1).await?;
    case.allow_snippets().await?;
    let text = "more_set_headers \"Foo1: Bar1\";";
    case.create(&rule("echo", HOST).annotation("configuration-snippet", text).build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 200).await?;
    assert_eq!(response.header("foo1"), Some("Bar1"));
    Ok(())
}

/// A port for a server in the stream block, and the text that forwards it to the health check.
fn forwarding(http: SocketAddr) -> anyhow::Result<(SocketAddr, String)> {
    let port = Ports::take(1)?[0];
    Ok(((Ipv4Addr::LOCALHOST, port).into(), format!("server {{listen {port}; proxy_pass 127.0.0.1:{};}}", http.port())))
}

async fn until_forwarded(controller: &Controller, address: SocketAddr) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let response = Request::get(address, "/healthz").host("any").send().await?;
        ensure!(response.status == 200, "{}", response.status);
        Ok(())
    })
    .await
    .map_err(|error| error.context(controller.log()))
}

#[tokio::test]
async fn snip_03_stream_snippet_opens_a_port() -> anyhow::Result<()> {
    let case = Case::new("snip-03").await?;
    let _servers = case.echo(1).await?;
    case.allow_snippets().await?;
    let controller = case.controller().start().await?;
    let (address, text) = forwarding(controller.http())?;
    case.create(&rule("echo", HOST).annotation("stream-snippet", &text).build()).await?;
    until_forwarded(&controller, address).await?;
    let conf = controller.nginx_conf()?;
    assert!(conf.split_once(" stream { ").is_some_and(|(_, stream)| stream.contains(&text)), "{conf}");
    Ok(())
}

#[tokio::test]
async fn a_stream_snippet_that_nginx_refuses_is_set_aside_alone() -> anyhow::Result<()> {
    let case = Case::new("snip-bad").await?;
    let _servers = case.echo(1).await?;
    case.allow_snippets().await?;
    case.create(&rule("bad", "bad.example.com").annotation("stream-snippet", "no_such_directive;").build()).await?;
    case.create(&rule("good", HOST).annotation("configuration-snippet", "more_set_headers \"A: b\";").build()).await?;
    let controller = case.controller().start().await?;
    assert_eq!(controller.until(HOST, "/", 200).await?.header("a"), Some("b"));
    poll(PATIENCE, || async {
        ensure!(controller.log().contains("no_such_directive"), "NGINX's reason was expected in the log");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_snippet_that_the_policy_refuses_keeps_its_ingress_out_alone() -> anyhow::Result<()> {
    let case = Case::new("snip-policy").await?;
    let _servers = case.echo(1).await?;
    case.allow_snippets().await?;
    let text = "location /files/ { alias /etc/; }";
    case.create(&rule("bad", "bad.example.com").annotation("server-snippet", text).build()).await?;
    case.create(&rule("good", HOST).annotation("server-snippet", "more_set_headers \"A: b\";").build()).await?;
    let controller = case.controller().start().await?;
    assert_eq!(controller.until(HOST, "/", 200).await?.header("a"), Some("b"));
    assert_eq!(controller.get("bad.example.com", "/files/passwd").await?.status, 404);
    assert!(controller.log().contains("alias: it serves files of the controller"), "{}", controller.log());
    let allowed = [ALLOWED[0], ALLOWED[1], ("allowed-snippet-directives", "alias")];
    case.settings(&allowed).await?;
    controller.until("bad.example.com", "/", 200).await?;
    Ok(())
}

#[tokio::test]
async fn snip_04_main_snippet_stands_before_everything_else() -> anyhow::Result<()> {
    let case = Case::new("snip-04").await?;
    case.settings(&[("main-snippet", "# main snippet"), ("http-snippet", "# http snippet")]).await?;
    let conf = case.controller().start().await?.nginx_conf()?;
    assert!(conf.split_once(" events {").is_some_and(|(main, _)| main.contains("# main snippet")), "{conf}");
    assert!(conf.contains("# http snippet"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn snip_05_server_snippet_of_the_settings_holds_for_all_hosts() -> anyhow::Result<()> {
    let case = Case::new("snip-05").await?;
    let _servers = case.echo(1).await?;
    let global = "more_set_headers \"Globalfoo: Foooo\";";
    case.settings(&[ALLOWED[0], ALLOWED[1], ("server-snippet", global)]).await?;
    let own = "more_set_headers \"Foo: Bar\";\nmore_set_headers \"Xpto: Lalala\";";
    case.create(&rule("a", HOST).build()).await?;
    case.create(&rule("b", "own.example.com").annotation("server-snippet", own).build()).await?;
    let controller = case.controller().start().await?;
    let headers = |response: &testkit::http::Response| ["globalfoo", "foo", "xpto"].map(|name| response.header(name).map(str::to_owned));
    let expect = |values: [Option<&str>; 3]| values.map(|value| value.map(str::to_owned));
    let a = controller.until(HOST, "/", 200).await?;
    assert_eq!(headers(&a), expect([Some("Foooo"), None, None]));
    let b = controller.until("own.example.com", "/", 200).await?;
    assert_eq!(headers(&b), expect([Some("Foooo"), Some("Bar"), Some("Lalala")]));
    Ok(())
}

#[tokio::test]
async fn snip_06_stream_snippet_of_the_settings_opens_a_port() -> anyhow::Result<()> {
    let case = Case::new("snip-06").await?;
    let controller = case.controller().start().await?;
    let (address, text) = forwarding(controller.http())?;
    case.settings(&[("stream-snippet", &text)]).await?;
    until_forwarded(&controller, address).await?;
    assert!(controller.nginx_conf()?.contains(&text));
    Ok(())
}

#[tokio::test]
async fn location_snippet_of_the_settings_holds_for_every_location() -> anyhow::Result<()> {
    let case = Case::new("snip-location").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("location-snippet", "proxy_set_header X-Everywhere yes;")]).await?;
    case.create(&rule("echo", HOST).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let seen = controller.seen(HOST, "/").await?;
    assert_eq!((seen.header("x-everywhere"), seen.host.as_str()), (Some("yes"), HOST));
    Ok(())
}
