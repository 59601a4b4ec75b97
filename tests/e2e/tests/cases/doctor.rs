//! `narthex doctor`: faults that are staged for real, and the cause that it names. A webhook that is down is one of `kubectl narthex
//! doctor` (`commands/plugin.rs`): the API server alone knows.

use std::net::TcpListener;
use std::path::Path;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::api::rbac::v1::RoleBinding;
use nix::sys::signal::Signal;
use serde::Deserialize;
use serde_json::json;
use testkit::api_proxy::{ApiProxy, Fault};
use testkit::kube::{PathType, mk_ingress, mk_service};
use testkit::poll;

const HOST: &str = "doctor.example.com";
/// Exit codes.
const SOUND: i32 = 0;
const WARNINGS: i32 = 1;
const ERRORS: i32 = 3;

#[derive(Debug, Deserialize)]
struct Finding {
    what: String,
    evidence: Vec<String>,
    remedy: String,
}

/// The exit code and the findings.
async fn ask(work_dir: &Path) -> anyhow::Result<(i32, Vec<Finding>)> {
    let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?;
    let output = tokio::process::Command::new(binary).args(["doctor", "--output=json", "--work-dir"]).arg(work_dir).output().await?;
    let findings = serde_json::from_slice(&output.stdout).with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok((output.status.code().context("a signal ended it")?, findings))
}

/// Waits until this cause is named, with this evidence, and for the exit code.
async fn names(work_dir: &Path, code: i32, what: &str, evidence: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let (found, findings) = ask(work_dir).await?;
        let named = findings.iter().find(|finding| finding.what.contains(what)).with_context(|| format!("{found}: {findings:#?}"))?;
        ensure!(named.evidence.iter().any(|line| line.contains(evidence)) && !named.remedy.is_empty(), "{named:#?}");
        ensure!(found == code, "exit code {found}: {findings:#?}");
        Ok(())
    })
    .await
}

/// A controller of whose host nothing is wrong.
async fn sound(case: &Case) -> anyhow::Result<Controller> {
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    poll(PATIENCE, || async {
        let (code, findings) = ask(controller.work_dir()).await?;
        ensure!(code == SOUND && findings.is_empty(), "{code}: {findings:#?}");
        Ok(())
    })
    .await?;
    Ok(controller)
}

#[tokio::test]
async fn an_ingress_without_a_class() -> anyhow::Result<()> {
    let case = Case::new("doctor-no-class").await?;
    let _servers = case.echo(1).await?;
    let controller = sound(&case).await?;
    case.create(&mk_ingress("lost").host("lost.example.com").path("/", PathType::Prefix, "echo", 80).build()).await?;
    names(controller.work_dir(), WARNINGS, "an Ingress names no class", "/lost (no class)").await
}

#[tokio::test]
async fn an_ingress_of_a_class_that_does_not_exist() -> anyhow::Result<()> {
    let case = Case::new("doctor-class").await?;
    let _servers = case.echo(1).await?;
    let controller = sound(&case).await?;
    case.create(&rule("lost", "lost.example.com").class("ngnix").build()).await?;
    names(controller.work_dir(), WARNINGS, "a class that does not exist", "/lost (class \"ngnix\")").await
}

#[tokio::test]
async fn a_service_without_endpoints() -> anyhow::Result<()> {
    let case = Case::new("doctor-endpoints").await?;
    let _servers = case.echo(1).await?;
    let controller = sound(&case).await?;
    case.create(&mk_service("empty", 80, 8080, None)).await?;
    case.create(&mk_ingress("empty").class("nginx").host("empty.example.com").path("/", PathType::Prefix, "empty", 80).build()).await?;
    names(controller.work_dir(), ERRORS, "has no endpoints", "empty").await
}

#[tokio::test]
async fn a_secret_that_is_no_certificate() -> anyhow::Result<()> {
    let case = Case::new("doctor-secret").await?;
    let _servers = case.echo(1).await?;
    let controller = sound(&case).await?;
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: bad}\ntype: kubernetes.io/tls\nstringData: {tls.crt: none, tls.key: none}\n";
    case.apply(secret).await?;
    case.patch::<Ingress>(HOST, json!({"spec": {"tls": [{"hosts": [HOST], "secretName": "bad"}]}})).await?;
    names(controller.work_dir(), ERRORS, "a certificate can't be used", "bad").await
}

