//! A kubelet: Pods of the built image run as containers, every other Pod is an echo server on an address of its own.
//!
//! It makes Nodes and binds the Pods that want the default scheduler.
//!
//! **Containers** ([`Image`], `crun`): where [`IMAGE_ENV`] names the unpacked image of `make image`, Pods with an image of one of its names
//! (`narthex`, `ingress-nginx/controller`, of any registry and version) are run from it. Each has a network namespace with its address; its
//! containers have their command, environment, user, capabilities, root, volumes and token, their probes decide its status, and they end as
//! in any cluster: preStop hook, SIGTERM, SIGKILL after the grace period. They are started again when they end. Below `pods` in the bed's
//! directory is one for each Pod (`<namespace>_<name>_<uid>/<container>`), with a log for each start (`0.log`) and the first process (`pid`).
//! Without: control groups, seccomp profiles, init containers, later changes of mounted Secrets and ConfigMaps.
//!
//! **Echo servers**: it really listens on each container port (8080 if there is none), reports status and readiness, and ends Pods as a
//! kubelet does: while a Pod terminates it serves on and stays ready in its status, so that its endpoint is `serving` and `terminating`; then
//! the listener closes, open requests end, and the Pod is deleted for good. A Pod that is not to be restarted, as those of Jobs, has
//! succeeded at once.
//!
//! Annotations of a Pod change that:
//!
//! | annotation | effect | default |
//! |---|---|---|
//! | `echo.narthex.dev/format` | `text` or `json` | `text` |
//! | `echo.narthex.dev/service` | service name in the answers | label `app` |
//! | `echo.narthex.dev/ready-after-ms` | not ready before | 0 |
//! | `echo.narthex.dev/ready` | `false`: not ready; can be changed while it runs | `true` |
//! | `echo.narthex.dev/grace-ms` | how long it serves on when it is deleted | its grace period, at most 1000 |
//! | `echo.narthex.dev/unready-on-termination` | `true`: not ready from the deletion on | `false` |
//! | `echo.narthex.dev/evict` | `true`: its containers are killed, and it has failed for want of memory | `false` |

mod addresses;
mod binding;
mod container;
mod containers;
mod environment;
mod image;
mod network;
mod options;
mod pod;
mod report;
mod status;
mod volumes;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

pub use addresses::Addresses;
pub use image::{IMAGE_ENV, Image};

/// Requests to the API server that are open at once.
const REQUESTS: usize = 64;
/// Wait after a failed request or watch.
const RETRY: Duration = Duration::from_millis(200);

/// The options of a kubelet.
#[derive(Debug, Clone)]
pub struct Config {
    /// Number of the control plane, for the addresses of its Nodes.
    pub cluster: u8,
    /// Number of Nodes, named `node-1` and so on; at least 1.
    pub nodes: u8,
    /// The source of Pods' addresses.
    pub addresses: Arc<Addresses>,
    /// Directory for the files of Pods with containers.
    pub pods: PathBuf,
    /// The image of Pods with containers; without it there are none.
    pub image: Option<Arc<Image>>,
}

/// The common parts of all Pods' tasks.
struct Ctx {
    client: Client,
    config: Config,
    requests: Semaphore,
}

/// Makes the Nodes, then follows Pods in a task of `tasks`.
///
/// # Errors
/// The API server refuses the Nodes.
pub async fn start(client: Client, config: Config, tasks: &mut JoinSet<()>) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    for number in 1..=config.nodes.max(1) {
        let node = status::node(config.cluster, number);
        let name = node.name_any();
        nodes.create(&PostParams::default(), &node).await.with_context(|| format!("Node {name}"))?;
        nodes.patch_status(&name, &PatchParams::default(), &Patch::Merge(&node)).await.with_context(|| format!("status of Node {name}"))?;
    }
    tasks.spawn(follow(Arc::new(Ctx { client, config, requests: Semaphore::new(REQUESTS) })));
    Ok(())
}

/// Pods by uid: a Pod that is deleted and made again under the same name is another one.
type Running = HashMap<String, watch::Sender<Pod>>;

async fn follow(ctx: Arc<Ctx>) {
    let mut running = Running::new();
    let mut listed = HashSet::new();
    let mut pods = JoinSet::new();
    let api: Api<Pod> = Api::all(ctx.client.clone());
    let mut events = pin!(watcher::watcher(api, watcher::Config::default()).backoff(Steady));
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Ok(Event::Apply(pod))) => apply(&ctx, &mut running, &mut pods, pod),
                Some(Ok(Event::Delete(pod))) => drop(running.remove(&pod.uid().unwrap_or_default())),
                Some(Ok(Event::Init)) => listed.clear(),
                Some(Ok(Event::InitApply(pod))) => {
                    listed.insert(pod.uid().unwrap_or_default());
                    apply(&ctx, &mut running, &mut pods, pod);
                }
                Some(Ok(Event::InitDone)) => running.retain(|uid, _| listed.contains(uid)),
                Some(Err(error)) => tracing::warn!(%error, "watch of Pods"),
                None => return,
            },
            Some(ended) = pods.join_next() => if let Err(error) = ended {
                tracing::error!(%error, "the task of a Pod panicked");
            },
        }
    }
}

fn apply(ctx: &Arc<Ctx>, running: &mut Running, pods: &mut JoinSet<()>, pod: Pod) {
    let uid = pod.uid().unwrap_or_default();
    if let Some(sender) = running.get(&uid) {
        sender.send_replace(pod);
    } else if pod::is_ours(&pod) {
        let (sender, receiver) = watch::channel(pod);
        running.insert(uid, sender);
        pods.spawn(pod::run(Arc::clone(ctx), receiver));
    }
}

/// The same short wait after every failure: tests restart API servers and don't want to wait for a kubelet.
struct Steady;

impl Iterator for Steady {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(RETRY)
    }
}

impl Backoff for Steady {
    fn reset(&mut self) {}
}
