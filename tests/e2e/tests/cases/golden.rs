//! Golden checks: small facts on the wire that clients rely on.

use std::net::Ipv4Addr;

use anyhow::ensure;
use e2e::{Case, PATIENCE, has_fake_certificate, rule};
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::echo::Seen;
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

const HOST: &str = "golden.example.com";
const HSTS: &str = "max-age=31536000; includeSubDomains";

#[tokio::test]
async fn golden_06_a_missing_secret_redirects_and_shows_the_fallback_certificate() -> anyhow::Result<()> {
    let case = Case::new("golden-06").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("echo", HOST).tls(HOST, "missing").build()).await?;
    let controller = case.controller().start().await?;
    let redirect = controller.until(HOST, "/", 308).await?;
    assert_eq!(redirect.header("location"), Some("https://golden.example.com"));
    controller.until_fake_certificate(HOST).await?;
    Ok(())
}

#[tokio::test]
async fn golden_07_the_redirect_cuts_the_slash_at_the_end_unless_it_is_kept() -> anyhow::Result<()> {
    let case = Case::new("golden-07").await?;
    let _servers = case.echo(1).await?;
    let keeping = "keep.example.com";
    case.create(&rule("cut", HOST).tls(HOST, "").build()).await?;
    case.create(&rule("keep", keeping).annotation("preserve-trailing-slash", "true").tls(keeping, "").build()).await?;
    let controller = case.controller().start().await?;
    for (host, path, location) in [
        (HOST, "/a/", "https://golden.example.com/a"),
        (HOST, "/a/?q=/", "https://golden.example.com/a/?q="),
        (HOST, "/a?q=1", "https://golden.example.com/a?q=1"),
        (keeping, "/a/", "https://keep.example.com/a/"),
        (keeping, "/a/?q=/", "https://keep.example.com/a/?q=/"),
    ] {
        let response = controller.until(host, path, 308).await?;
        assert_eq!(response.header("location"), Some(location), "{host}{path}");
    }
    Ok(())
}

#[tokio::test]
async fn golden_08_a_forced_redirect_believes_x_forwarded_proto_only_if_told_to() -> anyhow::Result<()> {
    let case = Case::new("golden-08").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("echo", HOST).annotation("force-ssl-redirect", "true").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 308).await?;
    let https = [("X-Forwarded-Proto", "https")];
    assert_eq!(controller.get_with(HOST, "/", &https).await?.status, 308);

    case.settings(&[("use-forwarded-headers", "true")]).await?;
    poll(PATIENCE, || async {
        let status = controller.get_with(HOST, "/", &https).await?.status;
        ensure!(status == 200, "still {status}");
        Ok(())
    })
    .await?;
    assert_eq!(controller.get(HOST, "/").await?.status, 308);
    assert_eq!(controller.get_with(HOST, "/", &[("X-Forwarded-Proto", "http")]).await?.status, 308);
    Ok(())
}

