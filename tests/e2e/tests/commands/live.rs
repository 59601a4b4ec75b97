//! Commands about a running controller, which they ask over its socket.

use std::process::{Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE};
use parking_lot::Mutex;
use serde_json::Value;
use testkit::poll;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

fn command(controller: &Controller, words: &[&str]) -> anyhow::Result<Command> {
    let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?;
    let mut command = Command::new(binary);
    command.args(words).arg("--work-dir").arg(controller.work_dir()).stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

async fn run(controller: &Controller, words: &[&str]) -> anyhow::Result<Output> {
    Ok(command(controller, words)?.output().await?)
}

/// The standard output of a command that succeeds.
async fn says(controller: &Controller, words: &[&str]) -> anyhow::Result<String> {
    let output = run(controller, words).await?;
    ensure!(output.status.success(), "{words:?}: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

async fn json(controller: &Controller, words: &[&str]) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&says(controller, words).await?)?)
}

/// A command that goes on, and its output.
async fn follows(controller: &Controller, words: &[&str]) -> anyhow::Result<(Child, Lines<BufReader<ChildStdout>>)> {
    let mut child = command(controller, words)?.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("a pipe")?;
    Ok((child, BufReader::new(output).lines()))
}

async fn serving(id: &str, flags: &[&str]) -> anyhow::Result<(Case, Controller, String)> {
    let case = Case::new(id).await?;
    let host = format!("{}.example.com", case.ns());
    case.serve(&host).await?;
    let controller = flags.iter().fold(case.controller(), |launch, flag| launch.flag(flag)).start().await?;
    Ok((case, controller, host))
}

#[tokio::test]
async fn every_resource_is_listed_in_every_form() -> anyhow::Result<()> {
    let (case, controller, host) = serving("live-get", &[]).await?;
    let servers = case.echo(2).await?;
    controller.until(&host, "/", 200).await?;
    let table = says(&controller, &["get", "ingresses", "-n", case.ns()]).await?;
    ensure!(table.starts_with("NAMESPACE ") && table.contains(&host) && table.contains("served"), "{table}");
    let one = json(&controller, &["get", "hosts", &host, "-o", "json"]).await?;
    ensure!(one["paths"][0]["path"] == "/", "{one:#}");
    let detail = says(&controller, &["get", "hosts", &host]).await?;
    ensure!(detail.contains("\nPaths\nPATH "), "{detail}");
    let backend = format!("{}/echo:80", case.ns());
    let endpoints = says(&controller, &["get", "backends", &backend]).await?;
    ensure!(servers.endpoints().len() == 2 && endpoints.matches("8080").count() == 2, "{endpoints}");
    let changed = says(&controller, &["get", "settings", "--changed", "-o", "yaml"]).await?;
    ensure!(changed.contains("- ") && changed.contains("name: worker-processes"), "{changed}");
    for resource in ["workers", "revisions", "budgets", "hosts", "backends", "settings"] {
        for form in ["table", "wide", "yaml", "json"] {
            let text = says(&controller, &["get", resource, "--output", form]).await.with_context(|| format!("{resource} {form}"))?;
            ensure!(text.lines().count() > 1, "{resource} {form}: {text}");
        }
    }
    let none = run(&controller, &["get", "hosts", "no-such-host"]).await?;
    ensure!(none.status.code() == Some(1) && none.stdout.is_empty(), "{none:?}");
    let wrong = run(&controller, &["get", "nothing"]).await?;
    ensure!(wrong.status.code() == Some(2), "{wrong:?}");
    Ok(())
}