#[tokio::test]
async fn a_port_that_another_process_has() -> anyhow::Result<()> {
    let case = Case::new("doctor-port").await?;
    let _servers = case.echo(1).await?;
    let mut controller = sound(&case).await?;
    // One of the controller, which ends then.
    controller.signal(Signal::SIGTERM)?;
    controller.ended().await?;
    let taken = poll(PATIENCE, || async { Ok(TcpListener::bind(controller.health())?) }).await?;
    controller.spawn()?;
    controller.ended().await?;
    let port = controller.health().port();
    let cause = format!("the controller has ended: port {port} is taken, by ");
    names(controller.work_dir(), ERRORS, &cause, "--healthz-port").await?;
    drop(taken);
    // One of NGINX, which the controller outlives.
    let _taken = poll(PATIENCE, || async { Ok(TcpListener::bind(controller.http())?) }).await?;
    controller.spawn()?;
    names(controller.work_dir(), ERRORS, "a port of NGINX is taken by another process", "--http-port").await
}

#[tokio::test]
async fn a_controller_that_was_killed() -> anyhow::Result<()> {
    let case = Case::new("doctor-killed").await?;
    let _servers = case.echo(1).await?;
    let mut controller = sound(&case).await?;
    controller.kill()?;
    names(controller.work_dir(), ERRORS, "the controller was killed", "goes on with the last configuration").await
}

#[tokio::test]
async fn a_module_that_nginx_lacks() -> anyhow::Result<()> {
    let case = Case::new("doctor-module").await?;
    let _servers = case.echo(1).await?;
    let controller = sound(&case).await?;
    case.settings(&[("enable-zstd", "true")]).await?;
    names(controller.work_dir(), ERRORS, "NGINX lacks the module", "enable-zstd").await
}

#[tokio::test]
async fn an_ingress_that_is_quarantined() -> anyhow::Result<()> {
    let case = Case::new("doctor-quarantine").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]).await?;
    let controller = sound(&case).await?;
    let broken = rule("broken", "broken.example.com").annotation("configuration-snippet", "no_such_directive on;");
    case.create(&broken.build()).await?;
    names(controller.work_dir(), ERRORS, "NGINX refuses what an Ingress asks for: it is quarantined", "no_such_directive").await
}

#[tokio::test]
async fn a_setting_that_nginx_refuses() -> anyhow::Result<()> {
    let case = Case::new("doctor-refused").await?;
    let _servers = case.echo(1).await?;
    let controller = sound(&case).await?;
    case.settings(&[("http-snippet", "no_such_directive on;")]).await?;
    names(controller.work_dir(), ERRORS, "NGINX refuses a setting", "no_such_directive").await
}

#[tokio::test]
async fn a_budget_that_is_full() -> anyhow::Result<()> {
    let case = Case::new("doctor-budget").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("lua-shared-dicts", "configuration_data: 1")]).await?;
    let controller = sound(&case).await?;
    let networks: String = (0..3000).map(|number| format!("10.{}.{}.0/24,", number / 250, number % 250)).collect();
    for number in 0..30 {
        let large = rule(&format!("large-{number}"), &format!("large-{number}.example.com"));
        case.create(&large.annotation("whitelist-source-range", networks.trim_end_matches(',')).build()).await?;
    }
    names(controller.work_dir(), ERRORS, "no room", "large-").await
}

/// What the Lease needs, apart from all else.
const RIGHTS: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: doctor}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: {NS}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: doctor, namespace: {NS}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: rest}
rules:
- {apiGroups: ["", networking.k8s.io, discovery.k8s.io], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rest}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rest}
subjects: [{kind: ServiceAccount, name: doctor, namespace: {NS}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: lease}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: lease}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: lease}
subjects: [{kind: ServiceAccount, name: doctor, namespace: {NS}}]
"#;

#[tokio::test]
async fn a_leader_that_is_lost() -> anyhow::Result<()> {
    let case = Case::new("doctor-leader").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    case.apply(RIGHTS).await?;
    let account = case.kubeconfig_of("doctor").await?;
    let launch = case.controller().flag("--publish-status-address=192.0.2.1").flag("--election-ttl=4s");
    let controller = launch.env("POD_NAME", "controller").env("POD_NAMESPACE", case.ns()).start_as(account.path()).await?;
    poll(PATIENCE, || async {
        let lease = case.namespace.api::<Lease>().get("ingress-controller-leader").await?;
        ensure!(lease.spec.and_then(|spec| spec.holder_identity).as_deref() == Some("controller"), "it does not lead yet");
        Ok(())
    })
    .await?;
    case.delete::<RoleBinding>("lease").await?;
    names(controller.work_dir(), ERRORS, "the leader is lost", "ingress-controller-leader").await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_away() -> anyhow::Result<()> {
    let case = Case::new("doctor-away").await?;
    let proxy = ApiProxy::start(case.bed.info()).await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start_as(proxy.kubeconfig()).await?;
    controller.until(HOST, "/", 200).await?;
    proxy.set(Fault::Gone);
    names(controller.work_dir(), ERRORS, "the API server does not answer", "can't be watched").await?;
    ensure!(controller.get(HOST, "/").await?.status == 200, "it is served on");
    Ok(())
}
