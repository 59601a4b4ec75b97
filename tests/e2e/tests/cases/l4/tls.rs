//! TCP services whose TLS is decrypted.

use anyhow::ensure;
use e2e::{Case, PATIENCE};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use serde_json::{Value, json};
use testkit::http::{Connection, Request, raw};
use testkit::kube::{Certificate, mk_certificate, mk_rsa_certificate, mk_service, mk_slice, mk_tls_secret};
use testkit::poll;
use testkit::ports::Ports;

use super::world::{Server, at, controller, entries, until};

const NAME: &str = "db.example.com";

/// A patch of a Service that names this Secret, or none.
fn named(secret: Option<&str>) -> Value {
    json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/tcp-tls-secret": secret}}})
}

/// The certificate on a port, and the answer to these bytes. `prelude` comes before the handshake.
async fn ask(port: u16, prelude: &str, bytes: &[u8]) -> anyhow::Result<(Vec<u8>, String)> {
    let connection = Connection::open(&Request::get(at(port), "/").tls(NAME).prelude(prelude)).await?;
    let certificate = connection.certificates().first().cloned().unwrap_or_default();
    Ok((certificate, String::from_utf8(connection.exchange(bytes).await?)?))
}

/// Waits until a port shows this certificate, and what it decrypts is answered.
async fn until_decrypted(port: u16, certificate: &Certificate) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let (shown, answer) = ask(port, "", b"hello").await?;
        ensure!(shown == certificate.der, "another certificate");
        ensure!(answer == "own hello", "{answer:?}");
        Ok(())
    })
    .await
}

/// Whether bytes that are not encrypted come to nothing.
async fn refuses_plain_text(port: u16) -> bool {
    !raw(at(port), b"hello").await.unwrap_or_default().starts_with(b"own")
}

