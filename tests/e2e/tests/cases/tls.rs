//! TLS: protocols, ciphers and sessions of clients, and what is said about them.

mod chain;
mod faults;
mod keys;

use std::process::Stdio;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, Servers, rule};
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;
use testkit::http::Request;
use testkit::kube::{PathType, mk_certificate, mk_ingress, mk_tls_secret};
use testkit::poll;
use tokio::process::Command;

const HOST: &str = "tls.example.com";
const CIPHERS: &str = "ALL:!aNULL:!EXPORT56:RC4+RSA:+HIGH:+MEDIUM:+LOW:+SSLv2:+EXP";

/// A controller that serves [`HOST`] with a certificate, and its configuration.
async fn serving(case: &Case, settings: &[(&str, &str)]) -> anyhow::Result<(Servers, Controller, String)> {
    let servers = case.echo(1).await?;
    case.settings(settings).await?;
    let certificate = case.certificate("tls", &[HOST]).await?;
    case.create(&rule("tls", HOST).tls(HOST, "tls").build()).await?;
    let controller = case.controller().start().await?;
    controller.until_certificate(HOST, &certificate).await?;
    let conf = controller.nginx_conf()?;
    Ok((servers, controller, conf))
}

/// What `openssl s_client` says with these arguments and this input.
async fn s_client(controller: &Controller, arguments: &[&str]) -> anyhow::Result<String> {
    s_client_of(controller, &["-servername", HOST], arguments).await
}

