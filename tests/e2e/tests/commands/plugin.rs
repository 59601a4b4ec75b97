//! `kubectl narthex`, by the real kubectl and API server.
//!
//! No kubelet of the bed has containers: [`fake`] stands in for `kubectl exec` and `kubectl logs`, and runs the command beside the
//! controller of the case. All else that it is asked for is the real kubectl's.

mod doctor;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE};
use serde_json::{Value, json};
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

use super::fake;

/// Of this case alone: the cases of a bed share its rules.
fn host(case: &Case) -> String {
    format!("{}.example.com", case.ns())
}

/// Pods as those of a controller, of which the fake kubelet of the bed says that they run.
const PODS: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: ingress-nginx-controller, namespace: {NS}}
spec:
  selector: {matchLabels: {app: edge}}
  template:
    metadata: {labels: {app: edge}}
    spec:
      containers: [{name: controller, image: narthex, args: [run, --http-prot=80]}]
---
apiVersion: v1
kind: Service
metadata: {name: ingress-nginx-controller, namespace: {NS}}
spec: {selector: {app: edge}, clusterIP: None, ports: [{port: 80}]}
";

/// A user who may list Ingresses, and nothing else.
const READER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: {NS}}
rules: [{apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: {NS}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: reader, apiGroup: rbac.authorization.k8s.io}]
";

/// The plugin where kubectl finds it, and a kubectl that it runs.
struct Fake<'a> {
    case: &'a Case,
    scratch: tempfile::TempDir,
    work_dir: PathBuf,
}

