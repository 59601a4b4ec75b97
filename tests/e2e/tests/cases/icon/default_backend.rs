//! An Ingress with nothing but a default backend takes every request.

use std::collections::BTreeSet;

use k8s_openapi::api::networking::v1::Ingress;
use testkit::echo::Seen;
use testkit::kube::mk_ingress;

use super::{Conformance, USER_AGENT};

fn catch_all(name: &str) -> Ingress {
    mk_ingress(name).class("nginx").default_backend("echo-service", 8080).build()
}

/// One request, of which the backend must see everything. Without a host the address is asked for.
async fn check(id: &str, method: &str, host: Option<&str>, path: &str) -> anyhow::Result<()> {
    let conformance = Conformance::new(id, &[("echo-service", 1)], catch_all("default-backend")).await?;
    conformance.served("ready", "/").await?;
    let address = conformance.controller.http().to_string();
    let response = conformance.request(method, host.unwrap_or(&address), path).send().await?;
    assert_eq!((response.status, response.version.as_str()), (200, "HTTP/1.1"), "{}", response.text());
    for name in ["Content-Length", "Content-Type", "Date", "Server"] {
        assert!(response.header(name).is_some(), "{name} is not among {:?}", response.headers);
    }
    let seen = Seen::read(&response.body)?;
    assert_eq!((seen.service.as_str(), seen.method.as_str(), seen.path.as_str()), ("echo-service", method, path));
    assert_eq!((seen.proto.as_str(), seen.header("user-agent")), ("HTTP/1.1", Some(USER_AGENT)));
    assert_eq!(seen.host, host.unwrap_or(&address));
    Ok(())
}

#[tokio::test]
async fn icon_01_a_get_of_the_root() -> anyhow::Result<()> {
    check("icon-01", "GET", Some("my-host"), "/").await
}

#[tokio::test]
async fn icon_02_a_get_of_a_path() -> anyhow::Result<()> {
    check("icon-02", "GET", Some("my-host"), "/sub-path").await
}

#[tokio::test]
async fn icon_03_a_post() -> anyhow::Result<()> {
    check("icon-03", "POST", Some("some-host"), "/").await
}

#[tokio::test]
async fn icon_04_a_put_to_the_bare_address() -> anyhow::Result<()> {
    check("icon-04", "PUT", None, "/resource").await
}

#[tokio::test]
async fn icon_05_a_delete() -> anyhow::Result<()> {
    check("icon-05", "DELETE", Some("some-host"), "/resource").await
}

#[tokio::test]
async fn icon_06_a_patch() -> anyhow::Result<()> {
    check("icon-06", "PATCH", Some("my-host"), "/resource").await
}

#[tokio::test]
async fn icon_14_every_endpoint_gets_its_share() -> anyhow::Result<()> {
    let conformance = Conformance::new("icon-14", &[("echo-service", 10)], catch_all("load-balancing")).await?;
    conformance.served("load-balancing", "/").await?;
    let mut servers = BTreeSet::new();
    for _ in 0..100 {
        let response = conformance.get("load-balancing", "/").await?;
        assert_eq!(response.status, 200, "{}", response.text());
        servers.insert(Seen::read(&response.body)?.pod);
    }
    assert_eq!(servers.len(), 10, "{servers:?}");
    Ok(())
}
