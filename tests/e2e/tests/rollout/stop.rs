//! The end: what was begun is finished, or done by the next leader, and done once.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use e2e::receiver::Receiver;
use e2e::rollout::{Kind, Rollout, deployment};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use testkit::poll;
use testkit::ports::Ports;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];

/// A check that says when it has begun and ends when it may: it holds a decided rollout between seeing and writing.
struct Barrier(tempfile::TempDir);

impl Barrier {
    fn new() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let script = "cd \"$(dirname \"$0\")\"; touch begun; until test -e go; do sleep 0.05; done\n";
        std::fs::write(directory.path().join("check"), script)?;
        Ok(Self(directory))
    }

    fn flags(&self) -> Vec<String> {
        let command = format!("--check-command=sh {}", self.path("check").display());
        vec!["--check=command".into(), command, "--check-timeout=600".into()]
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    async fn until_begun(&self) -> anyhow::Result<()> {
        poll(PATIENCE, || async {
            ensure!(self.path("begun").exists(), "no check has begun");
            Ok(())
        })
        .await
    }

    fn open(&self) -> anyhow::Result<()> {
        Ok(std::fs::write(self.path("go"), "")?)
    }
}

/// A replica with these flags; its Lease is this case's.
async fn replica(case: &Case, name: &str, flags: &[String], env: &[(&str, &str)]) -> anyhow::Result<Rollout> {
    let mut all: Vec<&str> = vec!["--enable-ha"];
    all.extend(flags.iter().map(String::as_str));
    let mut variables = vec![("POD_NAME", name), ("POD_NAMESPACE", case.ns())];
    variables.extend(env);
    Rollout::start(case, &all, &variables).await
}

async fn holder(case: &Case) -> anyhow::Result<Option<String>> {
    let lease = case.namespace.api::<Lease>().get("stakater-reloader-lock").await?;
    Ok(lease.spec.context("a Lease has a spec")?.holder_identity.filter(|name| !name.is_empty()))
}

/// A Deployment that is looked after, and a rollout of it that stands at the barrier.
async fn decided(case: &Case, barrier: &Barrier, flags: &[String], env: &[(&str, &str)]) -> anyhow::Result<Rollout> {
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let mut all = barrier.flags();
    all.extend_from_slice(flags);
    let rollout = replica(case, "first", &all, env).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    barrier.until_begun().await?;
    Ok(rollout)
}

#[tokio::test]
async fn what_was_decided_is_written_and_told_after_sigterm() -> anyhow::Result<()> {
    let case = Case::new("ro-stop").await?;
    let (barrier, receiver) = (Barrier::new()?, Receiver::start().await?);
    let url = receiver.url();
    let alerts = [("ALERT_ON_RELOAD", "true"), ("ALERT_WEBHOOK_URL", &*url)];
    let mut rollout = decided(&case, &barrier, &["--election-ttl=600".into()], &alerts).await?;
    rollout.terminate()?;
    poll(PATIENCE, || async {
        ensure!(rollout.log().contains("stopping"), "it has not seen the signal");
        Ok(())
    })
    .await?;
    assert!(rollout.is_running()?);
    assert_eq!(holder(&case).await?.as_deref(), Some("first"), "who still acts keeps the Lease");
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    barrier.open()?;
    rollout.ended().await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    assert_eq!(receiver.notifications().len(), 1, "{:?}", receiver.notifications());
    assert_eq!(holder(&case).await?, None, "the Lease is given away");
    // Nothing is left to do for the next leader.
    let _second = replica(&case, "second", &[], &[]).await?;
    case.fence().await?;
    case.settled().await?;
    case.revisions("web", 2).await
}

#[tokio::test]
async fn what_does_not_end_in_time_is_left_to_whoever_leads_next() -> anyhow::Result<()> {
    let case = Case::new("ro-bound").await?;
    let barrier = Barrier::new()?;
    let mut rollout = decided(&case, &barrier, &["--stop-timeout=1s".into(), "--election-ttl=600".into()], &[]).await?;
    rollout.terminate()?;
    rollout.ended().await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    assert_eq!(holder(&case).await?, None);
    let _second = replica(&case, "second", &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    case.fence().await?;
    case.settled().await?;
    case.revisions("web", 2).await
}

#[tokio::test]
async fn a_leader_that_dies_between_seeing_and_writing_loses_nothing() -> anyhow::Result<()> {
    let case = Case::new("ro-killed").await?;
    let barrier = Barrier::new()?;
    let mut first = decided(&case, &barrier, &["--election-ttl=2".into()], &[]).await?;
    let second = replica(&case, "second", &["--election-ttl=2".into()], &[]).await?;
    assert_eq!(second.metric("narthex_rollout_leader").await?, 0.0);
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    first.kill()?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    case.fence().await?;
    case.settled().await?;
    case.revisions("web", 2).await
}

#[tokio::test]
async fn a_lease_that_is_to_be_kept_is_kept() -> anyhow::Result<()> {
    let case = Case::new("ro-keep").await?;
    let mut rollout = replica(&case, "first", &["--leader-election-release-on-cancel=false".into()], &[]).await?;
    rollout.until_metric("narthex_rollout_leader", 1.0).await?;
    rollout.terminate()?;
    rollout.ended().await?;
    assert_eq!(holder(&case).await?.as_deref(), Some("first"));
    Ok(())
}

/// Takes one request and answers it with this status when `answer` says so.
async fn one_request(listener: &TcpListener, status: &str) -> anyhow::Result<()> {
    let (mut connection, _) = listener.accept().await?;
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).ends_with('}') {
        ensure!(connection.read_buf(&mut read).await? > 0, "broken off");
    }
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    Ok(connection.write_all(answer.as_bytes()).await?)
}

#[tokio::test]
async fn a_webhook_is_told_after_sigterm_of_what_was_seen_before() -> anyhow::Result<()> {
    let case = Case::new("ro-tell-end").await?;
    let listener = TcpListener::bind(("127.0.0.1", Ports::one()?)).await?;
    let url = format!("--webhook-url=http://{}/hook", listener.local_addr()?);
    case.config("config", "1").await?;
    let mut rollout = Rollout::start(&case, &[&url], &[]).await?;
    // The first list may not be there yet: changes until one is reported.
    let asked = tokio::select! {
        asked = one_request(&listener, "500 Internal Server Error") => asked,
        changed = async {
            poll(PATIENCE, || async {
                let map = case.namespace.api::<ConfigMap>().get("config").await?;
                case.config("config", &map.metadata.resource_version.unwrap_or_default()).await?;
                anyhow::bail!("nothing is reported")
            }).await
        } => changed,
    };
    asked?;
    rollout.terminate()?;
    one_request(&listener, "200 OK").await?;
    // Further changes that were made until the first was reported are reported, too.
    loop {
        tokio::select! {
            ended = rollout.ended() => return ended,
            asked = one_request(&listener, "200 OK") => asked?,
        }
    }
}
