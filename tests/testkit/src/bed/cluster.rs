//! One control plane: etcd, API server, controller manager, fake kubelet.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use kube::Api;
use nix::sys::signal::Signal;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::pki::Pki;
use super::process::{Process, Spec};
use super::{API_SERVER_TIMEOUT, ClusterInfo, SIGN_OF_LIFE, SignOfLife};
use crate::kubelet::{self, Addresses, Image};

/// Members of system:masters sign in with it.
const TOKEN: &str = "narthex-test-bed-administrator";
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// The controllers that tests need: Deployments, Jobs, EndpointSlices, accounts, namespaces that go away.
const CONTROLLERS: [&str; 10] = [
    "deployment-controller",
    "job-controller",
    "replicaset-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "root-ca-certificate-publisher-controller",
];

/// The parts that a new control plane shares with the others of its sandbox.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    /// Directory of the four programs.
    pub(super) binaries: PathBuf,
    /// Addresses of Pods.
    pub(super) addresses: Arc<Addresses>,
    /// Number of Nodes of each.
    pub(super) nodes: u8,
    /// The image of Pods with containers.
    pub(super) image: Option<Arc<Image>>,
}

/// A running control plane. Dropping it kills it.
pub(super) struct Cluster {
    info: ClusterInfo,
    client: kube::Client,
    api_server_spec: Spec,
    api_server: Mutex<Option<Process>>,
    etcd: Process,
    controllers: Process,
    _kubelet: JoinSet<()>,
}

impl Cluster {
    /// Starts number `id` with its files in `dir` and this program as its API server, and waits until its controllers work.
    ///
    /// # Errors
    /// A process doesn't start or doesn't become ready; the error holds the end of its log.
    pub(super) async fn start(id: u8, dir: &Path, shared: &Shared, api_server: &str) -> anyhow::Result<Self> {
        let address = Ipv4Addr::new(10, 77, 0, id);
        let logs = dir.join("logs");
        std::fs::create_dir_all(&logs).with_context(|| format!("directory {}", logs.display()))?;
        let pki = Pki::generate(&dir.join("pki"), address).context("certificates of the bed")?;
        let info = ClusterInfo {
            id,
            server: format!("https://{address}:6443"),
            kubeconfig: dir.join("kubeconfig"),
            ca: pki.ca.clone(),
            token: TOKEN.to_owned(),
            binaries: shared.binaries.clone(),
            audit_log: logs.join("audit.log"),
            logs,
            pods: dir.join("pods"),
            pids: BTreeMap::new(),
        };
        write_kubeconfig(&info)?;
        let tokens = dir.join("tokens.csv");
        std::fs::write(&tokens, format!("{TOKEN},admin,admin,system:masters\n")).with_context(|| format!("file {}", tokens.display()))?;
        let spec =
            |name: &str, args: Vec<String>| Spec { program: shared.binaries.join(name), args, log: info.logs.join(format!("{name}.log")) };

        let mut etcd = spec("etcd", etcd_args(dir, address)).start()?;
        wait_for_port(&mut etcd, address, 2379).await?;
        let api_server_spec = spec(api_server, api_server_args(&info, dir, &pki, &tokens)?);
        let mut api_server = api_server_spec.start()?;
        let client = crate::kube::client(&info.kubeconfig).await?;
        wait_until_ready(&mut api_server, &client).await?;
        let mut controllers = spec("kube-controller-manager", controllers_args(&info, &pki)).start()?;
        let mut kubelet = JoinSet::new();
        let config = kubelet::Config {
            cluster: id,
            nodes: shared.nodes,
            addresses: Arc::clone(&shared.addresses),
            pods: info.pods.clone(),
            image: shared.image.clone(),
        };
        kubelet::start(client.clone(), config, &mut kubelet).await?;
        wait_for_controllers(&mut controllers, &client).await?;

        let mut cluster =
            Self { info, client, api_server_spec, api_server: Mutex::new(Some(api_server)), etcd, controllers, _kubelet: kubelet };
        cluster.info.pids = cluster.pids().await;
        Ok(cluster)
    }

    pub(super) fn info(&self) -> &ClusterInfo {
        &self.info
    }

    pub(super) fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Ends the API server with SIGTERM, or at once.
    pub(super) async fn end_api_server(&self, at_once: bool) -> anyhow::Result<()> {
        let (signal, grace) = if at_once { (Signal::SIGKILL, API_SERVER_TIMEOUT) } else { (Signal::SIGTERM, API_SERVER_TIMEOUT / 2) };
        match self.api_server.lock().await.take() {
            Some(process) => process.end(signal, grace).await,
            None => Ok(()),
        }
    }

    /// Starts the API server unless it runs, and waits until it is ready.
    pub(super) async fn start_api_server(&self) -> anyhow::Result<()> {
        let mut slot = self.api_server.lock().await;
        let process = match &mut *slot {
            Some(process) => process,
            empty => empty.insert(self.api_server_spec.start()?),
        };
        wait_until_ready(process, &self.client).await
    }

    /// Sends a signal to the API server.
    pub(super) async fn signal_api_server(&self, signal: Signal) -> anyhow::Result<()> {
        self.api_server.lock().await.as_ref().context("the API server does not run")?.signal(signal)
    }

    /// Kills all of it and waits until its addresses are free.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        self.end_api_server(true).await?;
        self.controllers.end(Signal::SIGKILL, API_SERVER_TIMEOUT).await?;
        self.etcd.end(Signal::SIGKILL, API_SERVER_TIMEOUT).await
    }

    async fn pids(&self) -> BTreeMap<String, u32> {
        let api_server = self.api_server.lock().await.as_ref().and_then(Process::pid);
        let pids = [("etcd", self.etcd.pid()), ("kube-apiserver", api_server), ("kube-controller-manager", self.controllers.pid())];
        pids.into_iter().filter_map(|(name, pid)| Some((name.to_owned(), pid?))).collect()
    }
}

