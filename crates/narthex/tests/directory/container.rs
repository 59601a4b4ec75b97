//! The programs of ingress-nginx's image by their names: the controller, `/dbg`, `/wait-shutdown`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use testkit::kube::{Certificate, mk_certificate};
use testkit::manifests::redirect;

use crate::bed::Bed;

/// A host with two endpoints, of which a canary takes requests.
const SHOP: &str = "---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: shop}
spec:
  ingressClassName: nginx
  tls: [{hosts: [shop.example.com], secretName: shop}]
  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: next
  namespace: shop
  annotations: {nginx.ingress.kubernetes.io/canary: 'true', nginx.ingress.kubernetes.io/canary-weight: '20'}
spec:
  ingressClassName: nginx
  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: next, port: {number: 80}}}}]}}]
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80, targetPort: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: next, namespace: shop}, spec: {ports: [{port: 80, targetPort: 8080}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]
";

fn secret(pair: &Certificate) -> String {
    let data = json!({"tls.crt": pair.certificate_pem, "tls.key": pair.key_pem});
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": "shop", "namespace": "shop"}, "stringData": data})
        .to_string()
}

/// `dbg` with these arguments, of the running controller.
fn dbg(bed: &Bed, program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).arg("--work-dir").arg(bed.path("work")).output().unwrap()
}

/// The answer, which must be one.
fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn the_controller_runs_by_its_predecessor_s_name_and_dbg_shows_what_nginx_has() {
    let mut bed = Bed::new();
    let pair = mk_certificate(&["shop.example.com"]).unwrap();
    bed.write("shop.yaml", SHOP);
    bed.write("secret.json", &secret(&pair));
    let mut command = Command::new(bed.called("nginx-ingress-controller"));
    command.args(bed.flags());
    bed.start_command(command).await;
    let program = bed.called("dbg");

    assert_eq!(text(&dbg(&bed, &program, &["backends", "list"])), "shop-next-80\nshop-web-80\nupstream-default-backend\n");
    let all: Value = serde_json::from_str(&text(&dbg(&bed, &program, &["backends", "all", "--status-port=10246"]))).unwrap();
    let web: Value = serde_json::from_str(&text(&dbg(&bed, &program, &["backends", "get", "shop-web-80"]))).unwrap();
    assert_eq!(all[1], web);
    let endpoints = json!([{"address": "10.0.0.1", "port": "8080"}, {"address": "10.0.0.2", "port": "8080"}]);
    assert_eq!((&web["endpoints"], &web["port"], &web["alternativeBackends"]), (&endpoints, &json!(80), &json!(["shop-next-80"])));
    assert_eq!((&all[0]["noServer"], &all[0]["trafficShapingPolicy"]["weight"]), (&json!(true), &json!(20)));

    // The certificate of the Secret without its key, also below the name of nothing else.
    assert_eq!(text(&dbg(&bed, &program, &["certs", "get", "SHOP.example.com"])).trim(), pair.certificate_pem.trim());
    assert!(text(&dbg(&bed, &program, &["certs", "get", "_"])).starts_with("-----BEGIN CERTIFICATE-----"));
    let general: Value = serde_json::from_str(&text(&dbg(&bed, &program, &["general"]))).unwrap();
    let conf = text(&dbg(&bed, &program, &["conf"]));
    assert!(conf.contains("http {") && conf.contains(general["revision"].as_str().unwrap()), "{general:#}");
}

