//! Headers.

use std::collections::BTreeMap;

use anyhow::ensure;
use e2e::{Case, PATIENCE, rule};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use testkit::echo::Seen;
use testkit::poll;

const HOST: &str = "headers.foo.com";

fn map(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    let data: BTreeMap<String, String> = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ConfigMap { metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }, data: Some(data), ..ConfigMap::default() }
}

#[tokio::test]
async fn hdr_02_without_custom_headers_nothing_is_added() -> anyhow::Result<()> {
    let case = Case::new("hdr-02").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 200).await?;
    assert_eq!(Seen::read(&response.body)?.host, HOST);
    assert_eq!(response.header("my-custom-header"), None);
    Ok(())
}

#[tokio::test]
async fn hdr_03_custom_headers_of_a_configmap_are_on_every_answer() -> anyhow::Result<()> {
    let case = Case::new("hdr-03").await?;
    let _servers = case.echo(1).await?;
    let headers = [("My-Custom-Header", "42"), ("My-Custom-Header-Dollar", "$remote_addr")];
    case.create(&map("custom-headers", &headers)).await?;
    case.settings(&[("global-allowed-response-headers", "My-Custom-Header,My-Custom-Header-Dollar")]).await?;
    case.create(&rule("custom", HOST).annotation("custom-headers", &format!("{}/custom-headers", case.ns())).build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 200).await?;
    for (name, value) in headers {
        assert_eq!(response.header(name), Some(value));
    }

    // The ConfigMap is followed without a reload. One with a header that is not allowed is used as it was; without one the location is closed.
    let reloads = controller.reloads().await?;
    case.patch::<ConfigMap>("custom-headers", json!({"data": {"My-Custom-Header": "43"}})).await?;
    controller.until_that("43", HOST, "/", |response| response.header("my-custom-header") == Some("43")).await?;
    case.patch::<ConfigMap>("custom-headers", json!({"data": {"my-custom-header": "44"}})).await?;
    poll(PATIENCE, || async {
        ensure!(controller.log().contains("its last accepted version goes on being used"), "not noticed");
        Ok(())
    })
    .await?;
    let response = controller.until(HOST, "/", 200).await?;
    assert_eq!(response.header_all("my-custom-header").collect::<Vec<_>>(), ["43"]);
    case.delete::<ConfigMap>("custom-headers").await?;
    controller.until(HOST, "/", 503).await?;
    assert_eq!(controller.reloads().await?, reloads);
    Ok(())
}

#[tokio::test]
async fn hdr_04_x_forwarded_prefix_tells_what_the_rewrite_cut_off() -> anyhow::Result<()> {
    let case = Case::new("hdr-04").await?;
    let _servers = case.echo(1).await?;
    let ingress = rule("prefix", HOST).annotation("x-forwarded-prefix", "/test/value").annotation("rewrite-target", "/foo");
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(controller.seen(HOST, "/").await?.header("x-forwarded-prefix"), Some("/test/value"));
    Ok(())
}

#[tokio::test]
async fn hdr_05_add_headers_are_on_every_answer() -> anyhow::Result<()> {
    let case = Case::new("hdr-05").await?;
    let _servers = case.echo(1).await?;
    case.create(&map("add-headers-configmap", &[("X-A-Custom-Header", "customHeaderValue"), ("X-Seen", "$host")])).await?;
    case.create(&map("request-headers", &[("X-To-Backend", "of $host"), ("Accept", "")])).await?;
    let settings = [
        ("add-headers", format!("{}/add-headers-configmap", case.ns())),
        ("proxy-set-headers", format!("{}/request-headers", case.ns())),
        ("hide-headers", "X-Hidden".to_owned()),
    ];
    case.settings(&settings.each_ref().map(|(key, value)| (*key, value.as_str()))).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 200).await?;
    assert_eq!(response.header("x-a-custom-header"), Some("customHeaderValue"));
    assert_eq!(response.header("x-seen"), Some(HOST));
    assert_eq!(Seen::read(&response.body)?.header("x-to-backend"), Some(format!("of {HOST}").as_str()));
    assert_eq!(controller.get("unknown.foo.com", "/").await?.header("x-a-custom-header"), Some("customHeaderValue"));
    let echoed = [("x-echo-header", "X-Hidden: a"), ("x-echo-header", "X-Shown: b")];
    let response = controller.get_with(HOST, "/", &echoed).await?;
    assert_eq!((response.header("x-hidden"), response.header("x-shown")), (None, Some("b")));

    case.patch::<ConfigMap>("add-headers-configmap", json!({"data": {"X-A-Custom-Header": "another"}})).await?;
    poll(PATIENCE, || async {
        let response = controller.get(HOST, "/").await?;
        ensure!(response.header("x-a-custom-header") == Some("another"), "the ConfigMap is not followed");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn hdr_06_without_server_tokens_there_is_no_server_header() -> anyhow::Result<()> {
    let case = Case::new("hdr-06").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("server-tokens", "false")]).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 200).await?;
    assert_eq!(response.header("server"), None);
    case.settings(&[("server-tokens", "true")]).await?;
    controller.until_that("a Server header", HOST, "/", |response| response.header("server").is_some()).await?;
    Ok(())
}
