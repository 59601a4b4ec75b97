//! ERR: errors that another backend answers.

use anyhow::ensure;
use e2e::{Case, Controller, Echo, PATIENCE, rule};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::echo::Seen;
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

const HOST: &str = "errors.example.com";
const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Waits for the statuses of what the endpoint answers with these. Without a backend for errors, those that are taken over become 404.
async fn until_taken_over(controller: &Controller, expected: &[(&str, u16)]) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        for (target, expected) in expected {
            let status = controller.get(HOST, target).await?.status;
            ensure!(status == *expected, "{target}: {status}, not {expected}");
        }
        Ok(())
    })
    .await
}

async fn annotate(case: &Case, name: &str, key: &str, value: &str) -> anyhow::Result<()> {
    case.patch::<Ingress>(name, json!({"metadata": {"annotations": {format!("{PREFIX}/{key}"): value}}})).await?;
    Ok(())
}

#[tokio::test]
async fn err_01_custom_http_errors_name_the_statuses_that_are_taken_over() -> anyhow::Result<()> {
    let case = Case::new("err-01").await?;
    let _servers = case.deploy(&[Echo::named("echo"), Echo::named("from-annotation")]).await?;
    case.create(&rule("first", HOST).annotation("custom-http-errors", "404,500").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    until_taken_over(&controller, &[("/?status=500", 404), ("/?status=404", 404), ("/?status=503", 503)]).await?;

    annotate(&case, "first", "custom-http-errors", "503").await?;
    until_taken_over(&controller, &[("/?status=500", 500), ("/?status=503", 404)]).await?;

    let second = mk_ingress("second").class("nginx").host(HOST).path("/else", PathType::Prefix, "echo", 80);
    case.create(&second.annotation("custom-http-errors", "404, 500").build()).await?;
    until_taken_over(&controller, &[("/else?status=500", 404), ("/else?status=503", 503), ("/?status=500", 500)]).await?;

    annotate(&case, "first", "default-backend", "from-annotation").await?;
    controller.until_that("the page", HOST, "/?status=503", |response| response.text().contains("service=from-annotation\n")).await?;
    until_taken_over(&controller, &[("/else?status=500", 404)]).await?;
    Ok(())
}

#[tokio::test]
async fn err_02_the_default_backend_of_an_ingress_takes_the_place_of_one_without_endpoints() -> anyhow::Result<()> {
    let case = Case::new("err-02").await?;
    let _servers = case.echo(1).await?;
    let ingress = mk_ingress("default-backend").class("nginx").host(HOST).path("/", PathType::Prefix, "invalid", 80);
    case.create(&ingress.annotation("default-backend", "echo").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/alma/armud", 200).await?;
    let request = Request::get(controller.http(), "/alma/armud").host(HOST).header("X-Request-ID", "something-unique");
    let seen = Seen::read(&request.send().await?.body)?;
    assert_eq!(seen.request_uri, "/alma/armud");
    for (name, value) in [
        ("x-code", "503"),
        ("x-ingress-name", "default-backend"),
        ("x-namespace", case.ns()),
        ("x-service-name", "invalid"),
        ("x-service-port", "80"),
        ("x-request-id", "something-unique"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert_eq!(seen.header("x-original-uri"), None);
    Ok(())
}

#[tokio::test]
async fn err_03_disable_proxy_intercept_errors_leaves_the_endpoints_errors_alone() -> anyhow::Result<()> {
    let case = Case::new("err-03").await?;
    let _servers = case.deploy(&[Echo::named("echo"), Echo::named("pages")]).await?;
    let ingress = rule("errors", HOST).annotation("custom-http-errors", "404").annotation("default-backend", "pages");
    case.create(&ingress.annotation("disable-proxy-intercept-errors", "true").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let headers = [("X-Request-ID", "proxy_intercept_errors"), ("Accept", "text/x-own")];
    let target = "/status/404?x=y";
    let own = controller.get_with(HOST, target, &headers).await?;
    assert_eq!((own.status, own.text().as_str()), (404, ""));

    annotate(&case, "errors", "disable-proxy-intercept-errors", "false").await?;
    let seen = poll(PATIENCE, || async {
        let request = Request::new("POST", controller.http(), target).host(HOST).body("hello");
        let response = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await?;
        ensure!(response.status == 200, "still {}", response.status);
        Seen::read(&response.body)
    })
    .await?;
    assert_eq!((seen.method.as_str(), seen.request_uri.as_str(), seen.body_bytes), ("POST", "/?x=y", 5));
    assert_eq!(seen.service, "pages");
    for (name, value) in [
        ("x-code", "404"),
        ("x-format", "text/x-own"),
        ("x-original-uri", target),
        ("x-ingress-name", "errors"),
        ("x-service-name", "echo"),
        ("x-request-id", "proxy_intercept_errors"),
        ("host", HOST),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn errors_of_the_settings_go_to_the_default_backend_of_all_with_its_status() -> anyhow::Result<()> {
    let case = Case::new("err-global").await?;
    let _servers = case.deploy(&[Echo::named("echo"), Echo::named("pages"), Echo::named("other")]).await?;
    case.settings(&[("custom-http-errors", "404,503")]).await?;
    case.create(&rule("first", HOST).build()).await?;
    // A backend for errors counts with a list of its own only.
    let other = mk_ingress("other").class("nginx").host(HOST).path("/status/503", PathType::Prefix, "echo", 80);
    case.create(&other.annotation("default-backend", "other").build()).await?;
    case.create(&mk_ingress("none").class("nginx").host(HOST).path("/none", PathType::Prefix, "invalid", 80).build()).await?;
    let controller = case.controller().flag("--default-backend-service={NS}/pages").start().await?;
    controller.until(HOST, "/", 200).await?;
    for (path, code) in [("/status/404", "404"), ("/none/x", "503"), ("/status/503", "503")] {
        let seen = poll(PATIENCE, || async {
            let seen = Seen::read(&controller.get(HOST, path).await?.body)?;
            ensure!(seen.service == "pages", "{path}: {} answers", seen.service);
            Ok(seen)
        })
        .await?;
        assert_eq!((seen.header("x-code"), seen.path.as_str()), (Some(code), "/"), "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn a_default_backend_counts_as_soon_as_its_service_exists() -> anyhow::Result<()> {
    let case = Case::new("err-late").await?;
    let ingress = mk_ingress("late").class("nginx").host(HOST).path("/", PathType::Prefix, "invalid", 80);
    case.create(&ingress.annotation("default-backend", "echo").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 503).await?;
    let servers = case.echo(1).await?;
    controller.until(HOST, "/", 200).await?;
    drop(servers);
    case.delete::<Service>("echo").await?;
    controller.until(HOST, "/", 503).await?;
    Ok(())
}
