//! Literal hosts, a wildcard, and a certificate.

use testkit::echo::Seen;
use testkit::http::Response;
use testkit::kube::{PathType, mk_certificate, mk_ingress, mk_tls_secret};

use super::Conformance;

const HOST: &str = "foo.bar.com";

async fn host_rules(id: &str) -> anyhow::Result<Conformance> {
    let ingress = mk_ingress("host-rules").class("nginx").tls(HOST, "conformance-tls");
    let ingress = ingress.host("*.foo.com").path("/", PathType::Prefix, "wildcard-foo-com", 8080);
    let ingress = ingress.host(HOST).path("/", PathType::Prefix, "foo-bar-com", "http").build();
    let conformance = Conformance::new(id, &[("wildcard-foo-com", 1), ("foo-bar-com", 1)], ingress).await?;
    conformance.served("bar.foo.com", "/").await?;
    Ok(conformance)
}

#[track_caller]
fn check_backend(response: &Response, service: &str, host: &str) {
    assert_eq!(response.status, 200, "{}", response.text());
    let seen = Seen::read(&response.body).unwrap();
    assert_eq!((seen.service.as_str(), seen.host.as_str()), (service, host));
}

#[tokio::test]
async fn icon_07_https_with_the_certificate_of_the_host() -> anyhow::Result<()> {
    let conformance = host_rules("icon-07").await?;
    let certificate = mk_certificate(&[HOST])?;
    conformance.case.create(&mk_tls_secret("conformance-tls", &certificate)).await?;
    // The certificate itself is trusted, so that to see it is to verify it: it is for this name alone.
    let https = || async {
        let response = conformance.controller.get_tls(HOST, "/").await?;
        anyhow::ensure!(response.certificates.first() == Some(&certificate.der), "another certificate");
        Ok(response)
    };
    check_backend(&testkit::poll(e2e::PATIENCE, https).await?, "foo-bar-com", HOST);
    Ok(())
}

#[tokio::test]
async fn icon_08_http_reaches_the_host_after_its_redirect() -> anyhow::Result<()> {
    let conformance = host_rules("icon-08").await?;
    let response = conformance.get(HOST, "/").await?;
    check_backend(&response, "foo-bar-com", HOST);
    Ok(())
}

#[tokio::test]
async fn icon_09_a_sibling_of_a_literal_host_is_unknown() -> anyhow::Result<()> {
    assert_eq!(host_rules("icon-09").await?.get("subdomain.bar.com", "/").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn icon_10_a_wildcard_takes_one_label() -> anyhow::Result<()> {
    check_backend(&host_rules("icon-10").await?.get("bar.foo.com", "/").await?, "wildcard-foo-com", "bar.foo.com");
    Ok(())
}

#[tokio::test]
async fn icon_11_a_wildcard_does_not_take_two_labels() -> anyhow::Result<()> {
    assert_eq!(host_rules("icon-11").await?.get("baz.bar.foo.com", "/").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn icon_12_a_wildcard_does_not_take_the_bare_domain() -> anyhow::Result<()> {
    assert_eq!(host_rules("icon-12").await?.get("foo.com", "/").await?.status, 404);
    Ok(())
}
