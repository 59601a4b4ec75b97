//! Certificates that are used although something is wrong with them, and their metrics.

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::core::v1::Secret;
use serde_json::to_value;
use testkit::kube::{Certificate, mk_ended_certificate, mk_openssl_certificate, mk_rsa_certificate, mk_tls_secret};
use testkit::poll;

use super::{HOST, s_client};

async fn serving(case: &Case, certificate: &Certificate, settings: &[(&str, &str)]) -> anyhow::Result<Controller> {
    case.settings(settings).await?;
    case.create::<Secret>(&mk_tls_secret("tls", certificate)).await?;
    case.create(&rule("tls", HOST).tls(HOST, "tls").build()).await?;
    case.controller().start().await
}

/// Waits for a line of the log.
async fn until_logged(controller: &Controller, what: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        ensure!(controller.log().contains(what), "no message {what:?} in {}", controller.log());
        Ok(())
    })
    .await
}

/// Waits until a handshake shows this certificate. Not with rustls, which knows fewer keys than OpenSSL.
async fn until_shown(controller: &Controller, certificate: &Certificate) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let said = s_client(controller, &["-showcerts"]).await?;
        ensure!(said.contains(certificate.certificate_pem.trim()), "{said}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn certificates_that_have_ended_or_end_soon_are_reported_and_used() -> anyhow::Result<()> {
    let case = Case::new("tls-ends").await?;
    let _servers = case.echo(1).await?;
    let ending = |start: &str, end: &str| {
        mk_openssl_certificate(&[HOST], &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", start, end])
    };
    let soon = ending("-days", "9")?;
    let controller = serving(&case, &soon, &[]).await?;
    until_logged(&controller, "in less than 10 days, expected a renewed one").await?;
    until_shown(&controller, &soon).await?;
    let ended = mk_ended_certificate(&[HOST])?;
    case.patch::<Secret>("tls", to_value(mk_tls_secret("tls", &ended))?).await?;
    until_logged(&controller, "expected one that is valid; it is used all the same").await?;
    until_shown(&controller, &ended).await?;
    let fine = ending("-days", "30")?;
    case.patch::<Secret>("tls", to_value(mk_tls_secret("tls", &fine))?).await?;
    until_logged(&controller, "no longer a problem").await?;
    until_shown(&controller, &fine).await
}

#[tokio::test]
async fn the_metrics_of_a_certificate_say_when_it_ends_and_what_it_is() -> anyhow::Result<()> {
    let case = Case::new("tls-metrics").await?;
    let _servers = case.echo(1).await?;
    let certificate = mk_rsa_certificate(&[HOST], 2048)?;
    let controller = serving(&case, &certificate, &[]).await?;
    until_shown(&controller, &certificate).await?;
    let ns = case.ns();
    let common = format!(r#"namespace="{ns}",class="k8s.io/ingress-nginx",host="{HOST}",secret_name="tls",identifier="-"#);
    let text = controller.metrics().await?;
    let line = |name: &str| {
        let start = format!("nginx_ingress_controller_{name}{{{common}");
        text.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {start} in {text}"))
    };
    let info = line("ssl_certificate_info");
    assert!(
        info.ends_with(" 1") && info.contains(&format!(r#",issuer_organization="",issuer_common_name="{HOST}",serial_number=""#)),
        "{info}"
    );
    assert!(info.contains(r#",public_key_algorithm="RSA"}"#), "{info}");
    let end = line("ssl_expire_time_seconds").rsplit(' ').next().and_then(|value| value.parse::<i64>().ok());
    let days = end.map(|end| (end - jiff::Timestamp::now().as_second()) / 86_400);
    // Made a moment ago, for 30 days.
    assert!(matches!(days, Some(29..=30)), "{days:?}");
    Ok(())
}

#[tokio::test]
async fn a_host_may_have_a_certificate_for_each_kind_of_key() -> anyhow::Result<()> {
    let case = Case::new("tls-kinds").await?;
    let _servers = case.echo(1).await?;
    let (rsa, ecdsa) = (mk_rsa_certificate(&[HOST], 2048)?, case.certificate("ecdsa", &[HOST]).await?);
    case.create::<Secret>(&mk_tls_secret("rsa", &rsa)).await?;
    case.create(&rule("tls", HOST).tls(HOST, "ecdsa").tls(HOST, "rsa").build()).await?;
    let controller = case.controller().start().await?;
    until_shown(&controller, &ecdsa).await?;
    for (kind, certificate) in [("ECDSA+SHA256", &ecdsa), ("RSA-PSS+SHA256", &rsa)] {
        let said = s_client(&controller, &["-showcerts", "-sigalgs", kind]).await?;
        assert!(said.contains(certificate.certificate_pem.trim()), "{kind}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn keys_that_openssl_accepts_are_used() -> anyhow::Result<()> {
    let case = Case::new("tls-curve").await?;
    let _servers = case.echo(1).await?;
    let large = mk_openssl_certificate(&[HOST], &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp521r1"])?;
    let controller = serving(&case, &large, &[]).await?;
    until_shown(&controller, &large).await?;
    // OpenSSL's level of security decides about a small one.
    let small = mk_rsa_certificate(&[HOST], 1024)?;
    case.patch::<Secret>("tls", to_value(mk_tls_secret("tls", &small))?).await?;
    until_logged(&controller, "its RSA key has 1024 bits, expected 2048 or more").await?;
    case.settings(&[("ssl-ciphers", "ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0")]).await?;
    until_shown(&controller, &small).await?;
    let strange = Certificate { key_pem: mk_rsa_certificate(&[HOST], 1024)?.key_pem, ..small };
    case.patch::<Secret>("tls", to_value(mk_tls_secret("tls", &strange))?).await?;
    until_logged(&controller, "its tls.key does not belong to its tls.crt").await
}
