//! Owns all that runs in a bed beside the command.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::cluster::{Cluster, Shared};
use super::{API_SERVER, BED_JSON, CONTROL_SOCKET, DNS_ADDRESS, control, terms};
use crate::dns;
use crate::kubelet::{Addresses, Image};

/// Written to standard output when the bed can be used.
pub(super) const READY: &str = "ready";
/// Number of the bed's own control plane; private ones follow from [`FIRST_PRIVATE`].
const MAIN: u8 = 1;
const FIRST_PRIVATE: u8 = 20;
const LAST_PRIVATE: u8 = 99;

/// The options of the supervisor.
#[derive(Debug)]
pub struct Supervise {
    /// Directory of the bed.
    pub dir: PathBuf,
    /// Directory of the control plane's programs.
    pub binaries: PathBuf,
    /// Number of Nodes of each control plane.
    pub nodes: u8,
}

/// The control planes by their number. `None`: the number is taken, the control plane is starting.
pub(super) struct BedState {
    dir: PathBuf,
    shared: Shared,
    clusters: Mutex<HashMap<u8, Option<Arc<Cluster>>>>,
    pub(super) names: dns::Names,
}

/// Starts everything, tells so on standard output, and goes on until it is killed.
///
/// # Errors
/// Something doesn't start, or the DNS server or the control socket ends.
pub async fn supervise(options: Supervise) -> anyhow::Result<()> {
    let started = Instant::now();
    terms::unblock()?;
    allow_many_files()?;
    let image = Image::from_env()?.map(Arc::new);
    let shared = Shared { binaries: options.binaries, addresses: Arc::new(Addresses::new()), nodes: options.nodes, image };
    let cluster = Cluster::start(MAIN, &options.dir, &shared, API_SERVER).await?;
    let json = serde_json::to_vec_pretty(cluster.info()).context("paths are text")?;
    let file = options.dir.join(BED_JSON);
    std::fs::write(&file, json).with_context(|| format!("file {}", file.display()))?;

    let clusters = Mutex::new(HashMap::from([(MAIN, Some(Arc::new(cluster)))]));
    let state = Arc::new(BedState { dir: options.dir.clone(), shared, clusters, names: dns::Names::default() });
    let mut tasks = JoinSet::new();
    tasks.spawn(dns::serve((DNS_ADDRESS, 53).into(), state.names.clone()));
    tasks.spawn(control::serve(options.dir.join(CONTROL_SOCKET), Arc::clone(&state)).await?);
    tracing::info!(seconds = started.elapsed().as_secs_f32(), "the bed is ready");
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{READY}").and_then(|()| stdout.flush()).context("tell that the bed is ready")?;

    let ended = tasks.join_next().await.context("there are tasks")?;
    ended.context("a task of the supervisor panicked")??;
    anyhow::bail!("a task of the supervisor ended")
}

/// An echo server per Pod: a thousand descriptors are not enough.
fn allow_many_files() -> anyhow::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("limit of open files")?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).context("raise the limit of open files")
}

impl BedState {
    /// The control plane with this number.
    pub(super) async fn cluster(&self, id: u8) -> anyhow::Result<Arc<Cluster>> {
        let found = self.clusters.lock().await.get(&id).cloned().flatten();
        found.with_context(|| format!("no control plane has the number {id}"))
    }

    /// Starts another control plane with this program as its API server; it ends when the returned guard is dropped.
    pub(super) async fn start_private(self: &Arc<Self>, api_server: &str) -> anyhow::Result<Private> {
        let id = {
            let mut clusters = self.clusters.lock().await;
            let id = (FIRST_PRIVATE..=LAST_PRIVATE).find(|id| !clusters.contains_key(id)).context("all numbers are taken")?;
            clusters.insert(id, None);
            id
        };
        // From here on the guard gives the number back.
        let private = Private { id, state: Arc::clone(self) };
        let dir = self.dir.join(format!("private-{id}"));
        let cluster = Arc::new(Cluster::start(id, &dir, &self.shared, api_server).await?);
        self.clusters.lock().await.insert(id, Some(cluster));
        Ok(private)
    }
}

/// A private control plane as long as it is wanted.
pub(super) struct Private {
    pub(super) id: u8,
    state: Arc<BedState>,
}

impl Drop for Private {
    fn drop(&mut self) {
        let (id, state) = (self.id, Arc::clone(&self.state));
        tokio::spawn(async move {
            let cluster = state.clusters.lock().await.insert(id, None).flatten();
            if let Some(cluster) = cluster.and_then(Arc::into_inner)
                && let Err(error) = cluster.end().await
            {
                tracing::warn!(id, error = format!("{error:#}"), "cannot end a private control plane");
            }
            // Its log files are of use as long as the bed's directory is; its data isn't.
            let _ = tokio::fs::remove_dir_all(state.dir.join(format!("private-{id}/etcd"))).await;
            // Only now the number is free for the next one.
            state.clusters.lock().await.remove(&id);
        });
    }
}
