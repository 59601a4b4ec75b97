//! Two controllers, each with a class of its own.

use std::process::Output;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, ensure_class};
use serde_json::Value;
use testkit::kube::{IngressBuilder, PathType, mk_ingress, mk_ingress_class};

/// Name of a side's class: classes belong to the cluster, so that each case has its own.
pub(crate) fn class(case: &Case, side: &str) -> String {
    format!("{}-{side}", case.ns())
}

/// An Ingress of a side for a host, `/` to the Service `echo`; named after both.
pub(crate) fn rule(case: &Case, side: &str, host: &str) -> IngressBuilder {
    at(case, side, host, "/", PathType::Prefix, "echo")
}

/// The same with another path and Service.
pub(crate) fn at(case: &Case, side: &str, host: &str, path: &str, kind: PathType, service: &str) -> IngressBuilder {
    mk_ingress(&format!("{}-{side}", host.replace('*', "any"))).class(&class(case, side)).host(host).path(path, kind, service, 80)
}

/// Makes the class of a side and starts its controller, with the ConfigMap `settings-<side>`.
pub(crate) async fn start(case: &Case, side: &str) -> anyhow::Result<Controller> {
    let class = class(case, side);
    let controller = format!("example.com/{class}");
    ensure_class(&case.namespace, mk_ingress_class(&class, &controller)).await?;
    let launch = case.bare_controller().flag("--watch-namespace={NS}").flag(&format!("--configmap={{NS}}/settings-{side}"));
    launch.flag(&format!("--controller-class={controller}")).flag(&format!("--ingress-class={class}")).start().await
}

/// `HOST:HTTP,HTTPS` of a controller.
pub(crate) fn address(controller: &Controller) -> String {
    format!("127.0.0.1:{},{}", controller.http().port(), controller.https().port())
}

/// Runs `narthex` without blocking the servers of this process.
pub(crate) async fn narthex(args: &[&str]) -> anyhow::Result<Output> {
    let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?;
    Ok(tokio::process::Command::new(binary).args(args).stdin(std::process::Stdio::null()).kill_on_drop(true).output().await?)
}

/// `narthex compare` of the case's namespace with more flags: the exit code and the report.
pub(crate) async fn compare(case: &Case, old: &Controller, new: &Controller, more: &[&str]) -> anyhow::Result<(Option<i32>, Value)> {
    let (old, new) = (address(old), address(new));
    let kubeconfig = format!("--kubeconfig={}", case.bed.kubeconfig().display());
    let mut args = vec!["compare", "--old", &old, "--new", &new, &kubeconfig, "--namespace", case.ns(), "--output", "json"];
    args.extend(more);
    let output = narthex(&args).await?;
    ensure!(!output.stdout.is_empty(), "no report: {}", String::from_utf8_lossy(&output.stderr));
    Ok((output.status.code(), serde_json::from_slice(&output.stdout)?))
}

/// The differences of a report as `host kind name`, in order, each once.
pub(crate) fn differences(report: &Value) -> Vec<String> {
    let groups = report["differences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<String> = groups
        .iter()
        .map(|group| [text(&group["host"]), text(&group["kind"]), text(&group["name"])].join(" ").trim_end().to_owned())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// `narthex switch` with the records in the case's namespace and JSON as output, without a question: the exit code and the result.
pub(crate) async fn switch(case: &Case, more: &[&str]) -> anyhow::Result<(Option<i32>, Value)> {
    let kubeconfig = format!("--kubeconfig={}", case.bed.kubeconfig().display());
    let mut args = vec!["switch", &kubeconfig, "--record-namespace", case.ns(), "--output", "json", "--yes"];
    args.extend(more);
    let output = narthex(&args).await?;
    ensure!(!output.stdout.is_empty(), "no result: {}", String::from_utf8_lossy(&output.stderr));
    Ok((output.status.code(), serde_json::from_slice(&output.stdout)?))
}