fn etcd_args(dir: &Path, address: Ipv4Addr) -> Vec<String> {
    vec![
        "--name=bed".into(),
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls=http://{address}:2379"),
        format!("--advertise-client-urls=http://{address}:2379"),
        format!("--listen-peer-urls=http://{address}:2380"),
        format!("--initial-advertise-peer-urls=http://{address}:2380"),
        format!("--initial-cluster=bed=http://{address}:2380"),
        "--unsafe-no-fsync".into(),
        // A single member elects itself: the shorter the timeout, the sooner.
        "--heartbeat-interval=10".into(),
        "--election-timeout=50".into(),
        "--quota-backend-bytes=4294967296".into(),
        "--log-level=warn".into(),
    ]
}

fn api_server_args(info: &ClusterInfo, dir: &Path, pki: &Pki, tokens: &Path) -> anyhow::Result<Vec<String>> {
    let address = Ipv4Addr::new(10, 77, 0, info.id);
    let policy = dir.join("audit-policy.json");
    std::fs::write(&policy, audit_policy().to_string()).with_context(|| format!("file {}", policy.display()))?;
    Ok(vec![
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", info.audit_log.display()),
        format!("--etcd-servers=http://{address}:2379"),
        format!("--bind-address={address}"),
        format!("--advertise-address={address}"),
        "--secure-port=6443".into(),
        format!("--tls-cert-file={}", pki.certificate.display()),
        format!("--tls-private-key-file={}", pki.key.display()),
        format!("--cert-dir={}", dir.join("pki").display()),
        format!("--token-auth-file={}", tokens.display()),
        "--anonymous-auth=false".into(),
        "--authorization-mode=RBAC".into(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        format!("--service-account-key-file={}", pki.account_public_key.display()),
        format!("--service-account-signing-key-file={}", pki.account_key.display()),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--allow-privileged=true".into(),
        // Pods are created without waiting for their namespace's account: nothing runs in them that would use it.
        "--disable-admission-plugins=ServiceAccount".into(),
        "--enable-priority-and-fairness=false".into(),
        // A stop ends watches and takes two seconds instead of a minute.
        "--shutdown-watch-termination-grace-period=1s".into(),
        "--shutdown-send-retry-after=true".into(),
        "--max-requests-inflight=4000".into(),
        "--max-mutating-requests-inflight=2000".into(),
        "--profiling=false".into(),
    ])
}

/// What ServiceAccounts ask for, without content; the administrators of tests are left out.
fn audit_policy() -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
    })
}

fn controllers_args(info: &ClusterInfo, pki: &Pki) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", info.kubeconfig.display()),
        format!("--controllers={}", CONTROLLERS.join(",")),
        format!("--service-account-private-key-file={}", pki.account_key.display()),
        format!("--root-ca-file={}", pki.ca.display()),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--kube-api-qps=5000".into(),
        "--kube-api-burst=10000".into(),
        "--concurrent-deployment-syncs=20".into(),
        "--concurrent-replicaset-syncs=20".into(),
        "--concurrent-service-endpoint-syncs=20".into(),
        "--concurrent-namespace-syncs=10".into(),
        "--profiling=false".into(),
    ]
}

/// The administrator's kubeconfig; JSON is YAML.
fn write_kubeconfig(info: &ClusterInfo) -> anyhow::Result<()> {
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bed", "cluster": {"server": info.server, "certificate-authority": info.ca}}],
        "users": [{"name": "admin", "user": {"token": info.token}}],
        "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": "admin"}}],
        "current-context": "bed",
    });
    std::fs::write(&info.kubeconfig, format!("{config:#}\n")).with_context(|| format!("file {}", info.kubeconfig.display()))
}

async fn wait_for_port(process: &mut Process, address: Ipv4Addr, port: u16) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + STARTUP_TIMEOUT;
    while let Err(error) = tokio::net::TcpStream::connect((address, port)).await {
        process.check()?;
        anyhow::ensure!(tokio::time::Instant::now() < deadline, "nothing listens on {address}:{port} after {STARTUP_TIMEOUT:?}: {error}");
        tokio::time::sleep(ASK_AGAIN / 5).await;
    }
    Ok(())
}

async fn wait_until_ready(process: &mut Process, client: &kube::Client) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + STARTUP_TIMEOUT;
    let ask = || async {
        let request = hyper::Request::get("/readyz").body(Vec::new()).context("a constant request")?;
        let answer = tokio::time::timeout(Duration::from_secs(2), client.request_text(request)).await;
        anyhow::Ok(answer.context("no answer within 2 s")??)
    };
    while let Err(error) = ask().await {
        process.check()?;
        anyhow::ensure!(tokio::time::Instant::now() < deadline, "the API server is not ready after {STARTUP_TIMEOUT:?}: {error:#}");
        tokio::time::sleep(ASK_AGAIN).await;
    }
    Ok(())
}

async fn wait_for_controllers(process: &mut Process, client: &kube::Client) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + STARTUP_TIMEOUT;
    let (namespace, name) = SIGN_OF_LIFE;
    let api: Api<SignOfLife> = Api::namespaced(client.clone(), namespace);
    while api.get_opt(name).await.with_context(|| format!("ConfigMap {namespace}/{name}"))?.is_none() {
        process.check()?;
        anyhow::ensure!(tokio::time::Instant::now() < deadline, "no ConfigMap {namespace}/{name} after {STARTUP_TIMEOUT:?}");
        tokio::time::sleep(ASK_AGAIN).await;
    }
    Ok(())
}