impl<'a> Fake<'a> {
    fn new(case: &'a Case, controller: &Controller) -> anyhow::Result<Self> {
        let fake = Self { case, scratch: tempfile::tempdir()?, work_dir: controller.work_dir().to_owned() };
        fake::kubectl(&fake.path("kubectl-here"))?;
        fs::write(fake.path("log"), "a line of the log\n")?;
        fake::programs(fake.scratch.path(), &["kubectl-narthex", "kubectl_complete-narthex"])?;
        Ok(fake)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// `kubectl WORDS`, in the namespace of the case unless the words say otherwise.
    fn kubectl(&self, words: &[&str]) -> anyhow::Result<Output> {
        let real = self.case.bed.info().binaries.join("kubectl");
        let path = std::env::join_paths(
            std::iter::once(self.scratch.path().to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").context("PATH")?)),
        )?;
        let mut command = Command::new(&real);
        command.args(words).env("KUBECONFIG", self.case.bed.kubeconfig()).env("HOME", self.scratch.path()).env("PATH", path);
        command
            .env("KUBECTL", self.path("kubectl-here"))
            .env("REAL", &real)
            .env("CALLS", self.path("calls"))
            .env("WORK", &self.work_dir)
            .env("LOG", self.path("log"));
        Ok(command.output()?)
    }

    /// The standard output of `kubectl narthex WORDS --namespace NS`, which succeeds.
    fn says(&self, words: &[&str]) -> anyhow::Result<String> {
        let output = self.kubectl(&[&["narthex", "--namespace", self.case.ns()], words].concat())?;
        ensure!(output.status.success(), "{words:?}: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The exit code, the standard output and the standard error.
    fn fails(&self, words: &[&str]) -> anyhow::Result<(Option<i32>, String, String)> {
        let output = self.kubectl(&[&["narthex"], words].concat())?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }
}

async fn controller(case: &Case) -> anyhow::Result<Controller> {
    case.serve(&host(case)).await?;
    case.apply(PODS).await?;
    let controller = case.controller().start().await?;
    controller.until(&host(case), "/", 200).await?;
    Ok(controller)
}

#[tokio::test]
async fn what_a_controller_has_is_printed_by_way_of_its_pod() -> anyhow::Result<()> {
    let case = Case::new("plugin").await?;
    let _servers = case.echo(2).await?;
    let controller = controller(&case).await?;
    let fake = Fake::new(&case, &controller)?;
    let backend = format!("{}-echo-80", case.ns());
    // A Pod appears a moment after its Deployment.
    poll(PATIENCE, || async { fake.says(&["backends", "--list"]).map(drop) }).await?;
    ensure!(fake.says(&["backends", "--list"])?.lines().any(|name| name == backend));
    let all: Value = serde_json::from_str(&fake.says(&["backends"])?)?;
    let one: Value = serde_json::from_str(&fake.says(&["backends", "--backend", &backend])?)?;
    ensure!(all.as_array().context("an array")?.contains(&one), "{all:#}");
    let table = fake.says(&["backends", "-o", "table", "--backend", &backend])?;
    let endpoints = one["endpoints"].as_array().context("endpoints")?.len();
    ensure!(endpoints == 2 && table.starts_with("NAME ") && table.matches(":8080").count() == 2, "{table}");
    ensure!(fake.says(&["certs", "--host", "_"])?.starts_with("-----BEGIN CERTIFICATE-----"));
    ensure!(fake.says(&["conf"])?.contains("http {"));
    ensure!(fake.says(&["conf", "--host", &host(&case)])?.contains(&host(&case)));
    let general: Value = serde_json::from_str(&fake.says(&["general", "--deployment", "ingress-nginx-controller"])?)?;
    ensure!(general["revision"].is_string(), "{general:#}");
    ensure!(fake.says(&["exec", "-i", "-l", "app=edge", "--", "echo", "-n", "a", "b"])? == "a b");
    ensure!(fake.says(&["logs", "--tail=3", "-f"])? == "a line of the log\n");
    let calls = fake.calls();
    let last: Vec<&str> = calls.lines().rev().take(2).collect();
    let place = format!("--namespace {} --container controller ingress-nginx-controller-", case.ns());
    ensure!(last[0].starts_with(&format!("logs --tail=3 --follow {place}")), "{calls}");
    ensure!(last[1].starts_with(&format!("exec --stdin {place}")) && last[1].ends_with("-- echo -n a b"), "{calls}");
    // The exit code of what runs there is that of the plugin.
    let code = fake.kubectl(&["narthex", "exec", "--namespace", case.ns(), "--", "sh", "-c", "exit 7"])?.status.code();
    // kubectl itself gives the plugin its process.
    ensure!(code == Some(7), "{code:?}");
    let shell = fake.kubectl(&["narthex", "ssh", "--namespace", case.ns(), "--shell", "true"])?;
    ensure!(
        shell.status.success() && fake.calls().ends_with("-- true\n") && fake.calls().contains("exec --stdin --tty"),
        "{}",
        fake.calls()
    );
    Ok(())
}

#[tokio::test]
async fn what_is_not_there_is_named_with_what_is() -> anyhow::Result<()> {
    let case = Case::new("plugin-none").await?;
    let _servers = case.echo(1).await?;
    let controller = controller(&case).await?;
    let fake = Fake::new(&case, &controller)?;
    poll(PATIENCE, || async { fake.says(&["general"]).map(drop) }).await?;
    let ns = case.ns();
    let none = format!("in namespace {ns:?}: its Pods are ingress-nginx-controller-");
    for (words, expected) in [
        (vec!["general", "-n", ns, "--pod", "absent"], format!("no Pod \"absent\" {none}")),
        (vec!["general", "-n", ns, "--deployment", "absent"], format!("no Pod of a Deployment or DaemonSet \"absent\" {none}")),
        (vec!["general", "-n", ns, "-l", "app=absent"], format!("no Pod with the labels \"app=absent\" {none}")),
        (vec!["general", "-n", "kube-public"], "in namespace \"kube-public\": it has no Pods".to_owned()),
        (vec!["info", "-n", ns, "--service", "absent"], format!("no Service \"absent\" in namespace {ns:?}: it has")),
        (vec!["general", "-n", ns, "--context", "absent"], "context \"absent\" does not exist".to_owned()),
        // Before that it logs each of its attempts.
        (vec!["general", "-n", ns, "--server", "https://127.0.0.1:1"], "The connection to the server 127.0.0.1:1 was refused".to_owned()),
        (vec!["general", "-n", ns, "--as", "stranger"], "User \"stranger\" cannot list resource \"pods\"".to_owned()),
    ] {
        let (code, out, error) = fake.fails(&words)?;
        ensure!(code == Some(1) && out.is_empty() && error.starts_with("narthex: ") && error.contains(&expected), "{words:?}: {error}");
        ensure!(!error.contains(".go:"), "{words:?}: {error}");
    }
    ensure!(fake.fails(&["certs"])?.0 == Some(2));
    Ok(())
}

#[tokio::test]
async fn rules_are_listed_with_their_services_and_endpoints() -> anyhow::Result<()> {
    let case = Case::new("plugin-rules").await?;
    let _servers = case.echo(2).await?;
    let controller = controller(&case).await?;
    let other = mk_ingress("other").class("nginx").host("other.example.com").path("/a", PathType::Exact, "absent", 81).build();
    case.create(&other).await?;
    let fake = Fake::new(&case, &controller)?;
    let table = fake.says(&["ingresses"])?;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    ensure!(table.starts_with("INGRESS NAME ") && table.contains(" HOST+PATH "), "{table}");
    ensure!(table.lines().any(|line| words(line)[1..] == [&format!("{}/", host(&case)), "NO", "echo", "80", "2"]), "{table}");
    ensure!(table.lines().any(|line| words(line) == ["other", "other.example.com/a", "NO", "absent", "81", "N/A"]), "{table}");
    let found: Value = serde_json::from_str(&fake.says(&["ing", "-A", "--host", "other.example.com", "-o", "json"])?)?;
    let own: Vec<&Value> = found.as_array().context("an array")?.iter().filter(|row| row["namespace"] == case.ns()).collect();
    let expected = json!({"namespace": case.ns(), "ingress": "other", "host": "other.example.com", "path": "/a", "tls": false,
        "addresses": [], "service": "absent", "port": "81", "endpoints": null});
    ensure!(own == [&expected], "{found:#}");
    ensure!(fake.says(&["info"])? == "Service cluster IP address: None\nLoadBalancer IP|CNAME: \n");
    Ok(())
}

#[tokio::test]
async fn lint_finds_what_a_controller_would() -> anyhow::Result<()> {
    let case = Case::new("plugin-lint").await?;
    let _servers = case.echo(1).await?;
    let controller = controller(&case).await?;
    let bad = mk_ingress("bad").class("nginx").host("bad.example.com").path("/", PathType::Prefix, "absent", 80);
    case.create(&bad.annotation("nginx.ingress.kubernetes.io/rewrite-targt", "/").build()).await?;
    let fake = Fake::new(&case, &controller)?;
    let (code, table, error) = fake.fails(&["lint", "-n", case.ns(), "--show-all"])?;
    ensure!(code == Some(1), "{table}{error}");
    ensure!(table.contains("Checking ingresses...\n") && table.contains("✗ bad\n") && table.contains("✓ "), "{table}");
    ensure!(table.contains("no such annotation, did you mean rewrite-target?") && table.contains("does not exist"), "{table}");
    ensure!(table.contains("Checking deployments...\n✗ ingress-nginx-controller\n  - unexpected argument '--http-prot'"), "{table}");
    let (code, json, _) = fake.fails(&["lint", "ingresses", "--namespace", case.ns(), "-o", "json"])?;
    let found: Vec<Value> = serde_json::from_str(&json)?;
    ensure!(code == Some(1) && found.len() == 2 && found.iter().all(|finding| finding["name"] == "bad"), "{json}");
    ensure!(
        found.iter().any(|finding| finding["kind"] == "UnknownAnnotation")
            && found.iter().any(|finding| finding["kind"] == "ServiceMissing")
    );
    case.delete::<k8s_openapi::api::networking::v1::Ingress>("bad").await?;
    ensure!(fake.says(&["lint", "ingresses"])?.is_empty());
    Ok(())
}

#[tokio::test]
async fn lint_needs_no_rights_but_those_on_ingresses() -> anyhow::Result<()> {
    let case = Case::new("plugin-rights").await?;
    let _servers = case.echo(1).await?;
    let controller = controller(&case).await?;
    case.apply(READER).await?;
    let fake = Fake::new(&case, &controller)?;
    let words = ["lint", "ingresses", "-n", case.ns(), "--show-all", "--as", "reader"];
    // A binding is known to the API server a moment later.
    poll(PATIENCE, || async {
        let (code, out, error) = fake.fails(&words)?;
        ensure!(code.is_some_and(|code| code < 2) && out.contains(&host(&case)), "{out}{error}");
        ensure!(error.contains("only ingresses.networking.k8s.io of this namespace are looked at"), "{error}");
        ensure!(
            error.contains("what refers to secrets is reported as missing") && error.contains("cannot list resource \"secrets\""),
            "{error}"
        );
        Ok(())
    })
    .await?;
    let (code, out, error) = fake.fails(&["lint", "ingresses", "-n", case.ns(), "--as", "stranger"])?;
    ensure!(code == Some(1) && out.is_empty() && error.contains("cannot list resource \"ingresses\""), "{out}{error}");
    Ok(())
}

#[tokio::test]
async fn kubectl_completes_its_words() -> anyhow::Result<()> {
    let case = Case::new("plugin-words").await?;
    let controller = case.controller().start().await?;
    let fake = Fake::new(&case, &controller)?;
    let text = |words: &[&str]| anyhow::Ok(String::from_utf8(fake.kubectl(words)?.stdout)?);
    let words = text(&["__complete", "narthex", "ba"])?;
    ensure!(words.lines().any(|line| line.starts_with("backends\t")), "{words}");
    ensure!(text(&["narthex", "completion", "bash"])?.contains("kubectl-narthex"));
    ensure!(text(&["narthex", "--help"])?.contains("Usage: kubectl narthex"));
    Ok(())
}