#[tokio::test]
async fn dbg_names_what_does_not_exist() {
    let mut bed = Bed::new();
    let program = bed.called("dbg");
    let failure = |output: Output| {
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let without = failure(dbg(&bed, &program, &["backends", "list"]));
    assert!(without.contains("no NGINX of a controller answers in the work directory"), "{without}");
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.start(&[]).await;
    let backend = failure(dbg(&bed, &program, &["backends", "get", "shop-web-81"]));
    assert!(backend.contains("no backend has the name \"shop-web-81\""), "{backend}");
    let certificate = failure(dbg(&bed, &program, &["certs", "get", "a.example.com"]));
    assert!(certificate.contains("no certificate for the host \"a.example.com\": its clients get the default one"), "{certificate}");
}

#[tokio::test]
async fn wait_shutdown_stops_the_controller_of_a_work_directory() {
    let mut bed = Bed::new();
    let hook = bed.called("wait-shutdown");
    let stop = |bed: &Bed| Command::new(&hook).arg("--work-dir").arg(bed.path("work")).output().unwrap();
    let without = stop(&bed);
    let message = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(without.status.code() == Some(1) && message.contains("no controller runs on --work-dir"), "{message}");
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.start(&[]).await;
    let master = bed.master();
    assert_eq!(stop(&bed).status.code(), Some(0));
    assert!(ngx_proc::procfs::identity(master).is_none(), "NGINX still runs");
    assert_eq!(bed.ended().await, Some(0));
}

#[tokio::test]
async fn wait_shutdown_hastens_no_controller_that_stops_already() {
    let mut bed = Bed::new();
    let program = bed.called("wait-shutdown");
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.start(&["--shutdown-grace-period=90"]).await;
    let hook = |bed: &Bed| Command::new(&program).arg("--work-dir").arg(bed.path("work")).spawn().unwrap();
    // By the hook itself first, as when the kubelet runs it again.
    let mut first = hook(&bed);
    bed.says("signal=\"SIGUSR1\"").await;
    let mut second = hook(&bed);
    bed.says("stops already: this signal hastens nothing").await;
    // The grace period goes on, in which everything is served.
    assert_eq!(bed.target("a.example.com").await.unwrap(), "https://one.example.com");
    assert!(first.try_wait().unwrap().is_none() && second.try_wait().unwrap().is_none());
    // The kubelet's own signal, which counts as the second one.
    bed.signal(Signal::SIGTERM);
    assert_eq!(bed.ended().await, Some(0));
    assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
}

#[tokio::test]
async fn wait_shutdown_after_sigterm_waits_for_the_end_of_open_requests() {
    let mut bed = Bed::new();
    let program = bed.called("wait-shutdown");
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.start(&["--drain-timeout=90"]).await;
    // A request whose head is not complete yet.
    let mut open = TcpStream::connect(bed.http()).unwrap();
    open.write_all(b"GET / HTTP/1.1\r\nHost: a.example.com\r\n").unwrap();
    bed.signal(Signal::SIGTERM);
    bed.says("nginx finishes its open requests").await;
    let mut hook = Command::new(&program).arg("--work-dir").arg(bed.path("work")).spawn().unwrap();
    bed.says("stops already: this signal hastens nothing").await;
    open.write_all(b"\r\n").unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("https://one.example.com"), "{answer:?}\n{}", bed.log());
    assert_eq!(bed.ended().await, Some(0));
    assert!(hook.wait().unwrap().success());
}

/// Runs a script as the first process of a container, in which it sees no process of others.
fn contained(bed: &Bed, script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]);
    command.env("CONTROLLER", bed.called("nginx-ingress-controller")).env("HOOK", bed.called("wait-shutdown"));
    command.env("FLAGS", bed.flags().join(" ")).env("GO", bed.path("go")).env("RESULT", bed.path("result"));
    nix::unistd::mkfifo(&bed.path("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    command
}

/// Starts it, lets the hook run, and waits for the end: the exit code.
async fn hooked(bed: &mut Bed, script: &str) -> Option<i32> {
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    let command = contained(bed, script);
    bed.start_command(command).await;
    fs::write(bed.path("go"), "\n").unwrap();
    let code = bed.ended().await;
    assert!(TcpStream::connect(bed.http()).is_err(), "NGINX still runs\n{}", bed.log());
    code
}

#[tokio::test]
async fn wait_shutdown_finds_a_controller_that_is_the_first_process() {
    let mut bed = Bed::new();
    let code = hooked(&mut bed, "(read go <$GO; exec $HOOK) & exec $CONTROLLER $FLAGS").await;
    assert_eq!(code, Some(0), "{}", bed.log());
}

#[tokio::test]
async fn wait_shutdown_finds_a_controller_below_a_wrapper_and_returns_when_it_has_ended() {
    let mut bed = Bed::new();
    let script = "$CONTROLLER $FLAGS & controller=$!; read go <$GO; $HOOK; hook=$?; \
        ended=$(cut -d ' ' -f 3 /proc/$controller/stat || echo Z); wait $controller; echo hook $hook, $ended, controller $? >$RESULT; \
        $HOOK; exit $?";
    let second = hooked(&mut bed, script).await;
    assert_eq!(fs::read_to_string(bed.path("result")).unwrap(), "hook 0, Z, controller 0\n", "{}", bed.log());
    assert_eq!(second, Some(1), "{}", bed.log());
    assert!(bed.log().contains("no controller runs in this container"), "{}", bed.log());
}
