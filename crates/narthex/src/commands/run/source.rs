//! The source that the flags ask for, behind one shape.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cluster::{
    AddressSource, Election, ElectionHandle, ElectionOptions, EventSender, EventWriter, EventWriterOptions, StatusHandle, StatusOptions,
    StatusWriter,
};
use controller::{Addresses, Reporter, Tasks};
use imbl::{OrdMap, OrdSet};
use model::options::PemPair;
use model::{BuildOptions, ObjectKey, ObjectRef, Problem, Snapshot};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::args::RunArgs;
use crate::commands::pod::pod;

/// A started source.
pub(super) struct Source {
    pub(super) snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    pub(super) addresses: Arc<dyn Addresses>,
    pub(super) report: Arc<dyn Reporter>,
    /// For who wants everything read again.
    pub(super) again: Again,
    /// How the watching of a cluster goes.
    pub(super) feeds: Option<watch::Receiver<cluster::SourceStatus>>,
    /// What writes the status of Ingresses, where that is done.
    pub(super) status: Option<Status>,
}

/// How a source is read again.
#[derive(Clone)]
pub(super) enum Again {
    /// Every file of a directory.
    Directory(Arc<manifests::SourceHandle>),
    /// A cluster tells of changes by itself.
    Cluster,
}

impl Again {
    /// SIGHUP.
    pub(super) fn hang_up(&self) {
        match self {
            Self::Directory(handle) => {
                info!("SIGHUP: every manifest is read again");
                handle.reload();
            }
            Self::Cluster => {
                info!("SIGHUP: nothing to read again, the API server tells of every change; POST /reload (--listen) reloads NGINX")
            }
        }
    }

    /// Reads again and waits for the snapshot: what is wrong with what was read, for people.
    pub(super) async fn reread(&self) -> Vec<String> {
        match self {
            Self::Directory(handle) => match handle.reread().await {
                Some(loaded) => loaded.problems().iter().map(ToString::to_string).collect(),
                None => vec!["the manifest directory could never be read".to_owned()],
            },
            Self::Cluster => Vec::new(),
        }
    }
}

/// The status of Ingresses: who writes, and the writing. Both end when it is dropped.
pub(super) struct Status {
    lease: ObjectKey,
    election: ElectionHandle,
    writer: StatusHandle,
}

/// What is known of our Lease.
pub(super) struct LeaseView {
    name: ObjectKey,
    leader: watch::Receiver<bool>,
    trouble: watch::Receiver<Option<String>>,
}

impl LeaseView {
    /// As the inspection API has it.
    pub(super) fn show(&self) -> inspect::Lease {
        inspect::Lease { name: self.name.to_string(), leads: *self.leader.borrow(), trouble: self.trouble.borrow().clone() }
    }
}

impl Status {
    /// Whether we are the replica that writes.
    pub(super) fn leader(&self) -> watch::Receiver<bool> {
        self.election.leader.clone()
    }

    /// The Lease that decides it.
    pub(super) fn lease(&self) -> LeaseView {
        LeaseView { name: self.lease.clone(), leader: self.election.leader.clone(), trouble: self.election.trouble.clone() }
    }

    /// Stops writing and lets another replica take over at once.
    pub(super) async fn stop(self) {
        self.writer.stop().await;
        self.election.stop().await;
    }
}

/// The settings, and the client if there is a cluster: our zone is asked of it.
pub(super) async fn settings(args: &RunArgs, fallback: PemPair) -> anyhow::Result<(BuildOptions, Option<cluster::Client>)> {
    if args.source.manifests.is_some() {
        return Ok((crate::offline::of_directory(args.model.settings(fallback, None)?), None));
    }
    let client = cluster::connect(&args.source.api.connect_options()).await?;
    let zone = match pod() {
        Some(pod) if args.model.enable_topology_aware_routing => cluster::zone(client.clone(), &pod.namespace, &pod.name).await,
        _ => None,
    };
    if args.model.enable_topology_aware_routing && zone.is_none() {
        warn!("the zone of this node is not known (POD_NAME, POD_NAMESPACE, the node's label): topology hints are not followed");
    }
    let mut settings = args.model.settings(fallback, zone)?;
    settings.local.own = nginx_watch::own_addresses();
    settings.local.control_ports =
        super::operators_ports(args).into_iter().map(|(port, _)| port).chain(settings.passthrough_port).collect();
    Ok((settings, Some(client)))
}

/// Starts watching.
pub(super) async fn start(
    args: &RunArgs,
    settings: Arc<BuildOptions>,
    client: Option<cluster::Client>,
    tasks: &mut Tasks,
) -> anyhow::Result<Source> {
    match (client, &args.source.manifests) {
        (Some(client), _) => start_cluster(args, settings, client, tasks),
        (None, Some(dir)) => start_directory(args, dir, tasks),
        (None, None) => unreachable!("without a directory there is a client"),
    }
}

