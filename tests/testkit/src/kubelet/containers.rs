//! The life of a Pod with containers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container as Spec, Pod, PodSpec};
use kube::ResourceExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::container::{Container, Health, Mount, Stop, Surroundings, read_only_root, specification, user};
use super::environment::{Facts, environment, expand};
use super::image::{self, Image};
use super::network::Network;
use super::pod::{Life, Request};
use super::report::{Phase, Place, Report, evicted, restarts, status};
use super::volumes::{TOKEN_DIRECTORY, TOKEN_VOLUME, Volumes};
use super::{Ctx, RETRY, binding, options};

/// Port of the API server.
const API_PORT: u16 = 6443;

/// Runs the containers of a Pod until it is deleted for good.
///
/// # Errors
/// The API server refuses a status.
pub(super) async fn run(life: &mut Life<'_>, image: &Image) -> anyhow::Result<()> {
    let pod = life.newest();
    let count = pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
    let (reports, seen) = watch::channel(vec![Report::default(); count]);
    let sandbox = Sandbox::new(life, pod)?;
    let mut running = Running { place: sandbox.place(), reports: Arc::new(reports), seen, reported: None };
    let mut network = None;
    let containers = loop {
        match sandbox.prepare(life.ctx(), image, &mut network).await {
            Ok(containers) => break containers,
            Err(error) => running.wait_for(&format!("{error:#}")),
        }
        running.report(life).await?;
        if order(&life.newest()).is_some() || life.is_closed() {
            break Vec::new();
        }
        tokio::time::sleep(RETRY).await;
    };
    running.follow(life, containers).await?;
    let pod = life.newest();
    if options::is_evicted(&pod) && pod.metadata.deletion_timestamp.is_none() {
        let reports = running.reports.borrow().clone();
        life.ask(Request::Status(evicted(&pod, &reports))).await?;
        life.deleted().await;
    }
    Ok(())
}

/// The order that a Pod's object gives: none as long as it is to run.
fn order(pod: &Pod) -> Option<Stop> {
    if pod.metadata.deletion_timestamp.is_some() {
        let seconds = pod.metadata.deletion_grace_period_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        return Some(Stop { grace: Duration::from_secs(seconds.unwrap_or(0)) });
    }
    options::is_evicted(pod).then_some(Stop { grace: Duration::ZERO })
}

/// The containers of a Pod and what is known of them.
struct Running {
    place: Place,
    reports: Arc<watch::Sender<Vec<Report>>>,
    seen: watch::Receiver<Vec<Report>>,
    reported: Option<(Vec<Report>, bool)>,
}

impl Running {
    fn wait_for(&self, what: &str) {
        let phase = Phase::Waiting { reason: "CreateContainerConfigError", message: what.to_owned() };
        self.reports.send_modify(|all| all.iter_mut().for_each(|report| report.phase = phase.clone()));
    }

    /// Writes the status if it differs from what was written.
    async fn report(&mut self, life: &mut Life<'_>) -> anyhow::Result<()> {
        let pod = life.newest();
        let now = (self.seen.borrow_and_update().clone(), pod.metadata.deletion_timestamp.is_some());
        if self.reported.as_ref() != Some(&now) && !life.is_closed() {
            life.ask(Request::Status(status(&pod, self.place, &now.0))).await?;
            self.reported = Some(now);
        }
        Ok(())
    }

    /// Until all containers have ended on order, or the Pod's object is gone: then they are killed.
    async fn follow(&mut self, life: &mut Life<'_>, containers: Vec<Container>) -> anyhow::Result<()> {
        let (stop, ordered) = watch::channel(None);
        let mut tasks = JoinSet::new();
        for (index, container) in containers.into_iter().enumerate() {
            let (reports, ordered) = (Arc::clone(&self.reports), ordered.clone());
            tasks.spawn(async move {
                let tell = |change: &dyn Fn(&mut Report)| {
                    reports.send_if_modified(|all| {
                        let before = all[index].clone();
                        change(&mut all[index]);
                        before != all[index]
                    });
                };
                if let Err(error) = container.run(ordered, tell).await {
                    let phase = Phase::Waiting { reason: "CreateContainerError", message: format!("{error:#}") };
                    reports.send_modify(|all| all[index] = Report { phase: phase.clone(), ..Report::default() });
                }
            });
        }
        loop {
            let order = order(&life.newest());
            if order.is_some() {
                stop.send_if_modified(|known| {
                    known.is_none() && {
                        *known = order;
                        true
                    }
                });
            }
            self.report(life).await?;
            if tasks.is_empty() && order.is_some() {
                return Ok(());
            }
            tokio::select! {
                open = life.changed() => if !open { return Ok(()) },
                _ = self.seen.changed() => {}
                Some(ended) = tasks.join_next() => ended.context("the task of a container panicked")?,
            }
        }
    }
}

/// A Pod's surroundings: its directory, address and Node.
struct Sandbox {
    facts: Facts,
    directory: PathBuf,
    started: Timestamp,
}

impl Sandbox {
    fn new(life: &Life<'_>, pod: Pod) -> anyhow::Result<Self> {
        let config = &life.ctx().config;
        let number = binding::node_number(&pod, config.nodes);
        let name = format!("{}_{}_{}", pod.namespace().unwrap_or_default(), pod.name_any(), pod.uid().unwrap_or_default());
        let directory = config.pods.join(name);
        fs::create_dir_all(&directory).with_context(|| format!("directory {}", directory.display()))?;
        let node = super::status::node_address(config.cluster, number);
        let facts = Facts { pod, address: life.address(), node, node_name: super::status::node_name(number) };
        Ok(Self { facts, directory, started: Timestamp::now() })
    }

