//! Another service is asked.

use e2e::{Case, Controller, Servers, rule};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testkit::gate::Gate;
use testkit::http::basic;
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::ports;

use super::{HOST, log_in};

const CHECK: &str = "/basic-auth/user/password";
const SIGN_IN: &str = "http://$host/auth/start";

/// An authentication service on an address of its own.
pub(crate) async fn gate() -> anyhow::Result<Gate> {
    Gate::start((ports::addresses(1)?[0], 8080).into()).await
}

fn asks(name: &str, gate: &Gate, path: &str) -> IngressBuilder {
    rule(name, HOST).annotation("auth-url", &gate.url(path)).annotation("auth-signin", SIGN_IN)
}

/// The set-up: everything of the host is put before the service.
async fn set_up(id: &str, more: &[(&str, &str)]) -> anyhow::Result<(Case, Gate, Servers, Controller)> {
    let case = Case::new(id).await?;
    let (gate, servers) = (gate().await?, case.echo(1).await?);
    let ingress = more.iter().fold(asks("external", &gate, CHECK), |ingress, (name, value)| ingress.annotation(name, value));
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 302).await?;
    Ok((case, gate, servers, controller))
}

#[tokio::test]
async fn auth_06_an_auth_snippet_without_auth_url_has_no_effect() -> anyhow::Result<()> {
    let case = Case::new("auth-06").await?;
    case.allow_snippets().await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("snippet", HOST).annotation("auth-snippet", "proxy_set_header My-Custom-Header 42;").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert!(!controller.nginx_conf()?.contains("proxy_set_header My-Custom-Header 42;"));
    Ok(())
}

#[tokio::test]
async fn an_auth_snippet_stands_where_the_service_is_asked_and_auth_response_headers_reach_the_backend() -> anyhow::Result<()> {
    let case = Case::new("auth-snippet").await?;
    case.allow_snippets().await?;
    let (gate, _servers) = (gate().await?, case.echo(1).await?);
    let ingress = asks("external", &gate, "/ok").annotation("auth-snippet", "proxy_set_header X-Send 42;");
    case.create(&ingress.annotation("auth-response-headers", "X-Sent").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(controller.seen(HOST, "/").await?.header("x-sent"), Some("42"));
    Ok(())
}

#[tokio::test]
async fn auth_07_auth_proxy_set_headers_name_further_headers_for_the_service() -> anyhow::Result<()> {
    let case = Case::new("auth-07").await?;
    let (gate, _servers) = (gate().await?, case.echo(1).await?);
    let map = |data: [(&str, &str); 2]| ConfigMap {
        metadata: ObjectMeta { name: Some("auth-headers".into()), ..ObjectMeta::default() },
        data: Some(data.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
        ..ConfigMap::default()
    };
    case.create(&map([("My-Custom-Header", "42"), ("X-Send", "$request_method")])).await?;
    let ingress = asks("external", &gate, "/ok").annotation("auth-proxy-set-headers", &format!("{}/auth-headers", case.ns()));
    case.create(&ingress.annotation("auth-response-headers", "X-Sent,X-Asked").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let conf = controller.conf(&[HOST])?;
    assert!(conf.contains("proxy_set_header \"My-Custom-Header\" \"42\";"), "{conf}");
    let seen = controller.seen(HOST, "/a?b=c").await?;
    assert_eq!((seen.header("x-sent"), seen.header("x-asked")), (Some("GET"), Some("http://auth/a?b=c")));
    Ok(())
}

/// The set-up with a cookie: `/` is answered 200, `/error` 503.
async fn with_cookie(id: &str, always: &str) -> anyhow::Result<(Case, Gate, Servers, Controller)> {
    let case = Case::new(id).await?;
    let (gate, servers) = (gate().await?, case.echo(1).await?);
    for (name, path) in [("root", "/"), ("error", "/error")] {
        let ingress = mk_ingress(name).class("nginx").host(HOST).path(path, PathType::Prefix, "echo", 80);
        let ingress = ingress.annotation("auth-url", &gate.url("/cookie/alma/armud")).annotation("auth-signin", SIGN_IN);
        case.create(&ingress.annotation("auth-always-set-cookie", always).build()).await?;
    }
    let controller = case.controller().start().await?;
    controller.until(HOST, "/error", 200).await?;
    Ok((case, gate, servers, controller))
}

#[tokio::test]
async fn auth_08_cookies_of_the_service_go_to_the_client() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) = with_cookie("auth-08", "false").await?;
    let response = controller.get(HOST, "/?a=b&c=d").await?;
    assert_eq!((response.status, response.header("set-cookie")), (200, Some("alma=armud")));
    let error = controller.get(HOST, "/error?status=503").await?;
    assert_eq!((error.status, error.header("set-cookie")), (503, None));
    Ok(())
}

#[tokio::test]
async fn auth_09_with_auth_always_set_cookie_also_on_errors() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) = with_cookie("auth-09", "true").await?;
    let response = controller.get(HOST, "/error?status=503").await?;
    assert_eq!((response.status, response.header("set-cookie")), (503, Some("alma=armud")));
    Ok(())
}

