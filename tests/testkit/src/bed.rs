//! A real control plane for tests, in namespaces of its own.
//!
//! The binary `bed` runs a command inside: `bed` (outside) → `init` (process 1 of new user, network, mount and process namespaces) →
//! `supervise` (owns the control plane, the fake kubelet, the DNS server and a control socket) and the command beside it. When the command
//! ends, or any of the first three dies in whatever way, the kernel ends all the others with the process namespace.
//!
//! Inside, every address of 10.77.0.0/16 is local:
//!
//! | address | what |
//! |---|---|
//! | 10.77.0.1 | the API server of the bed (6443) and its etcd (2379, 2380) |
//! | 10.77.0.10 | DNS |
//! | 10.77.0.20–99 | API servers of private beds |
//! | 10.77.1.x | Nodes |
//! | 10.77.16.0–10.77.63.255 | Pods |
//! | 10.77.64.0–10.77.183.255 | what tests start: [`crate::ports::addresses`] |
//!
//! So is every cluster IP (10.96.0.0/16): there is no kube-proxy, but a test can listen on the one of its Service.
//!
//! Tests take the bed by [`Bed::from_env`]; one that has to break the API server takes [`Bed::start_private`].

mod cluster;
mod control;
mod exec;
mod init;
mod pki;
mod process;
mod sandbox;
mod supervisor;
mod terms;

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::{Deserialize, Serialize};

pub use exec::exec;
pub use init::{Init, init};
pub use sandbox::{Enter, enter};
pub use supervisor::{Supervise, supervise};

use crate::dns;
use crate::http::Request;
use crate::kube::Namespace;

/// The address of the bed's DNS server, port 53.
pub const DNS_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 10);
/// Environment variable that names the bed's directory.
pub const BED_ENV: &str = "NARTHEX_BED";
/// In the bed's directory: what [`ClusterInfo`] says, for programs that aren't Rust.
const BED_JSON: &str = "bed.json";
const CONTROL_SOCKET: &str = "control.sock";
const ETCD_PORT: u16 = 2379;
/// The program; with a dash and a version behind it those of other versions of Kubernetes.
const API_SERVER: &str = "kube-apiserver";
/// Longest wait for the API server to start or stop.
const API_SERVER_TIMEOUT: Duration = Duration::from_secs(60);

/// The description of a control plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// Its number, the last part of its address.
    pub id: u8,
    /// URL of the API server.
    pub server: String,
    /// Kubeconfig file of an administrator.
    pub kubeconfig: PathBuf,
    /// PEM file of the authority that signed the API server's certificate.
    pub ca: PathBuf,
    /// Bearer token of the administrator.
    pub token: String,
    /// Directory with kube-apiserver, kube-controller-manager, etcd and kubectl.
    pub binaries: PathBuf,
    /// Directory of the log files.
    pub logs: PathBuf,
    /// Directory with one for each Pod that has containers; see [`crate::kubelet`].
    pub pods: PathBuf,
    /// Requests of ServiceAccounts, an event of the API server's audit log a line.
    pub audit_log: PathBuf,
    /// Processes by name, as they were when it became ready.
    pub pids: std::collections::BTreeMap<String, u32>,
}

/// A running control plane, seen by a test.
#[derive(Debug, Clone)]
pub struct Bed {
    info: Arc<ClusterInfo>,
    socket: PathBuf,
    /// A private bed ends when this connection does: with its last clone, or with the test's process.
    _hold: Option<Arc<UnixStream>>,
}

impl Bed {
    /// The bed in which this process runs.
    ///
    /// # Errors
    /// When it runs in none: the error says how to get one.
    pub fn from_env() -> anyhow::Result<Self> {
        let dir = std::env::var_os(BED_ENV).with_context(|| format!("{BED_ENV} is not set: run this as `bed run -- COMMAND`"))?;
        let dir = PathBuf::from(dir);
        let path = dir.join(BED_JSON);
        let text = std::fs::read(&path).with_context(|| format!("bed file {}", path.display()))?;
        let info = serde_json::from_slice(&text).with_context(|| format!("bed file {}", path.display()))?;
        Ok(Self { info: Arc::new(info), socket: dir.join(CONTROL_SOCKET), _hold: None })
    }

