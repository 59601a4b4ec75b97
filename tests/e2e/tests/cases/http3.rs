//! HTTP/3, with a real client: the curl of Debian 13 speaks it. NGINX does since 1.26 as Debian distributes it.

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use testkit::http::Request;
use testkit::poll;
use tokio::process::Command;

const HOST: &str = "quic.example.com";
/// Without TLS.
const PLAIN: &str = "plain.example.com";

/// Whether NGINX and curl of this machine speak HTTP/3. Both or none: a release of Debian has them.
async fn has_http3() -> anyhow::Result<bool> {
    let nginx = Command::new("nginx").arg("-V").output().await.context("nginx is missing")?;
    let curl = Command::new("curl").arg("-V").output().await.context("curl is missing")?;
    let nginx = String::from_utf8_lossy(&nginx.stderr).contains("--with-http_v3_module");
    let curl = String::from_utf8_lossy(&curl.stdout).contains("HTTP3");
    ensure!(nginx == curl, "NGINX has HTTP/3: {nginx}, curl: {curl}");
    Ok(nginx)
}

/// A curl that speaks HTTP/3 only, to [`HOST`] at the controller.
fn curl(controller: &Controller, path: &str, arguments: &[&str]) -> Command {
    let port = controller.https().port();
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--insecure", "--http3-only", "--max-time", "60"]);
    command.args(["--resolve", &format!("{HOST}:{port}:{}", controller.https().ip())]).args(arguments);
    command.arg(format!("https://{HOST}:{port}{path}")).kill_on_drop(true);
    command
}

async fn answer(mut command: Command) -> anyhow::Result<String> {
    let output = command.output().await?;
    ensure!(output.status.success(), "curl: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A controller that serves [`HOST`], asked for HTTP/3.
async fn serving(case: &Case, more: &[(&str, &str)]) -> anyhow::Result<Controller> {
    let settings: Vec<_> = [("use-http3", "true")].into_iter().chain(more.iter().copied()).collect();
    case.settings(&settings).await?;
    let certificate = case.certificate("tls", &[HOST]).await?;
    case.create(&rule("quic", HOST).tls(HOST, "tls").build()).await?;
    let controller = case.controller().start().await?;
    controller.until_certificate(HOST, &certificate).await?;
    Ok(controller)
}

#[tokio::test]
async fn a_host_is_served_over_http_3_and_names_it() -> anyhow::Result<()> {
    let case = Case::new("http3").await?;
    let _servers = case.echo(1).await?;
    let controller = serving(&case, &[("http3-advertised-port", "8443")]).await?;
    let over_tls = controller.get_tls(HOST, "/").await?;
    assert_eq!(over_tls.status, 200);
    if !has_http3().await? {
        assert_eq!(over_tls.header("alt-svc"), None);
        let log = controller.log();
        assert!(log.contains("use-http3") && log.contains("an NGINX that was built with HTTP/3"), "{log}");
        return Ok(());
    }
    assert_eq!(over_tls.header("alt-svc"), Some("h3=\":8443\"; ma=86400"));
    case.create(&rule("plain", PLAIN).build()).await?;
    controller.until(PLAIN, "/", 200).await?;
    let plain = Request::get(controller.http(), "/").host(PLAIN).header("x-echo-header", "Alt-Svc: h3=\":1\"").send().await?;
    assert_eq!(plain.header("alt-svc"), Some("h3=\":1\""), "a backend may name its own where there is no TLS");
    let text = answer(curl(&controller, "/some/path?a=b", &["--data", "12345", "--write-out", "version=%{http_version}"])).await?;
    for expected in ["method=POST", "/some/path?a=b", &format!("host={HOST}"), "x-forwarded-proto=https", "version=3"] {
        assert!(text.to_lowercase().contains(&expected.to_lowercase()), "{expected}: {text}");
    }
    // The certificate is the host's: another name has none, and a client that checks it ends the handshake.
    let checked = curl(&controller, "/", &["--no-insecure"]).output().await?;
    assert!(!checked.status.success());
    Ok(())
}

#[tokio::test]
async fn a_connection_of_http_3_outlives_a_reload_where_the_kernel_brings_its_packets_to_its_worker() -> anyhow::Result<()> {
    let case = Case::new("http3-reload").await?;
    let servers = case.echo(1).await?;
    let controller = serving(&case, &[]).await?;
    if !has_http3().await? || !controller.nginx_conf()?.contains("quic_bpf on;") {
        return Ok(());
    }
    let before = servers.requests();
    // NGINX asks the endpoint before the reload and gets its answer after it.
    let open = tokio::spawn(answer(curl(&controller, "/slow?delay_ms=8000", &[])));
    poll(PATIENCE, || async {
        ensure!(servers.requests() > before, "the request has not arrived");
        Ok(())
    })
    .await?;
    let reloads = controller.reloads().await?;
    case.settings(&[("use-http3", "true"), ("client-body-timeout", "41")]).await?;
    poll(PATIENCE, || async {
        ensure!(controller.reloads().await? > reloads, "no reload yet");
        Ok(())
    })
    .await?;
    assert!(open.await??.contains("/slow"), "the answer came over the connection of before");
    assert!(answer(curl(&controller, "/after", &[])).await?.contains("/after"));
    Ok(())
}
