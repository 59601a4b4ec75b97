//! Stapled OCSP responses, of a real responder.

use std::process::Stdio;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::core::v1::Secret;
use testkit::kube::{Certificate, mk_tls_secret};
use testkit::ocsp::{Authority, Signer};
use testkit::poll;
use testkit::ports::{self, Ports};
use tokio::process::Command;

const HOST: &str = "www.example.com";

/// What `openssl s_client` says of a handshake that asks for the status.
async fn handshake(controller: &Controller) -> anyhow::Result<String> {
    let output = Command::new("openssl")
        .args(["s_client", "-status", "-connect", &controller.https().to_string(), "-servername", HOST])
        .stdin(Stdio::null())
        .output()
        .await
        .context("openssl is missing")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_stapled(said: &str) -> bool {
    said.contains("OCSP Response Status: successful (0x0)") && said.contains("Cert Status: good")
}

async fn until_stapled(controller: &Controller) -> anyhow::Result<()> {
    let stapled = poll(PATIENCE, || async {
        let said = handshake(controller).await?;
        ensure!(is_stapled(&said), "{said}");
        Ok(())
    });
    stapled.await.with_context(|| controller.log())
}

async fn until_logged(controller: &Controller, what: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        ensure!(controller.log().contains(what), "no message {what:?} in {}", controller.log());
        Ok(())
    })
    .await
}

/// A host with a certificate, and a controller that staples.
async fn serving(case: &Case, certificate: &Certificate) -> anyhow::Result<Controller> {
    case.settings(&[("enable-ocsp", "true")]).await?;
    case.create::<Secret>(&mk_tls_secret("tls", certificate)).await?;
    case.create(&rule("tls", HOST).tls(HOST, "tls").build()).await?;
    case.controller().start().await
}

fn responder() -> anyhow::Result<(String, u16)> {
    let (address, port) = (ports::addresses(1)?[0], Ports::take(1)?[0]);
    Ok((format!("http://{address}:{port}/status"), port))
}

#[tokio::test]
async fn tls_04_the_response_of_the_responder_is_stapled_and_outlives_it() -> anyhow::Result<()> {
    let case = Case::new("tls-04").await?;
    let _servers = case.echo(1).await?;
    let (authority, (url, port)) = (Authority::new()?, responder()?);
    // Before the responder, which reads the list once.
    let certificate = authority.issue(&[HOST], &url, "1001")?;
    let running = authority.serve(port, Signer::Delegate)?;
    let controller = serving(&case, &certificate).await?;
    until_stapled(&controller).await?;
    assert_eq!(controller.get_tls(HOST, "/").await?.status, 200);
    drop(running);
    // A reload later, with nothing to ask.
    case.settings(&[("enable-ocsp", "true"), ("keep-alive", "30")]).await?;
    poll(PATIENCE, || async {
        ensure!(controller.reloads().await? > 0.0, "no reload");
        Ok(())
    })
    .await?;
    let said = handshake(&controller).await?;
    assert!(is_stapled(&said), "{said}");
    // Live, both ways.
    let reloads = controller.reloads().await?;
    case.settings(&[("keep-alive", "30")]).await?;
    poll(PATIENCE, || async {
        let said = handshake(&controller).await?;
        ensure!(said.contains("OCSP response: no response sent"), "{said}");
        Ok(())
    })
    .await?;
    assert_eq!(controller.reloads().await?, reloads);
    Ok(())
}

#[tokio::test]
async fn a_responder_that_lies_or_is_not_there_changes_nothing() -> anyhow::Result<()> {
    let case = Case::new("ocsp-lies").await?;
    let _servers = case.echo(1).await?;
    let (authority, (url, port)) = (Authority::new()?, responder()?);
    // Before the responder, which reads the list once.
    let certificate = authority.issue(&[HOST], &url, "1001")?;
    let lying = authority.serve(port, Signer::Server)?;
    let controller = serving(&case, &certificate).await?;
    until_logged(&controller, "is not signed by its issuer; no OCSP response is stapled").await?;
    let said = handshake(&controller).await?;
    assert!(said.contains("OCSP response: no response sent"), "{said}");
    assert_eq!(controller.get_tls(HOST, "/").await?.status, 200);
    drop(lying);
    // Tried again by itself.
    let _honest = authority.serve(port, Signer::Authority)?;
    until_stapled(&controller).await?;
    until_logged(&controller, "no longer a problem").await
}

#[tokio::test]
async fn a_responder_on_this_machine_is_not_asked() -> anyhow::Result<()> {
    let case = Case::new("ocsp-local").await?;
    let _servers = case.echo(1).await?;
    let (authority, port) = (Authority::new()?, Ports::take(1)?[0]);
    let certificate = authority.issue(&[HOST], &format!("http://127.0.0.1:{port}/"), "1001")?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let controller = serving(&case, &certificate).await?;
    until_logged(&controller, "leads to a loopback address").await?;
    let asked = tokio::select! {
        biased;
        asked = listener.accept() => asked.is_ok(),
        () = std::future::ready(()) => false,
    };
    assert!(!asked, "it was asked");
    assert_eq!(controller.get_tls(HOST, "/").await?.status, 200);
    Ok(())
}