    fn place(&self) -> Place {
        Place { address: self.facts.address, host: self.facts.node, started: self.started }
    }

    /// Everything that its containers need. What a volume or variable refers to may come later.
    async fn prepare(&self, ctx: &Ctx, image: &Image, network: &mut Option<Network>) -> anyhow::Result<Vec<Container>> {
        let spec = self.facts.pod.spec.as_ref().context("a Pod has a spec")?;
        ensure!(spec.init_containers.as_ref().is_none_or(Vec::is_empty), "init containers are not supported");
        let network = match network {
            Some(network) => network,
            empty => {
                let (address, node) = (self.facts.address, self.facts.node);
                let made = tokio::task::spawn_blocking(move || Network::create(address, node)).await;
                empty.insert(made.context("a blocking task panicked")??)
            }
        };
        let files = self.files(spec)?;
        let first = spec.containers.first().context("a Pod has containers")?;
        let (reader, _) = user(image, spec, first)?;
        let volumes = Volumes { client: &ctx.client, facts: &self.facts, directory: self.directory.join("volumes"), user: reader };
        let volumes = volumes.make().await?;
        let mut containers = Vec::new();
        for container in &spec.containers {
            let reference = container.image.as_deref().unwrap_or_default();
            ensure!(image::is_ours(reference), "image {reference:?} of container {} is not the built one", container.name);
            let env = environment(&ctx.client, &self.facts, container, self.given_variables(ctx, image)).await?;
            let mut mounts = files.clone();
            mounts.extend(mounts_of(container, &volumes)?);
            let around = Surroundings {
                image,
                pod: spec,
                hostname: &self.facts.pod.name_any(),
                network: &network.path(),
                arguments: arguments(image, container, &env),
                env: &env,
                mounts: &mounts,
            };
            let directory = self.directory.join(&container.name);
            fs::create_dir_all(&directory)?;
            containers.push(Container {
                directory,
                specification: specification(&around, container)?,
                layer_over: (!read_only_root(container)).then(|| image.root.clone()),
                health: Health::of(container, self.facts.address)?,
                restart: restarts(&self.facts.pod),
                grace: Duration::from_secs(spec.termination_grace_period_seconds.and_then(|seconds| seconds.try_into().ok()).unwrap_or(30)),
            });
        }
        Ok(containers)
    }

    /// The variables of the image and those that lead to the API server.
    fn given_variables(&self, ctx: &Ctx, image: &Image) -> Vec<(String, String)> {
        let of_image = image.config.env.iter().flatten().filter_map(|pair| pair.split_once('='));
        let mut env: Vec<(String, String)> = of_image.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let api = super::status::api_address(ctx.config.cluster);
        env.push(("HOSTNAME".to_owned(), self.facts.pod.name_any()));
        env.push(("KUBERNETES_SERVICE_HOST".to_owned(), api.to_string()));
        env.extend(["KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS"].map(|name| (name.to_owned(), API_PORT.to_string())));
        env
    }

    /// The files of `/etc` that a kubelet brings.
    fn files(&self, spec: &PodSpec) -> anyhow::Result<Vec<Mount>> {
        let name = self.facts.pod.name_any();
        let mut hosts = format!("127.0.0.1\tlocalhost\n{}\t{name}\n", self.facts.address);
        for alias in spec.host_aliases.iter().flatten() {
            hosts.push_str(&format!("{}\t{}\n", alias.ip, alias.hostnames.iter().flatten().cloned().collect::<Vec<_>>().join("\t")));
        }
        let resolver = fs::read_to_string("/etc/resolv.conf").context("/etc/resolv.conf")?;
        let files = [("hosts", hosts), ("hostname", format!("{name}\n")), ("resolv.conf", resolver)];
        let write = |(file, text): (&str, String)| {
            let source = self.directory.join(file);
            fs::write(&source, text).with_context(|| format!("file {}", source.display()))?;
            Ok(Mount { source, path: format!("/etc/{file}"), read_only: false })
        };
        files.into_iter().map(write).collect()
    }
}

/// The volumes of a container, the token among them unless it mounts something there.
fn mounts_of(container: &Spec, volumes: &std::collections::BTreeMap<String, PathBuf>) -> anyhow::Result<Vec<Mount>> {
    let mut mounts = Vec::new();
    for mount in container.volume_mounts.iter().flatten() {
        let volume = volumes.get(&mount.name).with_context(|| format!("container {}: no volume {}", container.name, mount.name))?;
        let source = mount.sub_path.as_deref().map_or_else(|| volume.clone(), |path| volume.join(Path::new(path)));
        mounts.push(Mount { source, path: mount.mount_path.clone(), read_only: mount.read_only.unwrap_or(false) });
    }
    if let Some(token) = volumes.get(TOKEN_VOLUME)
        && !mounts.iter().any(|mount| mount.path.trim_end_matches('/') == TOKEN_DIRECTORY)
    {
        mounts.push(Mount { source: token.clone(), path: TOKEN_DIRECTORY.to_owned(), read_only: true });
    }
    Ok(mounts)
}

/// Command and arguments: those of the container replace those of the image, and a command replaces both.
fn arguments(image: &Image, container: &Spec, env: &[(String, String)]) -> Vec<String> {
    let given = |list: &Option<Vec<String>>| list.clone().filter(|list| !list.is_empty());
    let of_image = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
    let (command, args) = match (given(&container.command), given(&container.args)) {
        (Some(command), args) => (command, args.unwrap_or_default()),
        (None, Some(args)) => (of_image(&image.config.entrypoint), args),
        (None, None) => (of_image(&image.config.entrypoint), of_image(&image.config.cmd)),
    };
    command.iter().chain(&args).map(|text| expand(text, env)).collect()
}
