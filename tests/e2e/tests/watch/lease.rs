//! Two replicas and a Lease: one runs the command, both reload.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use e2e::watch::Watch;
use e2e::{Case, PATIENCE};
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::Value;
use testkit::poll;
use testkit::ports::Ports;

/// Replicas at addresses that are not those of this machine's interfaces, so that each tells the other.
async fn replica(case: &Case, number: u8, port: u16, command: &str) -> anyhow::Result<Watch> {
    let address = |number: u8| SocketAddr::from(([127, 0, 0, 1 + number], port));
    let flags = [
        format!("--kubeconfig={}", case.bed.kubeconfig().display()),
        format!("--peers={}", address(3 - number)),
        format!("--before={command}"),
        "--lock-lease=renewal".to_owned(),
        "--disable-sync-events".to_owned(),
    ];
    let name = format!("web-{number}");
    Watch::start(address(number), &flags, &[("POD_NAME", &name), ("POD_NAMESPACE", case.ns())]).await
}

async fn holder(case: &Case) -> anyhow::Result<Option<String>> {
    let lease = case.namespace.api::<Lease>().get("renewal").await?;
    Ok(lease.spec.context("a lease has a spec")?.holder_identity.filter(|holder| !holder.is_empty()))
}

fn renewals(log: &Path) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().count()
}

async fn until_renewals(log: &Path, count: usize) -> anyhow::Result<()> {
    poll(PATIENCE * 2, || async {
        anyhow::ensure!(renewals(log) == count, "{} renewals, not {count}", renewals(log));
        Ok(())
    })
    .await
}

fn json(text: &str) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(text)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_replicas_one_renews_and_both_reload() -> anyhow::Result<()> {
    let case = Case::new("wa-lease").await?;
    let shared = tempfile::tempdir()?;
    let (log, go) = (shared.path().join("log"), shared.path().join("go"));
    let command = format!("echo x >> {}; while [ ! -e {} ]; do sleep 0.05; done", log.display(), go.display());
    let port = Ports::one()?;
    let (first, second) = (replica(&case, 1, port, &command).await?, replica(&case, 2, port, &command).await?);
    let finishing = async {
        until_renewals(&log, 1).await?;
        // Both have asked, and one of them holds the Lease.
        let holder = holder(&case).await?.context("it has no holder")?;
        anyhow::ensure!(holder.starts_with("web-"), "{holder}");
        Ok(fs::write(&go, "")?)
    };
    let (one, other, finished) = tokio::join!(first.reload(), second.reload(), finishing);
    finished?;
    let (one, other) = (json(&one?.text())?, json(&other?.text())?);
    for body in [&one, &other] {
        assert_eq!((&body["ok"], &body["peers"][0]["ok"]), (&true.into(), &true.into()), "{body:#}");
    }
    let done = [&one, &other].iter().filter(|body| body["before"] == "done").count();
    assert_eq!(renewals(&log), done, "{one:#}\n{other:#}");
    assert!(first.reloads() > 0 && second.reloads() > 0);
    // Given away, with a note for those who come later.
    assert_eq!(holder(&case).await?, None);
    let lease = case.namespace.api::<Lease>().get("renewal").await?;
    assert!(lease.metadata.annotations.is_some_and(|notes| notes.contains_key("narthex.dev/done")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_one_that_renews_dies_the_other_does_it() -> anyhow::Result<()> {
    let case = Case::new("wa-lease-dies").await?;
    let shared = tempfile::tempdir()?;
    let (log, go) = (shared.path().join("log"), shared.path().join("go"));
    // It ends with the one that has started it, too.
    let command = format!("echo x >> {}; while [ ! -e {} ] && kill -0 $PPID 2>/dev/null; do sleep 0.05; done", log.display(), go.display());
    let port = Ports::one()?;
    let (mut first, second) = (replica(&case, 1, port, &command).await?, replica(&case, 2, port, &command).await?);
    let dying = async {
        until_renewals(&log, 1).await?;
        anyhow::ensure!(holder(&case).await?.as_deref() == Some("web-1"));
        anyhow::Ok(())
    };
    tokio::select! {
        answer = first.reload() => anyhow::bail!("it has answered: {answer:?}"),
        dying = dying => dying?,
    }
    first.kill()?;
    let finishing = async {
        // When the Lease has run out.
        until_renewals(&log, 2).await?;
        Ok(fs::write(&go, "")?)
    };
    let (answer, finished): (_, anyhow::Result<()>) = tokio::join!(second.reload(), finishing);
    finished?;
    let body = json(&answer?.text())?;
    assert_eq!((&body["before"], &body["result"]), (&"done".into(), &"applied".into()), "{body:#}");
    // The other one is gone: that is said, too.
    assert_eq!((&body["ok"], &body["peers"][0]["result"]), (&false.into(), &"unreachable".into()), "{body:#}");
    Ok(())
}
