//! `narthex plan --against cluster` and `narthex explain request`, with a real API server and a running controller.

use std::process::Stdio;

use anyhow::{Context, ensure};
use e2e::Case;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// `narthex WORDS` with a text on standard input: exit code, standard output, standard error.
async fn narthex(words: &[&str], input: &str) -> anyhow::Result<(Option<i32>, String, String)> {
    let mut command = Command::new(std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?);
    let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().context("a pipe")?.write_all(input.as_bytes()).await?;
    let output = child.wait_with_output().await?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

#[tokio::test]
async fn a_change_is_planned_against_the_cluster_and_a_request_is_explained_by_the_controller() -> anyhow::Result<()> {
    let case = Case::new("plan").await?;
    let host = format!("{}.example.com", case.ns());
    let _servers = case.echo(2).await?;
    let stored = case.serve(&host).await?;
    let controller = case.controller().start().await?;
    controller.until(&host, "/", 200).await?;

    let kubeconfig = case.bed.kubeconfig().display().to_string();
    let namespace = format!("--watch-namespace={}", case.ns());
    let flags = ["plan", "--against=cluster", "--kubeconfig", &kubeconfig, &namespace, "--exit-code", "--format=json", "-f", "-"];
    let plan = async |object: &Value| {
        let (code, text, error) = narthex(&flags, &object.to_string()).await?;
        anyhow::Ok((code, serde_json::from_str::<Value>(&text).with_context(|| error)?))
    };
    let mut same = json!(stored);
    same["apiVersion"] = "networking.k8s.io/v1".into();
    same["kind"] = "Ingress".into();
    let (code, found) = plan(&same).await?;
    ensure!(code == Some(0) && found["plan"] == "nothing", "{code:?} {found:#}");

    let mut changed = same.clone();
    changed["metadata"]["annotations"]["nginx.ingress.kubernetes.io/limit-rps"] = "7".into();
    let (code, found) = plan(&changed).await?;
    ensure!(code == Some(3) && found["hosts"] == json!([host]), "{code:?} {found:#}");

    // The path is taken by what the cluster has.
    let mut second = same.clone();
    second["metadata"] = json!({ "name": "second", "namespace": case.ns() });
    let (code, found) = plan(&second).await?;
    ensure!(code == Some(5) && found["refused"][0]["detail"].as_str().is_some_and(|why| why.contains(&host)), "{code:?} {found:#}");

    let work_dir = format!("--work-dir={}", controller.work_dir().display());
    let url = format!("http://{host}/cart");
    let (code, text, error) = narthex(&["explain", "request", &work_dir, "--format=json", &url], "").await?;
    let found: Value = serde_json::from_str(&text).with_context(|| error)?;
    let backends = &found["outcome"]["backends"];
    ensure!(code == Some(0) && backends[0]["backend"] == format!("{}/echo:80", case.ns()), "{code:?} {found:#}");
    ensure!(backends[0]["endpoints"].as_array().is_some_and(|all| all.len() == 2 && all[0]["percent"] == 50.0), "{found:#}");
    let (code, text, error) = narthex(&["explain", "request", &work_dir, "http://unknown.example.com/"], "").await?;
    ensure!(code == Some(1) && text.contains("no rule has the host"), "{code:?} {text}{error}");
    Ok(())
}
