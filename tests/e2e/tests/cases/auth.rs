//! Basic, digest and external authentication.

pub(super) mod external;

use std::collections::BTreeMap;

use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testkit::http::{Response, basic};
use testkit::kube::IngressBuilder;
use testkit::poll;

pub(super) const HOST: &str = "auth";
/// bcrypt of `bar`, cost 4.
pub(super) const HASH: &str = "$2y$04$abcdefghijklmnopqrstuuEnktNu4dNa/sMz6nY.lAbxawdTTajT2";

pub(super) fn users(name: &str, key: &str, content: &str) -> Secret {
    let data = BTreeMap::from([(key.to_owned(), ByteString(content.as_bytes().to_vec()))]);
    Secret { metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }, data: Some(data), ..Secret::default() }
}

/// The Ingress of the set-up: users of the Secret `test`.
pub(super) fn protected(name: &str) -> IngressBuilder {
    rule(name, HOST).annotation("auth-type", "basic").annotation("auth-secret", "test").annotation("auth-realm", "test auth")
}

/// `GET path` with credentials.
async fn log_in(controller: &Controller, path: &str, user: &str, password: &str) -> anyhow::Result<Response> {
    controller.get_with(HOST, path, &[("authorization", &basic(user, password))]).await
}

/// The set-up with one file of users.
pub(super) async fn with_users(id: &str, file: &str) -> anyhow::Result<Case> {
    let case = Case::new(id).await?;
    case.create(&users("test", "auth", file)).await?;
    Ok(case)
}

#[tokio::test]
async fn auth_01_without_annotations_nobody_is_asked() -> anyhow::Result<()> {
    let case = Case::new("auth-01").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(controller.seen(HOST, "/").await?.host, HOST);
    Ok(())
}

#[tokio::test]
async fn auth_02_without_credentials_the_answer_is_401_and_auth_realm_is_told() -> anyhow::Result<()> {
    let case = with_users("auth-02", &format!("foo:{HASH}")).await?;
    let _servers = case.echo(1).await?;
    case.create(&protected("basic").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 401).await?;
    assert!(response.text().contains("401 Authorization Required"), "{}", response.text());
    assert_eq!(response.header("www-authenticate"), Some("Basic realm=\"test auth\""));
    Ok(())
}

#[tokio::test]
async fn auth_03_the_401_carries_what_cors_asks_for() -> anyhow::Result<()> {
    let case = with_users("auth-03", &format!("foo:{HASH}")).await?;
    let _servers = case.echo(1).await?;
    case.create(&protected("basic").annotation("enable-cors", "true").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 401).await?;
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    Ok(())
}

#[tokio::test]
async fn auth_04_with_auth_type_basic_a_user_of_auth_secret_gets_in() -> anyhow::Result<()> {
    let case = with_users("auth-04", &format!("# users\nfoo:{HASH}\n")).await?;
    let _servers = case.echo(1).await?;
    case.create(&protected("basic").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 401).await?;
    let response = log_in(&controller, "/", "foo", "bar").await?;
    assert_eq!(response.status, 200);
    // The password is not the backend's business.
    assert!(!response.text().contains("authorization="), "{}", response.text());
    assert_eq!(log_in(&controller, "/", "foo", "baz").await?.status, 401);

    // Another password holds without a reload.
    let reloads = controller.reloads().await?;
    let patch = serde_json::json!({"data": {"auth": ByteString(b"foo:{PLAIN}new".to_vec())}});
    case.patch::<Secret>("test", patch).await?;
    poll(PATIENCE, || async {
        let status = log_in(&controller, "/", "foo", "new").await?.status;
        anyhow::ensure!(status == 200, "the new password is answered {status}");
        Ok(())
    })
    .await?;
    assert_eq!(log_in(&controller, "/", "foo", "bar").await?.status, 401);
    assert_eq!(controller.reloads().await?, reloads);
    Ok(())
}

#[tokio::test]
async fn auth_05_a_user_without_a_hash_does_not_get_in() -> anyhow::Result<()> {
    let case = with_users("auth-05", "foo:").await?;
    let _servers = case.echo(1).await?;
    case.create(&protected("basic").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 401).await?;
    assert_eq!(log_in(&controller, "/", "foo", "bar").await?.status, 401);
    assert_eq!(log_in(&controller, "/", "foo", "").await?.status, 401);
    Ok(())
}

#[tokio::test]
async fn with_auth_secret_type_auth_map_each_key_is_a_user() -> anyhow::Result<()> {
    let case = Case::new("auth-map").await?;
    let _servers = case.echo(1).await?;
    case.create(&users("test", "foo", HASH)).await?;
    case.create(&protected("basic").annotation("auth-secret-type", "auth-map").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 401).await?;
    assert_eq!(log_in(&controller, "/", "foo", "bar").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_secret_that_is_missing_closes_the_location_until_it_comes() -> anyhow::Result<()> {
    let case = Case::new("auth-missing").await?;
    let _servers = case.echo(1).await?;
    case.create(&protected("basic").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 503).await?;
    assert_eq!(log_in(&controller, "/", "foo", "bar").await?.status, 503);
    case.create(&users("test", "auth", &format!("foo:{HASH}"))).await?;
    controller.until(HOST, "/", 401).await?;
    assert_eq!(log_in(&controller, "/", "foo", "bar").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn auth_22_satisfy_is_followed() -> anyhow::Result<()> {
    let case = Case::new("auth-22").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("satisfy", HOST).annotation("satisfy", "all").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    for (satisfy, number) in [("all", 1), ("any", 2), ("all", 3)] {
        let annotations = [("satisfy", satisfy.to_owned()), ("proxy-read-timeout", number.to_string())];
        let annotations: BTreeMap<String, String> =
            annotations.map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value)).into();
        let patch = serde_json::json!({"metadata": {"annotations": annotations}});
        case.patch::<k8s_openapi::api::networking::v1::Ingress>("satisfy", patch).await?;
        poll(PATIENCE, || async {
            let policy = controller.policy(HOST).await?;
            anyhow::ensure!(policy["proxy_read_timeout"] == number, "{policy}");
            assert_eq!(policy["satisfy_any"].as_bool().unwrap_or_default(), satisfy == "any", "{policy}");
            Ok(())
        })
        .await?;
        assert_eq!(controller.get(HOST, "/").await?.status, 200);
    }
    Ok(())
}
