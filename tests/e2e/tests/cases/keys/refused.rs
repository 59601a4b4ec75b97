//! Values that NGINX alone can judge: it starts without them, and the refused one is found meanwhile.

use anyhow::ensure;
use e2e::PATIENCE;
use testkit::poll;

use super::{HOST, Serving};

/// The configuration, once the search has ended: with all keys but the refused ones.
async fn settled(serving: &Serving, expected: &[&str]) -> anyhow::Result<String> {
    poll(PATIENCE, || async {
        let conf = serving.controller.nginx_conf()?;
        let missing: Vec<_> = expected.iter().filter(|text| !conf.contains(**text)).collect();
        ensure!(missing.is_empty(), "{missing:?} is not there yet: {conf}");
        Ok(conf)
    })
    .await
}

#[tokio::test]
async fn a_refused_key_keeps_no_new_controller_waiting_and_blames_no_ingress() -> anyhow::Result<()> {
    let settings = [
        ("ssl-ecdh-curve", "nonsense"),
        ("keep-alive", "31"),
        ("ssl-buffer-size", "8k"),
        ("error-log-path", "/no/such/directory/error.log"),
    ];
    // It serves: that is what the start waits for.
    let serving = Serving::start("keys-refused", &settings).await?;
    let conf = settled(&serving, &[" keepalive_timeout 31s;", " ssl_buffer_size 8k;"]).await?;
    assert!(conf.contains(" ssl_ecdh_curve auto;") && !conf.contains("/no/such"), "{conf}");
    let log = serving.controller.log();
    for key in ["ssl-ecdh-curve", "error-log-path"] {
        let found = log.lines().any(|line| line.contains(&format!("data[\\\"{key}\\\"]")) || line.contains(&format!("data[\"{key}\"]")));
        assert!(found && log.contains("NGINX refuses it: "), "{key}: {log}");
    }
    assert!(!log.contains("uarantined"), "{log}");
    // A good value is used, and the last one stays where the next is refused.
    serving.case.settings(&[("ssl-ecdh-curve", "X25519"), ("keep-alive", "31")]).await?;
    settled(&serving, &[" ssl_ecdh_curve X25519;"]).await?;
    serving.case.settings(&[("ssl-ecdh-curve", "nonsense"), ("keep-alive", "32")]).await?;
    settled(&serving, &[" ssl_ecdh_curve X25519;", " keepalive_timeout 32s;"]).await?;
    serving.controller.until(HOST, "/", 200).await?;
    Ok(())
}
