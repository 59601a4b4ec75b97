//! Keys and parameters of the server: tickets, key exchange; and handshakes that are refused.

use anyhow::ensure;
use e2e::{Case, PATIENCE};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testkit::poll;

use super::{HOST, s_client, s_client_of, serving};

/// 80 bytes each.
const KEYS: [&str; 2] = [
    "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=",
    "MTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTE=",
];

/// Whether the session of an earlier handshake is taken up.
fn is_resumed(said: &str) -> bool {
    said.contains("Reused, TLSv1.2")
}

#[tokio::test]
async fn tls_09_a_key_of_tickets_outlives_reloads_and_gives_way_to_another() -> anyhow::Result<()> {
    let case = Case::new("tls-09").await?;
    let tickets = |key: &str| [("ssl-session-tickets", "true".to_owned()), ("ssl-session-ticket-key", key.to_owned())];
    let pairs = tickets(KEYS[0]);
    let (_servers, controller, conf) = serving(&case, &pairs.each_ref().map(|(key, value)| (*key, value.as_str()))).await?;
    assert!(conf.contains(" ssl_session_tickets on;"), "{conf}");
    let file = controller.work_dir().join("certs/tickets-0.key");
    assert!(conf.contains(&format!("ssl_session_ticket_key \"{}\";", file.display())), "{conf}");
    assert_eq!(std::fs::read(&file)?, [b'0'; 80]);
    let scratch = tempfile::tempdir()?;
    let session = scratch.path().join("session");
    let session = session.to_str().unwrap_or_default();
    let first = s_client(&controller, &["-tls1_2", "-sess_out", session]).await?;
    assert!(first.contains("TLS session ticket:") && !is_resumed(&first), "{first}");
    // Another key, the first one still known: tickets of before count. Without a cache of sessions, only the key can do that.
    let both = format!("{},{}", KEYS[1], KEYS[0]);
    for (keys, resumed) in [(both.as_str(), true), (KEYS[1], false)] {
        let reloads = controller.reloads().await?;
        case.settings(&[("ssl-session-cache", "false"), ("ssl-session-tickets", "true"), ("ssl-session-ticket-key", keys)]).await?;
        poll(PATIENCE, || async {
            ensure!(controller.reloads().await? > reloads, "no reload");
            let said = s_client(&controller, &["-tls1_2", "-sess_in", session]).await?;
            ensure!(is_resumed(&said) == resumed, "{said}");
            Ok(())
        })
        .await?;
    }
    let log = controller.log();
    assert!(!KEYS.iter().any(|key| log.contains(&key[..20])), "a key is in the log");
    Ok(())
}

#[tokio::test]
async fn a_bad_key_of_tickets_is_reported_without_its_value_and_not_used() -> anyhow::Result<()> {
    let case = Case::new("tls-bad-ticket-key").await?;
    let settings = [("ssl-session-tickets", "true"), ("ssl-session-ticket-key", "c2VjcmV0IGJ1dCBzaG9ydA==")];
    let (_servers, controller, conf) = serving(&case, &settings).await?;
    assert!(conf.contains(" ssl_session_tickets on;") && !conf.contains("ssl_session_ticket_key"), "{conf}");
    let log = controller.log();
    assert!(log.contains("expected 48 or 80 bytes in base64") && !log.contains("c2VjcmV0"), "{log}");
    Ok(())
}

