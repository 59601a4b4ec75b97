//! TLS towards the backend.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testkit::echo::tls::{self, CLIENT, SERVER_NAME, TLS12, TLS13, VERSION};
use testkit::echo::{Handle, Identity, start_tls};
use testkit::kube::{Certificate, PathType, mk_certificate, mk_ingress, mk_service, mk_slice};
use testkit::{poll, ports};

const HOST: &str = "proxyssl.foo.com";

/// A Secret with a certificate for endpoints, and the authority that endpoints must have.
async fn secret(case: &Case, name: &str, own: &Certificate, authority: Option<&Certificate>) -> anyhow::Result<()> {
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    let mut data = BTreeMap::from([("tls.crt".to_owned(), bytes(&own.certificate_pem)), ("tls.key".to_owned(), bytes(&own.key_pem))]);
    data.extend(authority.map(|authority| ("ca.crt".to_owned(), bytes(&authority.certificate_pem))));
    let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    case.create(&Secret { metadata, data: Some(data), ..Secret::default() }).await?;
    Ok(())
}

/// The Service `secure` with one endpoint that speaks TLS and asks for a certificate.
async fn endpoint(case: &Case, certificate: &Certificate) -> anyhow::Result<Handle> {
    let address: SocketAddr = (ports::addresses(1)?[0], 8443).into();
    let server = start_tls(address, Identity::named("secure"), tls::acceptor(certificate, &[&TLS12, &TLS13], &[])?).await?;
    case.create(&mk_service("secure", 443, 8443, None)).await?;
    case.create(&mk_slice("secure", "secure", &[address])).await?;
    Ok(server)
}

/// Set-up PSSL with a backend of plain HTTP.
async fn plain(id: &str, annotations: &[(&str, &str)], wanted: &[&str]) -> anyhow::Result<()> {
    let case = Case::new(id).await?;
    let _echo = case.echo(1).await?;
    let certificate = mk_certificate(&[HOST])?;
    secret(&case, HOST, &certificate, Some(&certificate)).await?;
    let ingress = rule("pssl", HOST).tls(HOST, HOST).annotation("proxy-ssl-secret", &format!("{}/{HOST}", case.ns()));
    let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 308).await?;
    ensure!(controller.get_tls(HOST, "/").await?.status == 200);
    let conf = controller.conf(&[HOST, "/"])?;
    for directive in wanted {
        ensure!(conf.contains(directive), "{directive:?} is not in {conf}");
    }
    let files = pem_files(&controller, &conf);
    ensure!(files.len() == 3, "{files:?}");
    let text = |name: &str| std::fs::read_to_string(&files[name]).unwrap_or_default();
    ensure!(files["proxy_ssl_certificate"] == files["proxy_ssl_certificate_key"]);
    ensure!(
        text("proxy_ssl_certificate").contains(certificate.certificate_pem.trim()) && text("proxy_ssl_certificate").contains("PRIVATE KEY")
    );
    // A file of its own, so that the client's certificate is never among those that are trusted.
    ensure!(text("proxy_ssl_trusted_certificate") == certificate.certificate_pem);
    Ok(())
}

/// The files that the text of a host names, by directive.
fn pem_files(controller: &Controller, conf: &str) -> BTreeMap<String, String> {
    let certs = format!("{}/certs/", controller.work_dir().display());
    let words: Vec<&str> = conf.split(' ').collect();
    let pairs = words.windows(2).filter(|pair| pair[0].starts_with("proxy_ssl_") && pair[1].contains(&certs));
    pairs.map(|pair| (pair[0].to_owned(), pair[1].trim_matches(['"', ';']).to_owned())).collect()
}

#[tokio::test]
async fn pssl_01_proxy_ssl_secret_names_certificate_key_and_authorities() -> anyhow::Result<()> {
    let wanted = ["proxy_ssl_ciphers DEFAULT;", "proxy_ssl_protocols TLSv1.2;", "proxy_ssl_verify off;", "proxy_ssl_verify_depth 1;"];
    plain("pssl-01", &[], &wanted).await
}

#[tokio::test]
async fn pssl_02_proxy_ssl_ciphers_are_taken() -> anyhow::Result<()> {
    let wanted = ["proxy_ssl_ciphers HIGH:!AES;", "proxy_ssl_protocols TLSv1.2;", "proxy_ssl_verify off;", "proxy_ssl_verify_depth 1;"];
    plain("pssl-02", &[("proxy-ssl-ciphers", "HIGH:!AES")], &wanted).await
}

