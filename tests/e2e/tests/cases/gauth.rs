//! External authentication for everything, and paths without any.

use e2e::{Case, Controller, Servers};
use serde_json::Value;
use testkit::gate::Gate;
use testkit::http::Response;
use testkit::kube::{IngressBuilder, PathType, mk_ingress};

use super::auth::{self, external::gate};

const HOST: &str = "global-auth";

fn path(name: &str, path: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(HOST).path(path, PathType::Prefix, "echo", 80)
}

/// The set-up: the service always answers in one way.
async fn set_up(
    id: &str,
    answer: &str,
    more: &[(&str, &str)],
    ingresses: [IngressBuilder; 2],
) -> anyhow::Result<(Case, Gate, Servers, Controller)> {
    let case = Case::new(id).await?;
    let (gate, servers) = (gate().await?, case.echo(1).await?);
    let url = gate.url(answer);
    let settings: Vec<(&str, &str)> = more.iter().copied().chain([("global-auth-url", url.as_str())]).collect();
    case.settings(&settings).await?;
    for ingress in ingresses {
        case.create(&ingress.build()).await?;
    }
    let controller = case.controller().start().await?;
    controller.until_that("a route", HOST, "/foo", |response| response.status != 404).await?;
    Ok((case, gate, servers, controller))
}

#[tokio::test]
async fn gauth_01_every_location_asks_the_global_service() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) = set_up("gauth-01", "/status/401", &[], [path("foo", "/foo"), path("bar", "/bar")]).await?;
    controller.until(HOST, "/bar", 401).await?;
    assert_eq!(controller.statuses(HOST, ["/foo", "/bar"]).await?, [401, 401]);
    Ok(())
}

#[tokio::test]
async fn gauth_02_but_not_one_with_enable_global_auth_false() -> anyhow::Result<()> {
    let ingresses = [path("foo", "/foo"), path("bar", "/bar").annotation("enable-global-auth", "false")];
    let (_case, _gate, _servers, controller) = set_up("gauth-02", "/status/401", &[], ingresses).await?;
    controller.until(HOST, "/bar", 200).await?;
    assert_eq!(controller.statuses(HOST, ["/foo", "/bar"]).await?, [401, 200]);
    Ok(())
}

/// With one more setting: the answer to a client, and the record of what is asked.
async fn asked(id: &str, setting: (&str, &str)) -> anyhow::Result<(Response, Value)> {
    let ingresses = [path("foo", "/foo"), path("bar", "/bar")];
    let (_case, _gate, _servers, controller) = set_up(id, "/status/401", &[setting], ingresses).await?;
    let answer = controller.until_that("the service's word", HOST, "/bar", |response| [302, 401].contains(&response.status)).await?;
    Ok((answer, controller.policy(HOST).await?["external_auth"].clone()))
}

#[tokio::test]
async fn gauth_03_the_method_can_be_set() -> anyhow::Result<()> {
    assert_eq!(asked("gauth-03", ("global-auth-method", "GET")).await?.1["auth_method"], "GET");
    Ok(())
}

#[tokio::test]
async fn gauth_04_a_401_can_become_a_redirect() -> anyhow::Result<()> {
    let (answer, _) = asked("gauth-04", ("global-auth-signin", "http://foo.com/global-error-page")).await?;
    let location = answer.header("location").unwrap_or_default();
    assert!(answer.status == 302 && location.starts_with("http://foo.com/global-error-page?rd="), "{} {location}", answer.status);
    Ok(())
}

#[tokio::test]
async fn gauth_05_the_redirect_header_can_be_set() -> anyhow::Result<()> {
    let (_, check) = asked("gauth-05", ("global-auth-request-redirect", "Foo-Redirect")).await?;
    assert_eq!(check["auth_request_redirect"], "Foo-Redirect");
    Ok(())
}

#[tokio::test]
async fn gauth_06_cookies_of_the_global_service_go_to_the_client() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) =
        set_up("gauth-06", "/cookie/alma/armud", &[], [path("root", "/"), path("error", "/error")]).await?;
    let response = controller.until(HOST, "/?a=b&c=d", 200).await?;
    assert_eq!(response.header("set-cookie"), Some("alma=armud"));
    Ok(())
}

#[tokio::test]
async fn gauth_07_but_not_on_errors() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) =
        set_up("gauth-07", "/cookie/alma/armud", &[], [path("root", "/"), path("error", "/error")]).await?;
    let response = controller.until(HOST, "/error?a=b&c=d&status=503", 503).await?;
    assert_eq!(response.header("set-cookie"), None);
    Ok(())
}

/// Basic authentication on `/` and `/noauth`, of which the latter is free of it.
async fn free_path(id: &str) -> anyhow::Result<(Case, Servers, Controller)> {
    let case = auth::with_users(id, &format!("foo:{}", auth::HASH)).await?;
    case.settings(&[("no-auth-locations", "/noauth")]).await?;
    let servers = case.echo(1).await?;
    case.create(&auth::protected("basic").path("/noauth", PathType::Prefix, "echo", 80).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(auth::HOST, "/noauth", 200).await?;
    Ok((case, servers, controller))
}

#[tokio::test]
async fn gauth_08_a_path_beside_no_auth_locations_asks_for_a_password() -> anyhow::Result<()> {
    let (_case, _servers, controller) = free_path("gauth-08").await?;
    let response = controller.get(auth::HOST, "/").await?;
    assert_eq!(response.status, 401);
    assert!(response.text().contains("401 Authorization Required"), "{}", response.text());
    Ok(())
}

#[tokio::test]
async fn gauth_09_one_of_no_auth_locations_does_not() -> anyhow::Result<()> {
    let (_case, _servers, controller) = free_path("gauth-09").await?;
    assert_eq!(controller.statuses(auth::HOST, ["/noauth", "/noauth/x"]).await?, [200, 200]);
    Ok(())
}