#[tokio::test]
async fn l4_09_tls_is_decrypted_with_the_secret_that_the_service_names_or_connections_are_closed() -> anyhow::Result<()> {
    let case = Case::new("l4-09").await?;
    let server = Server::start("own").await?;
    server.serve(&case, "db").await?;
    case.patch::<Service>("db", named(Some("pair"))).await?;
    let port = Ports::one()?;
    entries(&case, "tcp", &[(port, "{NS}/db:80")]).await?;
    let controller = controller(&case).start().await?;
    poll(PATIENCE, || async {
        let problem = format!(
            "Secret {}/pair: it does not exist, expected one with tls.crt and tls.key; connections to port {port} are closed",
            case.ns()
        );
        ensure!(controller.log().contains(&problem), "{}", controller.log());
        ensure!(raw(at(port), b"hello").await.unwrap_or_default().is_empty(), "open");
        Ok(())
    })
    .await?;

    let first = case.certificate("pair", &[NAME]).await?;
    until_decrypted(port, &first).await?;
    assert!(refuses_plain_text(port).await);
    let conf = controller.nginx_conf()?;
    assert!(conf.contains(" ssl_protocols TLSv1.2 TLSv1.3;") && !conf.contains("PRIVATE KEY"), "{conf}");

    let second = mk_certificate(&[NAME])?;
    let data = |certificate: &Certificate| json!({"data": mk_tls_secret("pair", certificate).data});
    case.patch::<Secret>("pair", data(&second)).await?;
    until_decrypted(port, &second).await?;

    // The last certificate that could be read stays.
    let broken = json!({"data": {"tls.key": data(&first)["data"]["tls.key"]}});
    case.patch::<Secret>("pair", broken).await?;
    poll(PATIENCE, || async {
        ensure!(controller.log().contains("its tls.key does not belong to its tls.crt; its last accepted version"), "{}", controller.log());
        Ok(())
    })
    .await?;
    until_decrypted(port, &second).await?;

    case.patch::<Service>("db", named(None)).await?;
    until(port, b"hello", b"own hello").await?;
    case.patch::<Service>("db", named(Some("other/pair"))).await?;
    poll(PATIENCE, || async {
        ensure!(refuses_plain_text(port).await, "still open");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn l4_10_the_proxy_protocol_stands_outside_of_tls() -> anyhow::Result<()> {
    let case = Case::new("l4-10").await?;
    let server = Server::start("seen").await?;
    server.serve(&case, "mail").await?;
    let pair = case.certificate("pair", &[NAME]).await?;
    case.patch::<Service>("mail", named(Some("pair"))).await?;
    let ports = Ports::take(3)?;
    let written = ["{NS}/mail:80:PROXY", "{NS}/mail:80:PROXY:PROXY", "{NS}/mail:80::PROXY"];
    entries(&case, "tcp", &ports.iter().copied().zip(written).collect::<Vec<_>>()).await?;
    case.settings(&[("enable-real-ip", "true"), ("ssl-protocols", "TLSv1.3")]).await?;
    let controller = controller(&case).start().await?;
    let line = "PROXY TCP4 192.0.2.7 192.0.2.1 1000 25\r\n";
    for (port, prelude, expected) in
        [(ports[0], line, "seen hello"), (ports[1], line, "seen PROXY TCP4 192.0.2.7 "), (ports[2], "", "seen PROXY TCP4 127.0.0.1 ")]
    {
        poll(PATIENCE, || async {
            let (shown, answer) = ask(port, prelude, b"hello").await?;
            ensure!(shown == pair.der && answer.starts_with(expected) && answer.ends_with("hello"), "{answer:?}\n{}", controller.log());
            Ok(())
        })
        .await?;
    }
    assert!(controller.nginx_conf()?.contains(" ssl_protocols TLSv1.3;"));
    Ok(())
}

#[tokio::test]
async fn l4_11_a_certificate_that_nginx_refuses_closes_its_port_and_no_other() -> anyhow::Result<()> {
    let case = Case::new("l4-11").await?;
    let server = Server::start("own").await?;
    server.serve(&case, "db").await?;
    server.serve(&case, "weak").await?;
    let weak = mk_rsa_certificate(&[NAME], 1024)?;
    case.create(&mk_tls_secret("pair", &weak)).await?;
    case.patch::<Service>("weak", named(Some("pair"))).await?;
    let ports = Ports::take(2)?;
    entries(&case, "tcp", &[(ports[0], "{NS}/weak:80")]).await?;
    let controller = controller(&case).start().await?;
    poll(PATIENCE, || async {
        ensure!(controller.log().contains("NGINX refuses its certificate: "), "{}", controller.log());
        Ok(())
    })
    .await?;
    case.patch::<ConfigMap>("tcp", json!({"data": {ports[1].to_string(): format!("{}/db:80", case.ns())}})).await?;
    until(ports[1], b"hello", b"own hello").await?;
    assert!(refuses_plain_text(ports[0]).await && ask(ports[0], "", b"hello").await.is_err());

    // One that it takes ends that, and is kept where the next one is refused.
    let good = mk_certificate(&[NAME])?;
    case.patch::<Secret>("pair", json!({"data": mk_tls_secret("pair", &good).data})).await?;
    until_decrypted(ports[0], &good).await?;
    case.patch::<Secret>("pair", json!({"data": mk_tls_secret("pair", &weak).data})).await?;
    poll(PATIENCE, || async {
        ensure!(controller.log().contains("; its last accepted version goes on being used"), "{}", controller.log());
        Ok(())
    })
    .await?;
    until_decrypted(ports[0], &good).await
}

#[tokio::test]
async fn l4_12_a_service_that_comes_with_a_certificate_is_never_served_as_plain_text() -> anyhow::Result<()> {
    let case = Case::new("l4-12").await?;
    let server = Server::start("own").await?;
    let port = Ports::one()?;
    entries(&case, "tcp", &[(port, "{NS}/db:80")]).await?;
    // Reloads are rare: the port is open without TLS when its Service comes.
    let controller = controller(&case).flag("--sync-rate-limit=0.2").start().await?;
    poll(PATIENCE, || async {
        ensure!(raw(at(port), b"hello").await?.is_empty());
        Ok(())
    })
    .await?;
    let pair = case.certificate("pair", &[NAME]).await?;
    let mut service = mk_service("db", 80, server.address.port(), None);
    let annotation = ("nginx.ingress.kubernetes.io/tcp-tls-secret".to_owned(), "pair".to_owned());
    service.metadata.annotations = Some([annotation].into());
    case.create(&mk_slice("db", "db", &[server.address])).await?;
    case.create(&service).await?;
    loop {
        let plain = raw(at(port), b"hello").await.unwrap_or_default();
        assert!(!plain.starts_with(b"own"), "served as plain text");
        if ask(port, "", b"hello").await.is_ok_and(|(shown, answer)| shown == pair.der && answer == "own hello") {
            break;
        }
        ensure!(controller.reloads().await? < 3.0, "{}", controller.log());
    }
    Ok(())
}