/// The same for another name.
async fn s_client_of(controller: &Controller, name: &[&str], arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &controller.https().to_string()])
        .args(name)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .context("openssl is missing")?;
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test]
async fn tls_01_the_server_need_not_prefer_its_ciphers() -> anyhow::Result<()> {
    let case = Case::new("tls-01").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[]).await?;
    let annotated = rule("tls", HOST).annotation("ssl-ciphers", CIPHERS).annotation("ssl-prefer-server-ciphers", "false");
    case.create(&annotated.tls(HOST, "tls").build()).await?;
    let certificate = case.certificate("tls", &[HOST]).await?;
    let controller = case.controller().start().await?;
    controller.until_certificate(HOST, &certificate).await?;
    assert_eq!(controller.get_tls(HOST, "/tls").await?.status, 200);
    let conf = controller.nginx_conf()?;
    assert!(conf.contains(CIPHERS) && conf.contains(" ssl_prefer_server_ciphers off;"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn tls_02_a_secret_that_nothing_uses_is_not_looked_at() -> anyhow::Result<()> {
    let case = Case::new("tls-02").await?;
    case.certificate("dummy", &["dummy.example.com"]).await?;
    let (_servers, controller, _) = serving(&case, &[]).await?;
    let junk = json!({"data": {"tls.crt": "anVuaw==", "tls.key": "anVuaw=="}});
    case.patch::<Secret>("dummy", junk).await?;
    // What comes after it has been seen.
    let renewed = mk_certificate(&[HOST])?;
    case.patch::<Secret>("tls", serde_json::to_value(mk_tls_secret("tls", &renewed))?).await?;
    controller.until_certificate(HOST, &renewed).await?;
    let log = controller.log();
    assert!(!log.contains("dummy"), "{log}");
    Ok(())
}

#[tokio::test]
async fn tls_03_the_default_certificate_before_and_behind_a_catch_all_and_renewed_without_a_reload() -> anyhow::Result<()> {
    let case = Case::new("tls-03").await?;
    let _servers = case.echo(1).await?;
    let certificate = case.certificate("my-custom-cert", &["*"]).await?;
    let controller = case.controller().flag("--default-ssl-certificate={NS}/my-custom-cert").start().await?;
    let shown = || async { anyhow::Ok(controller.get_tls(HOST, "/").await?.certificates) };
    poll(PATIENCE, || async {
        ensure!(shown().await? == [certificate.der.clone()], "another certificate");
        Ok(())
    })
    .await?;
    case.create(&mk_ingress("all").class("nginx").path("/", PathType::Prefix, "echo", 80).build()).await?;
    let response = controller.until("anything.example.com", "/", 200).await?;
    assert!(response.text().contains("echo"), "{}", response.text());
    assert_eq!(shown().await?, std::slice::from_ref(&certificate.der));
    let reloads = controller.reloads().await?;
    let renewed = mk_certificate(&["*"])?;
    case.patch::<Secret>("my-custom-cert", serde_json::to_value(mk_tls_secret("my-custom-cert", &renewed))?).await?;
    poll(PATIENCE, || async {
        ensure!(shown().await? == [renewed.der.clone()], "another certificate");
        Ok(())
    })
    .await?;
    assert_eq!(controller.reloads().await?, reloads);
    Ok(())
}

#[tokio::test]
async fn tls_05_ciphers_of_all() -> anyhow::Result<()> {
    let case = Case::new("tls-05").await?;
    let (_servers, _controller, conf) = serving(&case, &[("ssl-ciphers", CIPHERS)]).await?;
    assert!(conf.contains("ssl_ciphers ") && conf.contains(CIPHERS), "{conf}");
    Ok(())
}

#[tokio::test]
async fn tls_06_08_sessions_are_in_a_cache_of_10_mb_and_not_in_tickets() -> anyhow::Result<()> {
    let case = Case::new("tls-06").await?;
    let (_servers, controller, conf) = serving(&case, &[]).await?;
    assert!(conf.contains(" ssl_session_cache shared:SSL:10m; ssl_session_timeout 10m;"), "{conf}");
    assert!(conf.contains(" ssl_session_tickets off;"), "{conf}");
    let resumed = s_client(&controller, &["-tls1_2", "-reconnect"]).await?;
    assert!(resumed.contains("Reused, TLSv1.2") && !resumed.contains("TLS session ticket:"), "{resumed}");
    Ok(())
}

#[tokio::test]
async fn tls_07_the_cache_has_a_size() -> anyhow::Result<()> {
    let case = Case::new("tls-07").await?;
    let settings = [("ssl-session-cache-size", "20m"), ("ssl-session-timeout", "1h")];
    let (_servers, _controller, conf) = serving(&case, &settings).await?;
    assert!(conf.contains(" ssl_session_cache shared:SSL:20m; ssl_session_timeout 1h;"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn tls_without_a_cache_no_session_is_resumed() -> anyhow::Result<()> {
    let case = Case::new("tls-no-cache").await?;
    let (_servers, controller, _) = serving(&case, &[("ssl-session-cache", "false")]).await?;
    let answered = s_client(&controller, &["-tls1_2", "-reconnect"]).await?;
    assert!(answered.contains("New, TLSv1.2") && !answered.contains("Reused, "), "{answered}");
    Ok(())
}

#[tokio::test]
async fn tls_10_protocols_and_ciphers_that_are_negotiated() -> anyhow::Result<()> {
    let case = Case::new("tls-10").await?;
    let ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-SHA";
    let (_servers, controller, conf) = serving(&case, &[("ssl-ciphers", ciphers), ("ssl-protocols", "TLSv1.2")]).await?;
    assert!(conf.contains(ciphers) && conf.contains(" ssl_protocols TLSv1.2;"), "{conf}");
    let response = controller.get_tls(HOST, "/tls").await?;
    assert_eq!((response.status, response.tls_version.as_deref()), (200, Some("TLSv1_2")));
    let negotiated = s_client(&controller, &["-tls1_2"]).await?;
    assert!(negotiated.contains("Cipher is ECDHE-ECDSA-AES256-GCM-SHA384"), "{negotiated}");
    Ok(())
}

#[tokio::test]
async fn tls_11_hsts_for_a_day_without_sub_domains() -> anyhow::Result<()> {
    let case = Case::new("tls-11").await?;
    let settings = [("hsts-max-age", "86400"), ("hsts-include-subdomains", "false")];
    let (_servers, controller, _) = serving(&case, &settings).await?;
    let response = controller.get_tls(HOST, "/tls").await?;
    assert_eq!(response.header_all("strict-transport-security").collect::<Vec<_>>(), ["max-age=86400"]);
    Ok(())
}

#[tokio::test]
async fn tls_12_hsts_with_preload_replaces_that_of_the_backend() -> anyhow::Result<()> {
    let case = Case::new("tls-12").await?;
    let settings = [("hsts-max-age", "86400"), ("hsts-include-subdomains", "false"), ("hsts-preload", "true")];
    let (_servers, controller, _) = serving(&case, &settings).await?;
    let request = Request::get(controller.https(), "/tls").tls(HOST).host(HOST);
    let response = request.header("x-echo-header", "Strict-Transport-Security: max-age=3600; preload").send().await?;
    assert_eq!(response.header_all("strict-transport-security").collect::<Vec<_>>(), ["max-age=86400; preload"]);
    Ok(())
}

#[tokio::test]
async fn tls_13_the_redirect_to_https_names_no_port() -> anyhow::Result<()> {
    let case = Case::new("tls-13").await?;
    let (_servers, controller, _) = serving(&case, &[]).await?;
    let response = controller.get(HOST, "/").await?;
    assert_eq!((response.status, response.header("location")), (308, Some("https://tls.example.com")));
    Ok(())
}

#[tokio::test]
async fn early_data_is_served_and_backends_know_of_it() -> anyhow::Result<()> {
    let case = Case::new("tls-early").await?;
    let (servers, controller, _) = serving(&case, &[("ssl-early-data", "true")]).await?;
    let scratch = tempfile::tempdir()?;
    let (session, data) = (scratch.path().join("session"), scratch.path().join("data"));
    let (session, file) = (session.to_str().context("path")?, data.to_str().context("path")?);
    std::fs::write(&data, format!("GET /tls/early HTTP/1.1\r\nHost: {HOST}\r\nEarly-Data: 0\r\nConnection: close\r\n\r\n"))?;
    // It reads what NGINX sends after the handshake: the session.
    let request = format!(
        "printf 'GET /tls HTTP/1.1\\r\\nHost: {HOST}\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet -tls1_3 -connect {} -servername {HOST} -sess_out {session}",
        controller.https()
    );
    let output = Command::new("sh").args(["-c", &request]).output().await?;
    ensure!(output.status.success() && std::fs::metadata(session)?.len() > 0, "{}", String::from_utf8_lossy(&output.stderr));
    let before = servers.requests();
    let answered = s_client(&controller, &["-tls1_3", "-sess_in", session, "-early_data", file, "-ign_eof"]).await?;
    assert!(answered.contains("Early data was accepted") && answered.contains("HTTP/1.1 200"), "{answered}");
    assert_eq!(servers.requests(), before + 1);
    let seen = servers.last().context("a request")?;
    assert_eq!((seen.path.as_str(), seen.header("early-data")), ("/tls/early", Some("1")));
    let response = controller.get_tls(HOST, "/tls").await?;
    assert_eq!(response.status, 200);
    assert_eq!(servers.last().and_then(|seen| seen.header("early-data").map(str::to_owned)), None);
    Ok(())
}