#[tokio::test]
async fn the_curve_of_the_key_exchange_is_the_one_that_is_set() -> anyhow::Result<()> {
    let case = Case::new("tls-ecdh-curve").await?;
    let (_servers, controller, _) = serving(&case, &[("ssl-ecdh-curve", "secp384r1")]).await?;
    let said = s_client(&controller, &[]).await?;
    assert!(said.contains(" Temp Key: ECDH, secp384r1") || said.contains(" Temp Key: ECDH, P-384"), "{said}");
    let refused = s_client(&controller, &["-groups", "X25519"]).await?;
    assert!(refused.contains("alert handshake failure"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn parameters_of_dhe_come_from_a_secret_and_bad_ones_leave_the_default() -> anyhow::Result<()> {
    const DHE: [&str; 3] = ["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384"];
    let case = Case::new("tls-dh").await?;
    let secret = |text: &str| Secret {
        metadata: ObjectMeta { name: Some("dh".into()), ..ObjectMeta::default() },
        data: Some([("dhparam.pem".to_owned(), ByteString(text.as_bytes().to_vec()))].into()),
        ..Secret::default()
    };
    case.create(&secret(GOOD)).await?;
    let name = format!("{}/dh", case.ns());
    let (_servers, controller, conf) = serving(&case, &[("ssl-dh-param", &name)]).await?;
    assert!(conf.contains(" ssl_dhparam \"") && conf.contains("certs/dhparam.pem"), "{conf}");
    // The certificate is for ECDSA, so the handshake only says whether there is such a key exchange: with one that is for RSA it is used.
    let rsa = rsa_certificate()?;
    case.patch::<Secret>("tls", serde_json::to_value(testkit::kube::mk_tls_secret("tls", &rsa))?).await?;
    controller.until_certificate(HOST, &rsa).await?;
    let said = s_client(&controller, &DHE).await?;
    assert!(said.contains(" Temp Key: DH, 2048 bits"), "{said}");
    for (bad, what) in [("junk", "has no PEM block DH PARAMETERS"), (WEAK, "has a prime of 512 bits; expected an odd one of 2048")] {
        case.patch::<Secret>("dh", serde_json::to_value(secret(bad))?).await?;
        poll(PATIENCE, || async {
            ensure!(controller.log().contains(what), "no message {what:?}");
            let said = s_client(&controller, &DHE).await?;
            ensure!(said.contains("alert handshake failure"), "{said}");
            Ok(())
        })
        .await?;
        assert_eq!(controller.get_tls(HOST, "/").await?.status, 200);
    }
    Ok(())
}

/// The group ffdhe2048 of RFC 7919.
const GOOD: &str = include_str!("../../../../../crates/core/model/src/passes/globals/dh/2048.pem");

/// Parameters of 512 bits, with which NGINX would refuse the whole configuration.
const WEAK: &str = "-----BEGIN DH PARAMETERS-----
MEYCQQCEYpS9meyM/5RtQExAU5PhDjbHxsKv/SVLM72vZCEYxeDT/fuLccWav4pQ
Km7Bmbp4o+2EcMJ9UTErhX/z5Qb/AgEC
-----END DH PARAMETERS-----
";

fn rsa_certificate() -> anyhow::Result<testkit::kube::Certificate> {
    testkit::kube::mk_rsa_certificate(&[HOST], 2048)
}

#[tokio::test]
async fn handshakes_for_unknown_names_are_refused_where_that_is_asked_for() -> anyhow::Result<()> {
    let case = Case::new("tls-reject").await?;
    let (_servers, controller, _) = serving(&case, &[("ssl-reject-handshake", "true")]).await?;
    for (name, is_refused) in [
        (&["-servername", HOST][..], false),
        (&["-servername", "TLS.example.com."], false),
        (&["-servername", "other.example.com"], true),
        (&["-noservername"], true),
    ] {
        for version in ["-tls1_2", "-tls1_3"] {
            let said = s_client_of(&controller, name, &[version]).await?;
            assert_eq!(said.contains("alert handshake failure"), is_refused, "{name:?} {version}: {said}");
            assert_eq!(said.contains("BEGIN CERTIFICATE"), !is_refused, "{name:?} {version}: {said}");
        }
    }
    // A new host is known at once.
    case.create(&e2e::rule("new", "new.example.com").build()).await?;
    poll(PATIENCE, || async {
        let said = s_client_of(&controller, &["-servername", "new.example.com"], &[]).await?;
        ensure!(said.contains("BEGIN CERTIFICATE"), "{said}");
        Ok(())
    })
    .await?;
    assert_eq!(controller.reloads().await?, 0.0);
    Ok(())
}