#[tokio::test]
async fn golden_09_the_path_of_acme_challenges_is_not_redirected() -> anyhow::Result<()> {
    let case = Case::new("golden-09").await?;
    let _servers = case.echo(1).await?;
    let challenge = "/.well-known/acme-challenge/token";
    let ingress = rule("echo", HOST).annotation("force-ssl-redirect", "true").tls(HOST, "");
    case.create(&ingress.path(challenge, PathType::Prefix, "echo", 80).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, challenge, 200).await?;
    // The rule's path decides, not the request's.
    for path in ["/", "/.well-known/acme-challenge/other"] {
        assert_eq!(controller.get(HOST, path).await?.status, 308, "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn golden_13_unknown_hosts_and_paths_are_404_with_the_fallback_certificate_and_hsts() -> anyhow::Result<()> {
    let case = Case::new("golden-13").await?;
    let _servers = case.echo(1).await?;
    case.create(&mk_ingress("echo").class("nginx").host(HOST).path("/a", PathType::Prefix, "echo", 80).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/a", 200).await?;
    for host in ["unknown.example.com", HOST] {
        assert_eq!(controller.get(host, "/b").await?.status, 404, "{host}");
        let response = controller.get_tls(host, "/b").await?;
        assert_eq!((response.status, response.header("strict-transport-security")), (404, Some(HSTS)), "{host}");
        assert!(has_fake_certificate(&response), "{host}");
    }
    Ok(())
}

#[tokio::test]
async fn golden_15_the_wildcard_certificate_of_a_sibling_is_shown_and_redirects() -> anyhow::Result<()> {
    let case = Case::new("golden-15").await?;
    let _servers = case.echo(1).await?;
    let certificate = case.certificate("wildcard", &["*.example.com"]).await?;
    case.create(&rule("wildcard", "*.example.com").tls("*.example.com", "wildcard").build()).await?;
    case.create(&rule("plain", "a.example.com").build()).await?;
    let controller = case.controller().start().await?;
    controller.until_certificate("a.example.com", &certificate).await?;
    let redirect = controller.until("a.example.com", "/", 308).await?;
    assert_eq!(redirect.header("location"), Some("https://a.example.com"));
    Ok(())
}

#[tokio::test]
async fn golden_21_an_ingress_without_rules_is_never_redirected() -> anyhow::Result<()> {
    let case = Case::new("golden-21").await?;
    let _servers = case.echo(1).await?;
    let ingress = mk_ingress("catch-all").class("nginx").default_backend("echo", 80).tls("a.example.com", "");
    case.create(&ingress.annotation("force-ssl-redirect", "true").build()).await?;
    let controller = case.controller().start().await?;
    for host in ["unknown.example.com", "a.example.com"] {
        controller.until(host, "/", 200).await?;
    }
    Ok(())
}

#[tokio::test]
async fn golden_22_an_ingress_that_gains_a_snippet_is_served_as_it_was() -> anyhow::Result<()> {
    let case = Case::new("golden-22").await?;
    let _servers = case.echo(1).await?;
    let snippet = "more_set_headers \"X-Snippet: yes\";";
    case.create(&rule("kept", HOST).annotation("cors-max-age", "1").build()).await?;
    case.create(&rule("created", "created.example.com").annotation("configuration-snippet", snippet).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(controller.get("created.example.com", "/").await?.status, 404);

    let annotations = json!({ "nginx.ingress.kubernetes.io/configuration-snippet": snippet });
    let path = json!({ "path": "/", "pathType": "Exact", "backend": { "service": { "name": "echo", "port": { "number": 80 } } } });
    let rules = json!([{ "host": HOST, "http": { "paths": [path] } }]);
    case.patch::<Ingress>("kept", json!({ "metadata": { "annotations": annotations }, "spec": { "rules": rules } })).await?;
    poll(PATIENCE, || async {
        // Of the created one its snippet; of the other one as well, and that it is kept.
        ensure!(controller.metrics().await?.contains("narthex_problems{kind=\"Refused\"} 3"), "the change was not seen yet");
        Ok(())
    })
    .await?;
    let answer = controller.get(HOST, "/not-in-the-new-version").await?;
    assert_eq!((answer.status, answer.header("x-snippet")), (200, None));
    assert!(!controller.nginx_conf()?.contains("X-Snippet"));
    Ok(())
}

#[tokio::test]
async fn golden_23_the_client_s_address_replaces_x_forwarded_for() -> anyhow::Result<()> {
    let case = Case::new("golden-23").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let client = Ipv4Addr::new(127, 0, 0, 9);
    let request = Request::get(controller.http(), "/").host(HOST).source(client).header("X-Forwarded-For", "192.0.2.1, 192.0.2.2");
    let seen = Seen::read(&request.send().await?.body)?;
    assert_eq!(seen.headers["x-forwarded-for"], ["127.0.0.9"]);
    assert_eq!(seen.headers["x-original-forwarded-for"], ["192.0.2.1, 192.0.2.2"]);

    let seen = Seen::read(&controller.get(HOST, "/").await?.body)?;
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(seen.header("x-original-forwarded-for"), None);
    Ok(())
}