    /// A control plane for the caller alone, in the same namespaces: its own etcd, API server, controllers and Nodes, on its own address.
    /// It ends when the last clone of the returned value is dropped.
    ///
    /// # Errors
    /// The process doesn't run in a bed, or the control plane doesn't start; the error holds the end of its log.
    pub async fn start_private() -> anyhow::Result<Self> {
        Self::hold("/clusters".to_owned()).await
    }

    /// The same with the API server of another version of Kubernetes, one of [`Self::versions`].
    ///
    /// # Errors
    /// As [`Self::start_private`].
    pub async fn start_version(version: &str) -> anyhow::Result<Self> {
        Self::hold(format!("/clusters/{version}")).await
    }

    /// The other versions of Kubernetes whose API servers are built (`make bed-versions`), such as `1.32`.
    ///
    /// # Errors
    /// The directory of the programs can't be read.
    pub fn versions(&self) -> anyhow::Result<Vec<String>> {
        let mut versions = Vec::new();
        for entry in std::fs::read_dir(&self.info.binaries).with_context(|| format!("directory {}", self.info.binaries.display()))? {
            let name = entry?.file_name();
            versions.extend(name.to_str().and_then(|name| name.strip_prefix(API_SERVER)?.strip_prefix('-')).map(str::to_owned));
        }
        versions.sort();
        Ok(versions)
    }

    async fn hold(target: String) -> anyhow::Result<Self> {
        let socket = Self::from_env()?.socket;
        let path = socket.clone();
        let (info, hold) = tokio::task::spawn_blocking(move || hold_private(&path, &target)).await.context("the request panicked")??;
        Ok(Self { info: Arc::new(info), socket, _hold: Some(Arc::new(hold)) })
    }

    /// Addresses, files and processes.
    pub fn info(&self) -> &ClusterInfo {
        &self.info
    }

    /// Kubeconfig file of an administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.info.kubeconfig
    }

    /// A new client of an administrator.
    ///
    /// # Errors
    /// The kubeconfig can't be read.
    pub async fn client(&self) -> anyhow::Result<::kube::Client> {
        crate::kube::client(&self.info.kubeconfig).await
    }

    /// Makes etcd forget every revision but the newest of each object.
    ///
    /// # Errors
    /// etcd refuses it or does not answer.
    pub async fn compact(&self) -> anyhow::Result<()> {
        let etcd = SocketAddr::from((Ipv4Addr::new(10, 77, 0, self.info.id), ETCD_PORT));
        let post = async |target: &str, body: serde_json::Value| {
            let request = Request::new("POST", etcd, target).host("etcd").body(body.to_string());
            let answer = request.timeout(API_SERVER_TIMEOUT).send().await?;
            anyhow::ensure!(answer.status == 200, "etcd: {target}: {} {}", answer.status, answer.text());
            Ok(serde_json::from_slice::<serde_json::Value>(&answer.body)?)
        };
        let revision = post("/v3/maintenance/status", serde_json::json!({})).await?["header"]["revision"].clone();
        post("/v3/kv/compaction", serde_json::json!({"revision": revision, "physical": true})).await.map(drop)
    }

    /// The processes of the API server.
    pub fn api_server(&self) -> ApiServer<'_> {
        ApiServer(self)
    }

    /// A namespace for the caller alone, deleted when it is dropped.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn namespace(&self, prefix: &str) -> anyhow::Result<Namespace> {
        Namespace::create(self.clone(), prefix).await
    }

    /// Makes the bed's DNS server answer `name` with these addresses. All beds of one sandbox share it.
    ///
    /// # Errors
    /// The bed doesn't answer.
    pub async fn dns_set(&self, name: &str, addresses: Vec<IpAddr>, ttl: u32) -> anyhow::Result<()> {
        let body = serde_json::to_vec(&dns::Answer { addresses, ttl }).context("addresses are always JSON")?;
        self.control("PUT", &format!("/dns/{name}"), body).await.map(drop)
    }

    /// Makes the bed's DNS server forget `name`.
    ///
    /// # Errors
    /// The bed doesn't answer.
    pub async fn dns_remove(&self, name: &str) -> anyhow::Result<()> {
        self.control("DELETE", &format!("/dns/{name}"), Vec::new()).await.map(drop)
    }

    /// Number of queries for `name` that the bed's DNS server had so far.
    ///
    /// # Errors
    /// The bed doesn't answer.
    pub async fn dns_queries(&self, name: &str) -> anyhow::Result<u64> {
        let text = self.control("GET", &format!("/dns/{name}"), Vec::new()).await?;
        text.parse().with_context(|| format!("number of queries {text:?}"))
    }

    async fn control(&self, method: &str, target: &str, body: Vec<u8>) -> anyhow::Result<String> {
        let request = Request::new(method, self.socket.clone(), target).host("bed").body(body).timeout(API_SERVER_TIMEOUT);
        let response = request.send().await?;
        anyhow::ensure!(response.status == 200, "bed: {method} {target}: {}", response.text());
        Ok(response.text())
    }

    /// Asks for a namespace's deletion without waiting, from code that can't be async.
    pub(crate) fn delete_namespace_later(&self, name: &str) -> std::io::Result<()> {
        let mut stream = UnixStream::connect(&self.socket)?;
        write!(stream, "DELETE /clusters/{}/namespaces/{name} HTTP/1.1\r\nHost: bed\r\nConnection: close\r\n\r\n", self.info.id)?;
        // The answer comes at once: the deletion goes on behind it.
        BufReader::new(stream).read_line(&mut String::new()).map(drop)
    }
}

