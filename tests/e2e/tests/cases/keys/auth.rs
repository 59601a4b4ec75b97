//! External authentication of all locations.

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, Servers, rule};
use testkit::gate::Gate;
use testkit::poll;

use super::HOST;
use crate::cases::auth::external::gate;

struct Guarded {
    _case: Case,
    _servers: Servers,
    gate: Gate,
    controller: Controller,
}

/// Everything is put before a service that always answers in one way.
async fn guarded(id: &str, answer: &str, settings: &[(&str, &str)], until: u16) -> anyhow::Result<Guarded> {
    let case = Case::new(id).await?;
    let (gate, servers) = (gate().await?, case.echo(1).await?);
    let url = gate.url(answer);
    let settings: Vec<(&str, &str)> = settings.iter().copied().chain([("global-auth-url", url.as_str())]).collect();
    case.settings(&settings).await?;
    case.create(&rule("keys", HOST).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", until).await?;
    Ok(Guarded { _case: case, _servers: servers, gate, controller })
}

#[tokio::test]
async fn global_auth_always_set_cookie_sends_the_cookie_with_errors_too() -> anyhow::Result<()> {
    let guarded = guarded("keys-cookie", "/cookie/alma/armud", &[("global-auth-always-set-cookie", "true")], 200).await?;
    let response = guarded.controller.get(HOST, "/?status=503").await?;
    assert_eq!((response.status, response.header("set-cookie")), (503, Some("alma=armud")));
    Ok(())
}

#[tokio::test]
async fn global_auth_response_headers_and_global_auth_snippet_reach_backend_and_service() -> anyhow::Result<()> {
    let settings = [("global-auth-response-headers", "X-Sent"), ("global-auth-snippet", "proxy_set_header X-Send 42;")];
    let guarded = guarded("keys-auth-headers", "/status/200", &settings, 200).await?;
    assert_eq!(guarded.controller.seen(HOST, "/").await?.header("x-sent"), Some("42"));
    Ok(())
}

#[tokio::test]
async fn global_auth_signin_redirect_param_names_the_parameter_with_the_way_back() -> anyhow::Result<()> {
    let settings = [("global-auth-signin", "http://login.example.com/"), ("global-auth-signin-redirect-param", "back")];
    let guarded = guarded("keys-signin", "/status/401", &settings, 302).await?;
    let response = guarded.controller.get(HOST, "/here").await?;
    let location = response.header("location").unwrap_or_default();
    assert!(location.starts_with("http://login.example.com/?back=") && location.contains("keys.example.com"), "{location}");
    Ok(())
}

#[tokio::test]
async fn global_auth_cache_key_and_global_auth_cache_duration_keep_answers() -> anyhow::Result<()> {
    let settings = [("global-auth-cache-key", "$http_x_user"), ("global-auth-cache-duration", "200 30m")];
    let guarded = guarded("keys-auth-cache", "/status/200", &settings, 200).await?;
    let ask = async |user: &str| {
        let before = guarded.gate.requests();
        for _ in 0..3 {
            guarded.controller.get_with(HOST, "/", &[("X-User", user)]).await?;
        }
        anyhow::Ok(guarded.gate.requests() - before)
    };
    poll(PATIENCE, || async {
        ensure!(ask("ann").await? == 0, "the answer for ann is not kept yet");
        Ok(())
    })
    .await?;
    assert!(ask("bob").await? >= 1, "bob is asked about");
    Ok(())
}