#[tokio::test]
async fn requests_of_one_host_are_followed_whatever_the_access_log_says() -> anyhow::Result<()> {
    let (case, controller, host) = serving("live-logs", &["--enable-metrics"]).await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("disable-access-log", "true")]).await?;
    case.serve("other.example.com").await?;
    for host in [&*host, "other.example.com"] {
        controller.until(host, "/", 200).await?;
    }
    let (mut child, mut lines) = follows(&controller, &["logs", &host, "--limit", "2", "-o", "json"]).await?;
    // It sees requests from some moment on.
    let mut found: Option<Value> = None;
    while found.is_none() {
        controller.get("other.example.com", "/other").await?;
        controller.get(&host, "/seen?a=b").await?;
        let line = tokio::time::timeout(std::time::Duration::from_secs(1), lines.next_line()).await;
        found = line.ok().transpose()?.flatten().map(|line| serde_json::from_str(&line)).transpose()?;
    }
    let line = found.context("a line")?;
    ensure!(line["host"] == *host && line["target"] == "/seen?a=b" && line["status"] == 200, "{line:#}");
    ensure!(line["upstream"].as_str().is_some_and(|address| address.ends_with(":8080")), "{line:#}");
    controller.get(&host, "/last").await?;
    ensure!(child.wait().await?.success(), "it ends after two");
    let (_child, mut lines) = follows(&controller, &["logs", "absent.example.com", "-o", "json"]).await?;
    let mut found: Option<Value> = None;
    while found.is_none() {
        controller.get("absent.example.com", "/").await?;
        let line = tokio::time::timeout(std::time::Duration::from_secs(1), lines.next_line()).await;
        found = line.ok().transpose()?.flatten().map(|line| serde_json::from_str(&line)).transpose()?;
    }
    let line = found.context("a line")?;
    ensure!(line["status"] == 404 && line["reason"] == "no-host" && line["upstream"].is_null(), "{line:#}");
    poll(PATIENCE, || async {
        controller.get(&host, "/").await?;
        let rows = json(&controller, &["top", "--once", "-o", "json"]).await?;
        let row = rows.as_array().into_iter().flatten().find(|row| row["key"] == *host).context("no row of the host")?;
        ensure!(row["requests"].as_u64() > Some(2) && row["rate"].as_f64() > Some(0.0), "{row:#}");
        Ok(())
    })
    .await?;
    let table = says(&controller, &["top", "--by", "backend"]).await?;
    ensure!(table.starts_with("BACKEND ") && table.contains(" TO CLIENTS "), "{table}");
    Ok(())
}

/// How often a text for a terminal begins at its first line.
fn screens(output: &Mutex<String>) -> usize {
    output.lock().matches("\x1b[H").count()
}

#[tokio::test]
async fn the_screen_of_top_is_drawn_again_after_the_interval() -> anyhow::Result<()> {
    let (case, controller, host) = serving("live-top", &["--enable-metrics"]).await?;
    let _servers = case.echo(1).await?;
    controller.until(&host, "/", 200).await?;
    // Of util-linux: a terminal for a command, whose output it copies.
    let binary = std::env::var("NARTHEX_BIN")?;
    let start = |interval: &str| -> anyhow::Result<(Child, Arc<Mutex<String>>)> {
        let line = format!("exec {binary} top --interval {interval} --work-dir {}", controller.work_dir().display());
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]).env("TERM", "xterm").kill_on_drop(true);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (mut pipe, output) = (child.stdout.take().context("a pipe")?, Arc::new(Mutex::new(String::new())));
        let kept = output.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
                kept.lock().push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        Ok((child, output))
    };
    let (_slow, slowly) = start("1h")?;
    poll(PATIENCE, || async {
        ensure!(screens(&slowly) == 1 && slowly.lock().contains("\x1b[?1049h"), "{:?}", slowly.lock());
        Ok(())
    })
    .await?;
    let (mut fast, quickly) = start("100ms")?;
    poll(PATIENCE, || async {
        controller.get(&host, "/").await?;
        ensure!(screens(&quickly) > 5 && quickly.lock().contains(&host), "{:?}", quickly.lock());
        Ok(())
    })
    .await?;
    assert_eq!(screens(&slowly), 1, "{:?}", slowly.lock());
    // Ctrl-C of the terminal gives the usual screen back.
    fast.stdin.as_mut().context("a pipe")?.write_all(b"\x03").await?;
    let status = fast.wait().await?;
    ensure!(status.success(), "{status}: {:?}", quickly.lock());
    poll(PATIENCE, || async {
        ensure!(quickly.lock().ends_with("\x1b[?25h\x1b[?1049l"), "{:?}", quickly.lock());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn what_a_reload_changed_is_among_the_events_and_in_the_difference() -> anyhow::Result<()> {
    let (case, controller, host) = serving("live-diff", &[]).await?;
    let _servers = case.echo(1).await?;
    controller.until(&host, "/", 200).await?;
    let (_child, mut lines) = follows(&controller, &["events", "--follow", "--tail", "0", "-o", "json"]).await?;
    let reloads = controller.reloads().await?;
    case.settings(&[("keep-alive", "61")]).await?;
    poll(PATIENCE, || async {
        ensure!(controller.reloads().await? > reloads, "no reload yet");
        Ok(())
    })
    .await?;
    let difference = run(&controller, &["diff"]).await?;
    let text = String::from_utf8_lossy(&difference.stdout);
    ensure!(difference.status.code() == Some(1), "{difference:?}");
    ensure!(text.lines().any(|line| line.starts_with('+') && line.contains("keepalive_timeout 61s")), "{text}");
    loop {
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.context("no event of the reload")??;
        let event: Value = serde_json::from_str(&line.context("it goes on")?)?;
        if event["kind"] == "reload" {
            break;
        }
    }
    ensure!(says(&controller, &["events"]).await?.contains("  reload  "), "the reload is among them");
    Ok(())
}