#[tokio::test]
async fn pssl_03_the_rest_of_the_host_follows_unless_the_setting_says_location_only() -> anyhow::Result<()> {
    let case = Case::new("pssl-03").await?;
    case.settings(&[("proxy-ssl-location-only", "true")]).await?;
    let certificate = mk_certificate(&["proxyssl.com"])?;
    secret(&case, "proxyssl.com", &certificate, Some(&certificate)).await?;
    let server = endpoint(&case, &certificate).await?;
    let base = |name, path| {
        let ingress = mk_ingress(name).class("nginx").host("proxyssl.com").path(path, PathType::Prefix, "secure", 443);
        ingress.tls("proxyssl.com", "").annotation("backend-protocol", "HTTPS").annotation("ssl-redirect", "false")
    };
    let own = base("own", "/bar").annotation("proxy-ssl-secret", &format!("{}/proxyssl.com", case.ns()));
    let own =
        own.annotation("proxy-ssl-verify", "on").annotation("proxy-ssl-server-name", "on").annotation("proxy-ssl-name", "proxyssl.com");
    case.create(&own.build()).await?;
    case.create(&base("rest", "/rest").build()).await?;
    let controller = case.controller().start().await?;
    for path in ["/bar", "/rest"] {
        controller.until("proxyssl.com", path, 200).await?;
    }
    assert_eq!(controller.seen("proxyssl.com", "/rest").await?.header(CLIENT), None);
    assert_eq!(controller.seen("proxyssl.com", "/bar").await?.header(CLIENT), Some(tls::hex(&certificate.der).as_str()));

    case.settings(&[("proxy-ssl-location-only", "false")]).await?;
    poll(PATIENCE, || async {
        let seen = controller.seen("proxyssl.com", "/rest").await?;
        ensure!(seen.header(CLIENT) == Some(&tls::hex(&certificate.der)), "the rest of the host shows no certificate");
        Ok(())
    })
    .await?;
    assert!(server.requests() > 0);
    Ok(())
}

#[tokio::test]
async fn proxy_ssl_verify_refuses_endpoints_that_are_not_of_the_authority_or_not_of_the_name() -> anyhow::Result<()> {
    let case = Case::new("pssl-verify").await?;
    let (certificate, own) = (mk_certificate(&["endpoint.example"])?, mk_certificate(&["narthex"])?);
    secret(&case, "right", &own, Some(&certificate)).await?;
    secret(&case, "wrong", &own, Some(&mk_certificate(&["other"])?)).await?;
    let _server = endpoint(&case, &certificate).await?;
    let base = |host: &str, secret: &str| {
        let ingress = mk_ingress(host).class("nginx").host(host).path("/", PathType::Prefix, "secure", 443);
        ingress.annotation("backend-protocol", "HTTPS").annotation("proxy-ssl-secret", &format!("{}/{secret}", case.ns()))
    };
    let named = |host, secret| base(host, secret).annotation("proxy-ssl-verify", "on").annotation("proxy-ssl-name", "endpoint.example");
    let full = named("full.foo.com", "right").annotation("proxy-ssl-server-name", "on").annotation("proxy-ssl-protocols", "TLSv1.3");
    case.create(&full.annotation("proxy-ssl-verify-depth", "2").build()).await?;
    case.create(&named("wrong.foo.com", "wrong").build()).await?;
    case.create(&base("unnamed.foo.com", "right").annotation("proxy-ssl-verify", "on").build()).await?;
    case.create(&base("unverified.foo.com", "wrong").build()).await?;
    case.create(&base("missing.foo.com", "missing").build()).await?;
    let controller = case.controller().start().await?;

    controller.until("full.foo.com", "/", 200).await?;
    let seen = controller.seen("full.foo.com", "/").await?;
    assert_eq!(seen.header(SERVER_NAME), Some("endpoint.example"));
    assert_eq!((seen.header(VERSION), seen.header(CLIENT)), (Some("TLSv1_3"), Some(tls::hex(&own.der).as_str())));
    let unverified = controller.seen("unverified.foo.com", "/").await?;
    assert_eq!((unverified.header(SERVER_NAME), unverified.header(VERSION)), (None, Some("TLSv1_2")));
    // Never over a connection that another Ingress made and did not verify.
    for host in ["wrong.foo.com", "unnamed.foo.com"] {
        assert_eq!(controller.statuses(host, ["/", "/"]).await?, [502, 502], "{host}");
    }
    assert_eq!(controller.get("missing.foo.com", "/").await?.status, 503, "a Secret that is missing");
    Ok(())
}