fn start_directory(args: &RunArgs, dir: &Path, tasks: &mut Tasks) -> anyhow::Result<Source> {
    if !dir.is_dir() {
        bail!("--manifests {}: not a directory", dir.display());
    }
    let poll_interval = Duration::from_secs(args.source.manifests_poll_interval.max(1));
    let options =
        manifests::SourceOptions { poll_interval, force_polling: args.source.manifests_poll, ..manifests::SourceOptions::new(dir) };
    let handle = Arc::new(manifests::DirectorySource::spawn(options, tasks));
    Ok(Source {
        snapshots: handle.snapshots.clone(),
        again: Again::Directory(handle.clone()),
        addresses: Arc::new(DirectoryAddresses(handle)),
        report: Arc::new(Silent),
        feeds: None,
        status: None,
    })
}

fn start_cluster(args: &RunArgs, settings: Arc<BuildOptions>, client: cluster::Client, tasks: &mut Tasks) -> anyhow::Result<Source> {
    let handle = cluster::ClusterSource::spawn(client.clone(), cluster::SourceOptions::new(settings), tasks);
    let pod = pod();
    let instance = pod.as_ref().map_or_else(|| format!("narthex-{}", std::process::id()), |pod| pod.name.to_string());
    let (owned_tx, owned) = watch::channel(OrdSet::new());
    let synced = (!args.disable_sync_events).then(|| owned.clone());
    let events = EventWriter::spawn(client.clone(), EventWriterOptions::new(instance.clone()), handle.snapshots.clone(), synced, tasks);
    let mut status = None;
    if let Some(addresses) = publish(args, pod.as_ref())? {
        let pod = pod.clone().unwrap_or_else(|| ObjectKey::new("default", instance.as_str()));
        let election = ElectionOptions {
            lease: ObjectKey::new(pod.namespace.clone(), args.status.election_id.as_str()),
            identity: pod.name.to_string(),
            ttl: args.status.election_ttl,
        };
        let lease = election.lease.clone();
        let election = Election::spawn(client.clone(), election, tasks);
        let options = StatusOptions {
            addresses,
            lease: lease.clone(),
            interval: args.status.interval(),
            pod,
            clear_on_shutdown: args.status.update_status_on_shutdown,
            retry: cluster::Retry::default(),
        };
        let writer = StatusWriter::spawn(client, options, owned, &handle, election.leader.clone(), tasks);
        status = Some(Status { lease, election, writer });
    }
    Ok(Source {
        snapshots: handle.snapshots.clone(),
        feeds: Some(handle.status.clone()),
        addresses: Arc::new(ClusterAddresses(handle)),
        report: Arc::new(ClusterReport { events, owned: owned_tx, pod }),
        again: Again::Cluster,
        status,
    })
}

/// Where the addresses for the status of Ingresses come from; `None` to write none.
fn publish(args: &RunArgs, pod: Option<&ObjectKey>) -> anyhow::Result<Option<AddressSource>> {
    let status = &args.status;
    let (addresses, service) = status.published()?;
    if !status.update_status {
        return Ok(None);
    }
    if status.disable_leader_election {
        info!("--disable-leader-election: the status of Ingresses is not written, since it is the leader that does it");
        return Ok(None);
    }
    if let Some(text) = addresses {
        return Ok(Some(AddressSource::Fixed(cluster::parse_addresses(text).context("--publish-status-address")?)));
    }
    if let Some(service) = service {
        return Ok(Some(AddressSource::Service(service)));
    }
    // Without a Pod of our own there are no nodes to publish.
    Ok(pod.map(|pod| AddressSource::Nodes { pod: pod.clone(), internal: status.report_node_internal_ip_address }))
}

struct DirectoryAddresses(Arc<manifests::SourceHandle>);

impl Addresses for DirectoryAddresses {
    fn set(&self, addresses: OrdMap<Arc<str>, Arc<[IpAddr]>>) {
        self.0.set_addresses(addresses);
    }
}

struct ClusterAddresses(cluster::SourceHandle);

impl Addresses for ClusterAddresses {
    fn set(&self, addresses: OrdMap<Arc<str>, Arc<[IpAddr]>>) {
        self.0.set_addresses(addresses);
    }
}

/// A directory has no Events, only the log.
struct Silent;

impl Reporter for Silent {
    fn problems(&self, _: &[Problem]) {}
    fn served(&self, _: Vec<ObjectKey>) {}
    fn reload(&self, _: Result<&str, &str>) {}
}

/// Events, and the set of Ingresses whose status is ours to write.
struct ClusterReport {
    events: EventSender,
    owned: watch::Sender<OrdSet<ObjectKey>>,
    pod: Option<ObjectKey>,
}

impl Reporter for ClusterReport {
    fn problems(&self, problems: &[Problem]) {
        self.events.problems(problems.to_vec());
    }

    fn served(&self, ingresses: Vec<ObjectKey>) {
        self.owned.send_replace(ingresses.into_iter().collect());
    }

    fn reload(&self, outcome: Result<&str, &str>) {
        let Some(pod) = &self.pod else { return };
        let pod = ObjectRef::namespaced("Pod", pod);
        match outcome {
            Ok(why) => self.events.normal(pod, "RELOAD", format!("NGINX reloaded: {why}")),
            Err(why) => self.events.warning(pod, "RELOAD", format!("NGINX was not reloaded: {why}")),
        }
    }
}
