//! Ten thousand hosts in a directory, and a controller with a console that serves them.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use e2e::Controller;
use serde_json::json;
use testkit::http::Request;
use testkit::kube::{PathType, mk_certificate, mk_ingress, mk_ingress_class, mk_service, mk_slice, mk_tls_secret};
use testkit::poll;
use testkit::ports::Ports;

/// Hosts, each with an Ingress.
pub(super) const HOSTS: usize = 10_000;
/// Ingresses of a namespace.
const PER_NAMESPACE: usize = 250;
/// Every so many hosts one has an annotation that is unusable.
const WRONG_EVERY: usize = 500;
/// Every so many hosts one has a certificate.
const TLS_EVERY: usize = 50;

/// Longest time until all are served.
const READING: Duration = Duration::from_secs(120);

/// A controller, what it reads, and where its console is.
pub(super) struct World {
    pub(super) controller: Controller,
    pub(super) console: SocketAddr,
    directory: tempfile::TempDir,
}

/// The name of a host.
pub(super) fn host(number: usize) -> String {
    format!("shop-{number:05}.{}.example.com", namespace(number))
}

/// Its namespace.
pub(super) fn namespace(number: usize) -> String {
    format!("team-{:02}", number / PER_NAMESPACE)
}

impl World {
    /// Writes the directory and starts the controller.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("manifests-").tempdir()?;
        std::fs::write(directory.path().join("class.yaml"), json!(mk_ingress_class("nginx", "k8s.io/ingress-nginx")).to_string())?;
        let console = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
        let flags = [
            format!("--manifests={}", directory.path().display()),
            format!("--console-port={}", console.port()),
            "--enable-metrics".to_owned(),
        ];
        let controller = Controller::launch(flags.into(), Vec::new(), None, None).await?;
        for first in (0..HOSTS).step_by(PER_NAMESPACE) {
            write(&file(directory.path(), &namespace(first)), first)?;
        }
        let world = Self { controller, console, directory };
        world.serves_all().await?;
        Ok(world)
    }

    /// Waits until all hosts are served: a build without optimisation takes its time to read them.
    pub(super) async fn serves_all(&self) -> anyhow::Result<()> {
        poll(READING, || async {
            let answer = Request::get(self.console, "/api/v1/now").host("localhost").send().await?;
            let now: serde_json::Value = serde_json::from_slice(&answer.body)?;
            let hosts = now["counts"]["hosts"].as_u64().unwrap_or_default();
            ensure!(now["ready"] == true && hosts > HOSTS as u64, "{hosts} hosts are served");
            Ok(())
        })
        .await
    }

    /// The address of a view.
    pub(super) fn url(&self, hash: &str) -> String {
        format!("http://{}/#/{hash}", self.console)
    }

    /// Gives the backend of a namespace other endpoints: a change that needs no reload.
    pub(super) fn scale(&self, namespace: &str, endpoints: u8) -> anyhow::Result<()> {
        let addresses: Vec<SocketAddr> = (1..=endpoints).map(|last| (Ipv4Addr::new(192, 0, 2, last), 8080).into()).collect();
        let mut slice = json!(mk_slice("shop", "shop", &addresses));
        slice["metadata"]["namespace"] = namespace.into();
        Ok(std::fs::write(self.directory.path().join(format!("{namespace}-endpoints.yaml")), slice.to_string())?)
    }
}

fn file(directory: &Path, namespace: &str) -> PathBuf {
    directory.join(format!("{namespace}.yaml"))
}

/// A namespace: its Service and all its Ingresses.
fn write(path: &Path, first: usize) -> anyhow::Result<()> {
    let namespace = namespace(first);
    let mut objects = Vec::new();
    let mut push = |mut object: serde_json::Value| {
        object["metadata"]["namespace"] = namespace.as_str().into();
        objects.push(object);
    };
    push(json!(mk_service("shop", 80, 8080, Some("shop"))));
    for number in first..first + PER_NAMESPACE {
        let (host, name) = (host(number), format!("shop-{number:05}"));
        let mut ingress = mk_ingress(&name).class("nginx").host(&host).path("/", PathType::Prefix, "shop", 80);
        ingress = ingress.path("/cart", PathType::Exact, "shop", 80).annotation("proxy-read-timeout", "30");
        if number % WRONG_EVERY == 3 {
            ingress = ingress.annotation("proxy-send-timeout", "<b>soon</b>");
        }
        if number % TLS_EVERY == 0 {
            let secret = format!("{name}-tls");
            push(json!(mk_tls_secret(&secret, &mk_certificate(&[&host])?)));
            ingress = ingress.tls(&host, &secret);
        }
        push(json!(ingress.build()));
    }
    let mut text = String::new();
    for object in objects {
        writeln!(text, "---\n{object}")?;
    }
    Ok(std::fs::write(path, text)?)
}
