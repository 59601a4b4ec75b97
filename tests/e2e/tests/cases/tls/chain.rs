//! Chains that the controller completes, from a real server of certificates.

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::core::v1::Secret;
use serde_json::to_value;
use testkit::files::Files;
use testkit::kube::{Authority, Certificate, mk_authority, mk_tls_secret};
use testkit::{poll, ports};

use super::{HOST, s_client};

const FLAG: &str = "--enable-ssl-chain-completion";
const LACKS: &str = "the certificate of the issuer does not follow";

/// A root, two CAs below it, and a server that has the certificates of all three.
struct World {
    files: Files,
    root: Authority,
    upper: Authority,
    lower: Authority,
}

impl World {
    async fn new() -> anyhow::Result<Self> {
        let files = Files::start((ports::addresses(1)?[0], 0).into()).await?;
        let root = mk_authority("root")?;
        let upper = root.certify("upper", &files.url("/root"))?;
        let lower = upper.certify("lower", &files.url("/upper"))?;
        for (path, authority) in [("/root", &root), ("/upper", &upper), ("/lower", &lower)] {
            files.put(path, Some(&authority.der));
        }
        Ok(Self { files, root, upper, lower })
    }

    /// A certificate that is alone, with the URL of its issuer's.
    fn certificate(&self, host: &str, path: &str) -> anyhow::Result<Certificate> {
        self.lower.sign_at(&[host], &self.files.url(path))
    }

    /// Whether a client that knows the root alone trusts what it is shown.
    async fn is_trusted(&self, controller: &Controller) -> anyhow::Result<bool> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), &self.root.certificate_pem)?;
        let path = file.path().display().to_string();
        let said = s_client(controller, &["-verify_hostname", HOST, "-no-CApath", "-no-CAstore", "-CAfile", &path]).await?;
        Ok(said.contains("Verify return code: 0 (ok)"))
    }
}

async fn serve(case: &Case, name: &str, host: &str, certificate: &Certificate) -> anyhow::Result<()> {
    case.create::<Secret>(&mk_tls_secret(name, certificate)).await?;
    case.create(&rule(name, host).tls(host, name).build()).await?;
    Ok(())
}

/// Waits until a handshake shows these certificates.
async fn until_shown(controller: &Controller, host: &str, chain: &[&[u8]]) -> anyhow::Result<()> {
    let shown = poll(PATIENCE, || async {
        let shown = controller.get_tls(host, "/").await?.certificates;
        ensure!(shown == chain, "{} certificates", shown.len());
        Ok(())
    });
    shown.await.with_context(|| controller.log())
}

async fn until_logged(controller: &Controller, what: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        ensure!(controller.log().contains(what), "no message {what:?} in {}", controller.log());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_chain_is_completed_up_to_the_root_and_stays_when_the_server_is_gone() -> anyhow::Result<()> {
    let case = Case::new("chain").await?;
    let _servers = case.echo(1).await?;
    let world = World::new().await?;
    let certificate = world.certificate(HOST, "/lower")?;
    case.settings(&[]).await?;
    serve(&case, "tls", HOST, &certificate).await?;
    let as_given = case.controller().start().await?;
    until_shown(&as_given, HOST, &[&certificate.der]).await?;
    until_logged(&as_given, LACKS).await?;
    assert_eq!((world.files.requests("/lower"), world.is_trusted(&as_given).await?), (0, false));
    drop(as_given);

    let controller = case.controller().flag(FLAG).start().await?;
    let reloads = controller.reloads().await?;
    until_shown(&controller, HOST, &[&certificate.der, &world.lower.der, &world.upper.der]).await?;
    assert!(world.is_trusted(&controller).await?);
    until_logged(&controller, "no longer a problem").await?;
    assert_eq!(["/lower", "/upper", "/root"].map(|path| world.files.requests(path)), [1; 3]);

    // A changed Secret is another question; the old answer is no answer to it.
    world.files.put("/lower", Some(b"<html>"));
    let renewed = world.certificate(HOST, "/lower")?;
    case.patch::<Secret>("tls", to_value(mk_tls_secret("tls", &renewed))?).await?;
    until_shown(&controller, HOST, &[&renewed.der]).await?;
    until_logged(&controller, &format!("{LACKS}, and its URL answers with something else than a certificate")).await?;
    world.files.put("/lower", Some(&world.lower.der));
    let chain: [&[u8]; 3] = [&renewed.der, &world.lower.der, &world.upper.der];
    until_shown(&controller, HOST, &chain).await?;
    assert_eq!(controller.reloads().await?, reloads);
    let World { files, .. } = world;
    drop(files);
    case.settings(&[("keep-alive", "30")]).await?;
    poll(PATIENCE, || async {
        ensure!(controller.reloads().await? > reloads, "no reload");
        Ok(())
    })
    .await?;
    until_shown(&controller, HOST, &chain).await
}

#[tokio::test]
async fn a_server_that_lies_or_never_answers_changes_nothing_and_delays_no_other_chain() -> anyhow::Result<()> {
    let case = Case::new("chain-lies").await?;
    let _servers = case.echo(1).await?;
    let world = World::new().await?;
    world.files.put("/lie", Some(&world.root.certify("lower", "http://x/")?.der));
    world.files.put("/never", None);
    case.settings(&[]).await?;
    let hosts = [("lie", "lie.example.com", "/lie"), ("never", "never.example.com", "/never"), ("tls", HOST, "/lower")];
    let mut certificates = Vec::new();
    for (name, host, path) in hosts {
        let certificate = world.certificate(host, path)?;
        serve(&case, name, host, &certificate).await?;
        certificates.push(certificate);
    }
    let controller = case.controller().flag(FLAG).start().await?;
    let [lie, never, honest] = [0, 1, 2].map(|at: usize| certificates[at].der.as_slice());
    until_shown(&controller, HOST, &[honest, &world.lower.der, &world.upper.der]).await?;
    until_logged(&controller, &format!("{LACKS}, and what is at its URL has not signed the certificate")).await?;
    until_logged(&controller, &format!("{LACKS}, and its URL gives no answer; clients that don't know it refuse the certificate")).await?;
    for (host, certificate) in [("lie.example.com", lie), ("never.example.com", never)] {
        assert_eq!(controller.get_tls(host, "/").await?.certificates, [certificate], "{host}");
    }
    // Tried again by itself.
    world.files.put("/lie", Some(&world.lower.der));
    until_shown(&controller, "lie.example.com", &[lie, &world.lower.der, &world.upper.der]).await
}

#[tokio::test]
async fn a_certificate_on_this_machine_is_not_fetched() -> anyhow::Result<()> {
    let case = Case::new("chain-local").await?;
    let _servers = case.echo(1).await?;
    let files = Files::start(([127, 0, 0, 1], 0).into()).await?;
    let authority = mk_authority("ca")?;
    files.put("/ca", Some(&authority.der));
    let certificate = authority.sign_at(&[HOST], &files.url("/ca"))?;
    case.settings(&[]).await?;
    serve(&case, "tls", HOST, &certificate).await?;
    let controller = case.controller().flag(FLAG).start().await?;
    until_logged(&controller, "leads to a loopback address").await?;
    assert_eq!(files.requests("/ca"), 0);
    assert_eq!(controller.get_tls(HOST, "/").await?.certificates, [certificate.der]);
    Ok(())
}
