//! Differences from ingress-nginx: rows of docs/migrate.md, "Other than ingress-nginx".

use e2e::{Case, rule};
use testkit::http::Request;
use testkit::kube::{IngressBuilder, PathType, mk_ingress};

use super::auth::external::gate;

fn at(name: &str, host: &str, path: &str, annotations: &[(&str, &str)]) -> IngressBuilder {
    let ingress = mk_ingress(name).class("nginx").host(host).path(path, PathType::Prefix, "echo", 80);
    annotations.iter().fold(ingress, |ingress, (key, value)| ingress.annotation(key, value))
}

#[tokio::test]
async fn what_stops_all_changes_in_ingress_nginx_is_served() -> anyhow::Result<()> {
    let case = Case::new("unlike-refused").await?;
    let _servers = case.echo(1).await?;
    for (host, annotation) in [
        ("from.foo.com", ("proxy-redirect-from", "http://a/")),
        ("*.wild.foo.com", ("from-to-www-redirect", "true")),
        ("blank.foo.com", ("auth-request-redirect", "a b")),
        ("mirror.foo.com", ("mirror-target", "x")),
        ("busy.foo.com", ("proxy-busy-buffers-size", "64k")),
    ] {
        case.create(&at(&host.replace('*', "any"), host, "/", &[annotation]).build()).await?;
    }
    case.create(&at("bare", "twins.foo.com", "/foo", &[]).build()).await?;
    case.create(&at("slashed", "twins.foo.com", "/foo/", &[]).build()).await?;
    let controller = case.controller().start().await?;
    for host in ["from.foo.com", "a.wild.foo.com", "blank.foo.com", "mirror.foo.com", "busy.foo.com"] {
        controller.until(host, "/", 200).await?;
    }
    assert_eq!(controller.statuses("twins.foo.com", ["/foo", "/foo/", "/foo/x"]).await?, [200, 200, 200]);
    Ok(())
}

#[tokio::test]
async fn a_service_of_an_older_canary_is_served_and_the_canary_makes_no_location() -> anyhow::Result<()> {
    let case = Case::new("unlike-canary").await?;
    let _servers = case.echo(1).await?;
    let guard = [("canary", "true"), ("canary-weight", "10"), ("denylist-source-range", "0.0.0.0/0")];
    case.create(&at("a-canary", "canary.foo.com", "/admin", &guard).build()).await?;
    case.create(&at("b-main", "canary.foo.com", "/", &[]).build()).await?;
    let controller = case.controller().start().await?;
    controller.until("canary.foo.com", "/", 200).await?;
    assert_eq!(controller.get("canary.foo.com", "/admin").await?.status, 200);
    let log = controller.log();
    assert!(log.contains("a canary protects nothing") && log.contains("serves the same Service without what protects it"), "{log}");
    Ok(())
}

#[tokio::test]
async fn redirects_and_errors_have_the_headers_that_the_page_on_moving_says() -> anyhow::Result<()> {
    let case = Case::new("unlike-headers").await?;
    let _servers = case.echo(1).await?;
    let gate = gate().await?;
    let url = gate.url("/basic-auth/user/password");
    let sign_in = [("auth-url", url.as_str()), ("auth-signin", "http://login.foo.com/")];
    case.create(&at("sign", "sign.foo.com", "/", &sign_in).build()).await?;
    case.create(&at("slash", "slash.foo.com", "/foo/", &[("ssl-redirect", "false")]).build()).await?;
    let closed = [("auth-type", "basic"), ("auth-secret", "none"), ("ssl-redirect", "false")];
    case.create(&at("closed", "closed.foo.com", "/foo/", &closed).build()).await?;
    case.create(&rule("cors", "cors.foo.com").annotation("enable-cors", "true").annotation("cors-allow-methods", "GET,,POST").build())
        .await?;
    let off = [("auth-type", "basic"), ("auth-secret", "none"), ("auth-realm", "off")];
    case.create(&at("off", "off.foo.com", "/", &off).build()).await?;
    let controller = case.controller().start().await?;
    controller.until("slash.foo.com", "/foo/", 200).await?;

    let hsts = "strict-transport-security";
    let redirect = controller.get_tls("sign.foo.com", "/").await?;
    assert_eq!((redirect.status, redirect.header("www-authenticate"), redirect.header(hsts).is_some()), (302, None, true));
    let bad = Request::get(controller.https(), "/").tls("slash.foo.com").host("slash.foo.com").header("Host", "b").send().await?;
    assert_eq!((bad.status, bad.header(hsts).is_some()), (400, true));
    let slash = controller.get_tls("slash.foo.com", "/foo").await?;
    assert_eq!((slash.status, slash.header(hsts)), (301, None));
    assert_eq!(controller.statuses("closed.foo.com", ["/foo", "/foo/"]).await?, [301, 503]);
    let cors = controller.get_with("cors.foo.com", "/", &[("Origin", "http://a.com")]).await?;
    assert_eq!(cors.header("access-control-allow-methods"), Some("GET,,POST"));
    assert_eq!(controller.get("off.foo.com", "/").await?.status, 503);
    Ok(())
}

#[tokio::test]
async fn a_chunked_body_that_is_too_large_is_refused_where_a_rule_takes_it_and_not_read_where_none_does() -> anyhow::Result<()> {
    let case = Case::new("unlike-chunked").await?;
    let _servers = case.echo(1).await?;
    case.create(&at("size", "size.foo.com", "/p", &[("proxy-body-size", "1k")]).build()).await?;
    let controller = case.controller().start().await?;
    controller.until("size.foo.com", "/p", 200).await?;
    let post = |path: &str| Request::new("POST", controller.http(), path).host("size.foo.com");
    let chunked = format!("{:x}\r\n{}\r\n0\r\n\r\n", 2000, "x".repeat(2000));
    for (path, status) in [("/p", 413), ("/none", 404)] {
        let request = post(path).header("Transfer-Encoding", "chunked").body(chunked.as_str());
        assert_eq!(request.send().await?.status, status, "{path}");
        assert_eq!(post(path).body("x".repeat(2000)).send().await?.status, 413, "{path}");
    }
    Ok(())
}
