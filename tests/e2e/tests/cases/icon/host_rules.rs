//! Literal hosts, a wildcard, and a certificate.

use testkit::echo::Seen;
use testkit::kube::{Certificate, PathType, mk_ingress};

use super::Conformance;

const HOST: &str = "foo.bar.com";

/// The set-up, served. What foo.bar.com shows may still be the certificate that stands in until the Secret is there.
async fn host_rules(id: &str) -> anyhow::Result<(Conformance, Certificate)> {
    let ingress = mk_ingress("host-rules").class("nginx").tls(HOST, "conformance-tls");
    let ingress = ingress.host("*.foo.com").path("/", PathType::Prefix, "wildcard-foo-com", 8080);
    let ingress = ingress.host(HOST).path("/", PathType::Prefix, "foo-bar-com", "http").build();
    let conformance = Conformance::new(id, &[("wildcard-foo-com", 1), ("foo-bar-com", 1)], ingress).await?;
    let certificate = conformance.case.certificate("conformance-tls", &[HOST]).await?;
    conformance.served("bar.foo.com", "/").await?;
    Ok((conformance, certificate))
}

/// Status and, of an echo server, the Service and the host that it saw, for plain HTTP as the first request.
async fn asked(id: &str, host: &str) -> anyhow::Result<(u16, Option<(String, String)>)> {
    let (conformance, _) = host_rules(id).await?;
    let response = conformance.get(host, "/").await?;
    let seen = Seen::read(&response.body).ok();
    Ok((response.status, seen.map(|seen| (seen.service, seen.host))))
}

fn from(service: &str, host: &str) -> (u16, Option<(String, String)>) {
    (200, Some((service.to_owned(), host.to_owned())))
}

#[tokio::test]
async fn icon_07_https_with_the_certificate_of_the_host() -> anyhow::Result<()> {
    let (conformance, certificate) = host_rules("icon-07").await?;
    // Self-signed and for this name alone: to see it is to verify it.
    let response = conformance.controller.until_certificate(HOST, &certificate).await?;
    let seen = Seen::read(&response.body)?;
    assert_eq!((seen.service.as_str(), seen.host.as_str()), ("foo-bar-com", HOST));
    Ok(())
}

#[tokio::test]
async fn icon_08_http_reaches_the_host_after_its_redirect() -> anyhow::Result<()> {
    assert_eq!(asked("icon-08", HOST).await?, from("foo-bar-com", HOST));
    Ok(())
}

#[tokio::test]
async fn icon_09_a_sibling_of_a_literal_host_is_unknown() -> anyhow::Result<()> {
    assert_eq!(asked("icon-09", "subdomain.bar.com").await?, (404, None));
    Ok(())
}

#[tokio::test]
async fn icon_10_a_wildcard_takes_one_label() -> anyhow::Result<()> {
    assert_eq!(asked("icon-10", "bar.foo.com").await?, from("wildcard-foo-com", "bar.foo.com"));
    Ok(())
}

#[tokio::test]
async fn icon_11_a_wildcard_does_not_take_two_labels() -> anyhow::Result<()> {
    assert_eq!(asked("icon-11", "baz.bar.foo.com").await?, (404, None));
    Ok(())
}

#[tokio::test]
async fn icon_12_a_wildcard_does_not_take_the_bare_domain() -> anyhow::Result<()> {
    assert_eq!(asked("icon-12", "foo.com").await?, (404, None));
    Ok(())
}