#[tokio::test]
async fn auth_10_where_the_service_of_auth_url_consents_auth_signin_is_not_needed() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) = set_up("auth-10", &[]).await?;
    assert_eq!(log_in(&controller, "/", "user", "password").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn auth_11_a_missing_secret_of_one_host_does_not_touch_others() -> anyhow::Result<()> {
    let (case, _gate, _servers, controller) = set_up("auth-11", &[]).await?;
    let annotations = [("auth-type", "basic"), ("auth-secret", "missing"), ("auth-realm", "test auth")];
    let annotations: std::collections::BTreeMap<String, &str> =
        annotations.map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value)).into();
    let patch = serde_json::json!({"metadata": {"annotations": annotations}});
    case.patch::<k8s_openapi::api::networking::v1::Ingress>("external", patch).await?;
    controller.until(HOST, "/", 503).await?;
    case.serve("different").await?;
    controller.until("different", "/", 200).await?;
    Ok(())
}

/// With these annotations the URL of the service, and `nginx.conf`.
async fn text(id: &str, http2: bool, annotations: &[(&str, &str)]) -> anyhow::Result<(String, String)> {
    let case = Case::new(id).await?;
    case.settings(&[("use-http2", if http2 { "true" } else { "false" })]).await?;
    let _servers = case.echo(1).await?;
    let ingress = annotations.iter().fold(rule("external", HOST), |ingress, (name, value)| ingress.annotation(name, value));
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    // No service consents.
    controller.until_that("no consent", HOST, "/", |response| response.status >= 401 && response.status != 404).await?;
    let url = controller.policy(HOST).await?["external_auth"]["auth_url"].as_str().unwrap_or_default().to_owned();
    Ok((url, controller.nginx_conf()?))
}

#[tokio::test]
async fn auth_12_without_auth_keepalive_no_connection_is_kept() -> anyhow::Result<()> {
    let (url, conf) = text("auth-12", false, &[("auth-url", "http://foo.bar.baz:5000/path")]).await?;
    assert!(url == "http://foo.bar.baz:5000/path" && !conf.contains("upstream auth-external-auth"), "{url} {conf}");
    Ok(())
}