/// Stops and starts the API server. Its address, certificates and data stay.
#[derive(Debug, Clone, Copy)]
pub struct ApiServer<'a>(&'a Bed);

impl ApiServer<'_> {
    /// Kills it: connections are cut off.
    ///
    /// # Errors
    /// The bed doesn't answer.
    pub async fn kill(&self) -> anyhow::Result<()> {
        self.ask("kill").await
    }

    /// Asks it to end and waits until it did.
    ///
    /// # Errors
    /// The bed doesn't answer.
    pub async fn stop(&self) -> anyhow::Result<()> {
        self.ask("stop").await
    }

    /// Starts it, if it doesn't run, and waits until it is ready.
    ///
    /// # Errors
    /// When it doesn't become ready; the error holds the end of its log.
    pub async fn start(&self) -> anyhow::Result<()> {
        self.ask("start").await
    }

    /// Freezes it: connections stay open and nothing is answered, until [`ApiServer::resume`].
    ///
    /// # Errors
    /// The bed doesn't answer, or it doesn't run.
    pub async fn pause(&self) -> anyhow::Result<()> {
        self.ask("pause").await
    }

    /// Goes on after [`ApiServer::pause`].
    ///
    /// # Errors
    /// The bed doesn't answer, or it doesn't run.
    pub async fn resume(&self) -> anyhow::Result<()> {
        self.ask("resume").await
    }

    async fn ask(&self, what: &str) -> anyhow::Result<()> {
        self.0.control("POST", &format!("/clusters/{}/apiserver/{what}", self.0.info.id), Vec::new()).await.map(drop)
    }
}

/// Asks for a private control plane over a connection that stays open as long as it is wanted.
fn hold_private(socket: &Path, target: &str) -> anyhow::Result<(ClusterInfo, UnixStream)> {
    let mut stream = UnixStream::connect(socket).with_context(|| format!("connect to {}", socket.display()))?;
    stream.set_read_timeout(Some(API_SERVER_TIMEOUT)).context("set a timeout")?;
    write!(stream, "POST {target} HTTP/1.1\r\nHost: bed\r\n\r\n").context("ask for a private control plane")?;
    // The body has no end; its first line is the answer.
    let mut lines = BufReader::new(stream.try_clone().context("share a connection")?).lines();
    let answer = lines.find_map(|line| line.map(|line| line.starts_with(['{', '!']).then_some(line)).transpose());
    let answer = answer.context("the bed closed the connection")?.context("the bed did not answer")?;
    if let Some(error) = answer.strip_prefix('!') {
        anyhow::bail!("private control plane: {error}");
    }
    Ok((serde_json::from_str(&answer).with_context(|| format!("answer {answer:?}"))?, stream))
}

/// The object that tells that the controllers of a new control plane work.
const SIGN_OF_LIFE: (&str, &str) = ("default", "kube-root-ca.crt");
type SignOfLife = ConfigMap;