#[tokio::test]
async fn auth_13_a_variable_host_rules_auth_keepalive_out() -> anyhow::Result<()> {
    let (url, conf) = text("auth-13", false, &[("auth-url", "http://$host/path"), ("auth-keepalive", "123")]).await?;
    assert_eq!(url, "http://$host/path");
    assert!(!conf.contains("upstream auth-external-auth") && !conf.contains("keepalive 123;"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn auth_14_with_http2_no_connection_is_kept() -> anyhow::Result<()> {
    let annotations = [
        ("auth-url", "http://foo.bar.baz:5000/path"),
        ("auth-keepalive", "123"),
        ("auth-keepalive-requests", "456"),
        ("auth-keepalive-timeout", "789"),
    ];
    let (url, conf) = text("auth-14", true, &annotations).await?;
    assert!(url == "http://foo.bar.baz:5000/path" && !conf.contains("upstream auth-external-auth"), "{url} {conf}");
    Ok(())
}

/// The set-up with connections that are kept works: whether variables are shared, and `nginx.conf`.
async fn kept(id: &str, more: &[(&str, &str)]) -> anyhow::Result<(Option<bool>, String)> {
    let case = Case::new(id).await?;
    case.settings(&[("use-http2", "false")]).await?;
    let (gate, _servers) = (gate().await?, case.echo(1).await?);
    let ingress = asks("external", &gate, CHECK).annotation("auth-keepalive", "10");
    let ingress = more.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 302).await?;
    assert_eq!(log_in(&controller, "/", "user", "password").await?.status, 200);
    assert_eq!(log_in(&controller, "/", "user", "wrong").await?.status, 302);
    Ok((controller.policy(HOST).await?["external_auth"]["auth_keepalive_share_vars"].as_bool(), controller.nginx_conf()?))
}

#[tokio::test]
async fn auth_15_auth_keepalive_keeps_connections() -> anyhow::Result<()> {
    let (shares, conf) = kept("auth-15", &[]).await?;
    assert!(shares == Some(false) && conf.contains("upstream auth-external-auth") && conf.contains("keepalive 10;"), "{shares:?} {conf}");
    Ok(())
}

#[tokio::test]
async fn auth_16_auth_keepalive_share_vars_is_told() -> anyhow::Result<()> {
    let (shares, conf) = kept("auth-16", &[("auth-keepalive-share-vars", "true")]).await?;
    assert!(shares == Some(true) && conf.contains("upstream auth-external-auth") && conf.contains("keepalive 10;"), "{shares:?} {conf}");
    Ok(())
}

#[tokio::test]
async fn auth_keepalive_requests_and_auth_keepalive_timeout_are_those_of_the_connections() -> anyhow::Result<()> {
    let (_, conf) = kept("auth-keepalive", &[("auth-keepalive-requests", "456"), ("auth-keepalive-timeout", "789")]).await?;
    assert!(conf.contains("keepalive 10; keepalive_requests 456; keepalive_timeout 789s;"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn auth_17_auth_signin_redirect_param_names_the_parameter() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) = set_up("auth-17", &[("auth-signin-redirect-param", "orig")]).await?;
    let response = controller.get(HOST, "/?a=b&c=d").await?;
    let location = "http://auth/auth/start?orig=http://auth%2F%3Fa%3Db%26c%3Dd";
    assert_eq!((response.status, response.header("location")), (302, Some(location)));
    Ok(())
}

/// The set-up with answers that are kept: two hosts, two paths each.
async fn cached(id: &str) -> anyhow::Result<(Case, Gate, Servers, Controller)> {
    let case = Case::new(id).await?;
    let (gate, servers) = (gate().await?, case.echo(1).await?);
    for (host, path) in [(HOST, "/foo"), (HOST, "/bar"), ("different", "/foo"), ("different", "/bar")] {
        let name = format!("{host}-{}", path.trim_matches('/'));
        let ingress = mk_ingress(&name).class("nginx").host(host).path(path, PathType::Prefix, "echo", 80);
        let ingress = ingress.annotation("auth-url", &gate.url(CHECK)).annotation("auth-signin", SIGN_IN);
        let ingress = ingress.annotation("auth-cache-key", "fixed").annotation("auth-cache-duration", "200 201 401 30m");
        case.create(&ingress.build()).await?;
    }
    let controller = case.controller().start().await?;
    Ok((case, gate, servers, controller))
}

/// Waits for the location without asking the service in vain, whose no would be kept.
async fn first_yes(controller: &Controller, host: &str, path: &str) -> anyhow::Result<()> {
    testkit::poll(e2e::PATIENCE, || async {
        let response = controller.get_with(host, path, &[("authorization", &basic("user", "password"))]).await?;
        anyhow::ensure!(response.status == 200, "{host}{path}: {}", response.status);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn auth_18_with_auth_cache_key_an_answer_is_kept() -> anyhow::Result<()> {
    let (_case, gate, _servers, controller) = cached("auth-18").await?;
    first_yes(&controller, HOST, "/foo").await?;
    drop(gate);
    assert_eq!(log_in(&controller, "/foo", "user", "password").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn auth_19_for_auth_cache_duration_and_for_its_location_alone() -> anyhow::Result<()> {
    let (_case, gate, _servers, controller) = cached("auth-19").await?;
    first_yes(&controller, HOST, "/foo").await?;
    drop(gate);
    assert_eq!(log_in(&controller, "/foo", "user", "password").await?.status, 200);
    assert_eq!(log_in(&controller, "/bar", "user", "password").await?.status, 500);
    Ok(())
}

#[tokio::test]
async fn auth_20_the_place_of_a_missing_rule_for_the_root_asks_too() -> anyhow::Result<()> {
    let (_case, _gate, _servers, controller) = cached("auth-20").await?;
    controller.until(HOST, "/foo", 302).await?;
    let response = controller.get(HOST, "/?a=b&c=d").await?;
    let location = "http://auth/auth/start?rd=http://auth%2F%3Fa%3Db%26c%3Dd";
    assert_eq!((response.status, response.header("location")), (302, Some(location)));
    Ok(())
}

#[tokio::test]
async fn auth_21_an_auth_url_that_is_none_closes_the_location() -> anyhow::Result<()> {
    let case = Case::new("auth-21").await?;
    let _servers = case.echo(1).await?;
    let ingress = mk_ingress("denied").class("nginx").host(HOST).path("/denied-auth", PathType::Prefix, "echo", 80);
    case.create(&ingress.annotation("auth-url", "https://invalid..auth.url").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/denied-auth", 503).await?;
    assert!(controller.metrics().await?.contains("narthex_problems{kind=\"AnnotationParsingFailed\"} 1"));
    Ok(())
}

#[tokio::test]
async fn auth_method_and_auth_request_redirect_reach_the_service() -> anyhow::Result<()> {
    let case = Case::new("auth-method").await?;
    let (gate, _servers) = (gate().await?, case.echo(1).await?);
    let ingress = asks("external", &gate, "/ok").annotation("auth-method", "POST");
    case.create(&ingress.annotation("auth-request-redirect", "Foo-Redirect").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let check = &controller.policy(HOST).await?["external_auth"];
    assert_eq!((check["auth_method"].as_str(), check["auth_request_redirect"].as_str()), (Some("POST"), Some("Foo-Redirect")));
    Ok(())
}
