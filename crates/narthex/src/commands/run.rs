//! `narthex run`: wires source, controller, NGINX and the operators' port, and ends them in order.

mod adapter;
mod certificates;
mod databases;
pub(crate) mod descriptors;
mod figures;
mod health;
mod inspection;
pub(crate) mod last_error;
mod loopback;
pub(crate) mod orphans;
mod place;
mod ports;
mod probe;
mod requested_reload;
mod requests;
pub(crate) mod shutdown;
mod source;
mod state_metrics;
mod stream_map;
mod streams;
mod tenants;
mod traces;
mod webhook;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use console::Console;
use controller::metrics::Identity;
use controller::{Journal, Metrics, Pace, Parts, Tasks};
use inspect::SourceKind;
use model::BuildOptions;
use nginx::{Place, Supervisor};
use ops::Ops;
use render::{Capabilities, Paths};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Mutex, watch};
use tracing::{error, info, warn};

use crate::args::{LogArgs, RunArgs};
use crate::commands::{conf, http};
use adapter::{LivePort, NginxPort};
use inspection::Inspection;
use loopback::NginxStatus;
use requests::{Collector, Sources};
use state_metrics::{Leadership, Orphans};
use stream_map::StreamMapPort;
use tenants::Tenants;

/// The runtime of every subcommand that needs one.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// Runs until a signal ends it.
pub(crate) fn run(args: RunArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    crate::logging::init(&args.log(log))?;
    args.idle.announce();
    let work_dir = args.nginx.work_dir()?;
    let ended = runtime()?.block_on(serve(args));
    if let Err(error) = &ended {
        last_error::note(&work_dir, error);
    }
    ended
}

async fn serve(args: RunArgs) -> anyhow::Result<ExitCode> {
    let pace = pace(args.sync_rate_limit)?;
    let mut signals = shutdown::Signals::new()?;
    descriptors::raise();
    orphans::adopt();
    let paths = Paths::new(args.nginx.work_dir()?);
    let Some((place, capabilities)) = place::find(&args, &paths, &mut signals).await? else { return Ok(ExitCode::SUCCESS) };
    let data_plane = place::data_plane(&place);
    // Bound first: a taken port is a quick, clear end.
    let ops_listener = bind_ops(&args).await?;
    let loopback = loopback::bind(&args).await?;
    let console_listener = inspection::bind(&args.console).await?;
    let reload_listener = http::bind(&args.http).await?;
    let options = nginx_options(&args, place.clone(), &paths, &capabilities);
    let supervisor = Supervisor::open(options.clone()).await?;
    if let Some(state) = supervisor.adopted() {
        info!(revision = state.revision, "adopted the nginx that an earlier controller left");
    }
    let fallback = crate::fallback::load_or_generate(&paths.work_dir)?;
    last_error::clear(&paths.work_dir);

    let mut tasks = Tasks::new();
    tasks.spawn(orphans::run());
    let (mut settings, client) = source::settings(&args, fallback).await?;
    settings.missing = capabilities.missing();
    if let Some(module) = settings.missing_for_stream().filter(|_| settings.passthrough_port.is_some()) {
        warn!("--enable-ssl-passthrough has no effect: NGINX lacks {}; every TLS connection is decrypted", module.describe());
    }
    // Requests are never led to it either.
    let webhook = webhook::bind(&args.webhook, client.clone()).await?;
    let webhook_port = webhook.as_ref().and_then(webhook::Webhook::port);
    settings.local.control_ports.extend(webhook_port);
    settings.reserved_ports.extend(operators_ports(&args).into_iter().chain(webhook_port.map(|port| (port, "--validating-webhook"))));
    let settings = Arc::new(settings);
    let mut source = source::start(&args, settings.clone(), client, &mut tasks).await?;
    source.snapshots = databases::join(&settings, args.databases.options(), source.snapshots, &mut tasks);
    let identity = identity(&settings);
    let metrics = Metrics::new(&identity, &crate::commands::version::build());
    let (journal, started) = (Journal::default(), inspection::time());

    let (staples, issuers) = (watch::Sender::default(), watch::Sender::default());
    let control = supervisor.live();
    let live = LivePort(supervisor.live());
    let confirmed = adapter::confirmed(&supervisor);
    let nginx = NginxPort::new(supervisor, capabilities.clone(), paths.clone(), journal.clone());
    let parts = Parts {
        settings: (*settings).clone(),
        snapshots: source.snapshots,
        staples: staples.subscribe(),
        issuers: issuers.subscribe(),
        nginx,
        live,
        stream_map: settings.has_stream_map().then(|| StreamMapPort::new(&paths)),
        addresses: source.addresses,
        confirmed,
        report: source.report,
        metrics: metrics.clone(),
        journal: journal.clone(),
        pace,
        reviewer: webhook.as_ref().map(webhook::Webhook::reviewer),
    };
    let snapshots = parts.snapshots.clone();
    let handle = controller::spawn(parts, &mut tasks);
    tasks.spawn(issuers::ocsp::run(handle.built.clone(), settings.local.clone(), staples));
    if args.model.enable_ssl_chain_completion {
        tasks.spawn(issuers::chain::run(handle.built.clone(), settings.local.clone(), issuers));
    }
    if let Some(webhook) = webhook {
        webhook.spawn(&args.webhook, &metrics, &identity, &mut tasks);
    }

    let (built, loaded) = (handle.built.clone(), handle.loaded.clone());
    let sources = Sources { live: control.clone(), built, loaded, paths: paths.clone(), place: place.clone() };
    let collector = settings.counting.as_ref().map(|counting| Collector::new(&args.model.metrics, counting, &identity, sources));
    let collector = collector.map(Arc::new);
    if let Some(collector) = &collector {
        tasks.spawn(collector.clone().run());
    }
    let stopping = Arc::new(AtomicBool::new(false));
    let (answers, answering) = watch::channel(probe::Answer::default());
    let patience = Duration::from_secs(args.health_check_timeout.max(1));
    tasks.spawn(probe::run(handle.built.clone(), handle.loaded.clone(), patience, answers));
    let certificates: Arc<dyn ops::Fetched> = Arc::new(certificates::Certificates {
        built: handle.built.clone(),
        class: settings.controller_class.clone(),
        leader: source.status.as_ref().map(source::Status::leader),
    });
    let process: Arc<dyn ops::Fetched> = Arc::new(ops::ProcessMetrics);
    let leader = source.status.as_ref().map(source::Status::leader);
    let state = state_metrics(&handle, leader, &args.status.election_id, &identity);
    let readiness = Arc::new(health::readiness(handle.clone(), stopping.clone(), answering, source.feeds));
    let ops = Ops {
        health_path: args.model.health_check_path.clone(),
        health: Arc::new(health::alive(handle.clone(), stopping.clone())),
        ready: readiness.clone(),
        registry: metrics.registry().clone(),
        fetched: collector
            .clone()
            .map(|collector| collector as Arc<dyn ops::Fetched>)
            .into_iter()
            .chain([certificates, process])
            .chain(state)
            .collect(),
    };
    info!(address = %ops_listener.local_addr()?, "health and metrics");
    // Beside the others, as it ends last.
    let mut operators = Tasks::new();
    operators.spawn(async move { match ops::serve(ops_listener, ops).await {} });
    // Also for `narthex wait-shutdown`, which finds a controller that drains by it.
    let (major, minor, patch) = capabilities.version;
    let inspection = Arc::new(Inspection {
        handle: handle.clone(),
        snapshots: snapshots.clone(),
        journal,
        metrics: metrics.clone(),
        collector,
        live: control.clone(),
        place,
        paths: paths.clone(),
        options: settings.clone(),
        flags: crate::commands::settings::flags_of_run(),
        identity,
        nginx: format!("{major}.{minor}.{patch}"),
        source: if args.source.manifests.is_some() { SourceKind::Directory } else { SourceKind::Cluster },
        lease: source.status.as_ref().map(source::Status::lease),
        readiness,
        started,
        traffic: Default::default(),
        index: Default::default(),
    });
    let conf = conf_source(&paths, &capabilities, handle.clone(), snapshots);
    conf_socket(&paths, conf.clone(), console::api(inspection.clone()), &mut operators)?;
    if let Some(listener) = console_listener {
        info!(address = %listener.local_addr()?, "console");
        let console = Console { source: inspection, token_file: args.console.console_token_file.clone() };
        operators.spawn(async move { match console::serve(listener, console).await {} });
    }
    let status = NginxStatus { live: control.clone(), handle: handle.clone(), source: conf, walk: Mutex::default() };
    loopback.spawn(args.model.health_check_path.clone(), status, &mut operators);
    tasks.spawn(traces::run(control.clone(), handle.built.clone()));
    let (again, status) = (source.again, source.status);
    let children = children::Children::default();
    if let Some(listener) = reload_listener {
        let reloads =
            requested_reload::RequestedReload { again: again.clone(), handle: handle.clone(), patience: args.http.request_timeout };
        let lock = http::lock(&args.http, &args.source.api).await?;
        http::serve(listener, &args.http, Arc::new(reloads), http::Means { lock, children: children.clone() }, &mut tasks)?;
    }
    tasks.spawn(announce(handle.clone(), settings));

    let reason = loop {
        tokio::select! {
            ended = tasks.join_next() => break Err(unexpected(ended)),
            ended = operators.join_next() => break Err(unexpected(ended)),
            event = signals.next() => match event {
                shutdown::Event::Stop(name) => break Ok(name),
                shutdown::Event::Reload => again.hang_up(),
            },
        }
    };
    stopping.store(true, Ordering::Relaxed);
    children.stop();
    let in_pod = in_pod();
    // NGINX, too.
    let mut ends = !args.end.leave_nginx;
    if let Ok(signal) = reason {
        info!(signal, "stopping");
        if let Some(data_plane) = &data_plane {
            ends = ends && place::ends_too(data_plane, &mut signals).await;
        }
        if ends {
            let control = data_plane.is_none().then_some(&control);
            shutdown::grace(args.end.grace(in_pod), control, &mut signals).await;
        }
    }
    if let Some(status) = status {
        signals.or_second(status.stop()).await;
    }
    // A command of --before keeps its lock until it is gone.
    signals.or_second(children.idle()).await;
    tasks.shutdown().await;
    let drain = shutdown::drain(args.end.drain(), &handle);
    let ended = match &data_plane {
        _ if !ends => {
            info!("nginx is left serving; the next controller with this work directory adopts it");
            Ok(())
        }
        None => shutdown::quit(nginx::Options { hidden: None, ..options }, drain, &mut signals).await,
        // After a failure of ours it serves on.
        Some(_) if reason.is_err() => Ok(()),
        Some(data_plane) => {
            place::wait_for_end(data_plane, drain, &mut signals).await;
            Ok(())
        }
    };
    if reason.is_ok() && ends {
        shutdown::post_grace(args.end.post_grace(in_pod), &mut signals).await;
    }
    ended?;
    match reason {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(why) => bail!("{why}, which none may before the process does"),
    }
}

/// The end of a task that none may have before the process.
pub(crate) fn unexpected(ended: Option<Result<&'static str, tokio::task::JoinError>>) -> String {
    match ended {
        Some(Ok(name)) => format!("the task {name:?} ended"),
        Some(Err(error)) => format!("a task failed: {error}"),
        None => "no task is left".to_owned(),
    }
}

/// Whether this is a container of a Pod.
pub(crate) fn in_pod() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

/// Where a Pod has the token of its ServiceAccount.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

fn nginx_options(args: &RunArgs, place: Place, paths: &Paths, capabilities: &Capabilities) -> nginx::Options {
    let mut options = nginx::Options::at(place, paths.clone());
    options.worker_user = capabilities.worker_user.clone();
    options.hidden = Some(TOKEN.into()).filter(|directory: &PathBuf| directory.exists());
    options.port_flags = [(args.model.http_port, "--http-port"), (args.model.https_port, "--https-port")].into();
    if args.model.enable_ssl_passthrough {
        options.port_flags.insert(args.model.ssl_passthrough_proxy_port, "--ssl-passthrough-proxy-port");
    }
    options
}

fn pace(rate: f64) -> anyhow::Result<Pace> {
    if !(rate.is_finite() && rate > 0.0) {
        bail!("--sync-rate-limit {rate} is not a positive number of reloads a second");
    }
    Ok(Pace { reload_interval: Duration::from_secs_f64(1.0 / rate), ..Pace::default() })
}

/// Ports for operators, each with the flag that sets it.
fn operators_ports(args: &RunArgs) -> Vec<(u16, &'static str)> {
    let listen = args.http.listen.as_deref().and_then(|address| address.rsplit(':').next()?.parse().ok());
    let ports = [Some((args.healthz_port, "--healthz-port")), listen.map(|port| (port, "--listen"))];
    ports.into_iter().flatten().chain(loopback::ports(args)).chain(inspection::port(&args.console)).collect()
}

async fn bind_ops(args: &RunArgs) -> anyhow::Result<TcpListener> {
    let port = args.healthz_port;
    let result = match args.healthz_host.as_str() {
        // Both families where there are two.
        "" => match TcpListener::bind(("::", port)).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(("0.0.0.0", port)).await,
        },
        host => TcpListener::bind((host, port)).await,
    };
    result.with_context(|| format!("can't listen on port {port} for health and metrics, which --healthz-port and --healthz-host set"))
}

fn identity(settings: &BuildOptions) -> Identity {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    Identity { namespace: env("POD_NAMESPACE"), class: settings.controller_class.clone(), pod: env("POD_NAME") }
}

/// The metrics of the present state.
fn state_metrics(
    handle: &controller::Handle,
    leads: Option<watch::Receiver<bool>>,
    lease: &str,
    identity: &Identity,
) -> impl Iterator<Item = Arc<dyn ops::Fetched>> + use<> {
    let constant = state_metrics::constant_labels(identity);
    let labels = format!("{constant},{}", ops::labels(&[("name", lease)]));
    let leadership = leads.map(|leads| Arc::new(Leadership { leads, labels, led: AtomicBool::default() }) as Arc<dyn ops::Fetched>);
    let orphans = Orphans { built: handle.built.clone(), constant, seen: Default::default() };
    let tenants = Tenants { built: handle.built.clone() };
    leadership.into_iter().chain([Arc::new(orphans) as Arc<dyn ops::Fetched>, Arc::new(tenants)])
}

/// The answers to `narthex conf`, `narthex dbg` and `narthex explain request`.
fn conf_source(
    paths: &Paths,
    capabilities: &Capabilities,
    handle: controller::Handle,
    snapshots: watch::Receiver<Option<Arc<model::Snapshot>>>,
) -> ops::ConfSource {
    let (paths, capabilities) = (paths.clone(), capabilities.clone());
    Arc::new(move |query| {
        let built = handle.built.borrow().clone().ok_or("the source is not complete yet")?;
        let running = handle.loaded.borrow().fixed.clone();
        let running = running.as_ref().unwrap_or(&built.model.fixed);
        let snapshot = snapshots.borrow().clone().unwrap_or_default();
        let state = conf::State { running, built: &built, snapshot: &snapshot, caps: &capabilities, paths: &paths };
        conf::answer(&state, query).map_err(|error| format!("{error:#}"))
    })
}

/// The socket that `narthex conf`, `narthex explain request` and commands over the inspection API ask.
fn conf_socket(paths: &Paths, source: ops::ConfSource, api: axum::Router, tasks: &mut Tasks) -> anyhow::Result<()> {
    let path = paths.work_dir.join(conf::SOCKET);
    // A leftover of an earlier run; the work directory's lock excludes another user.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).with_context(|| format!("can't listen on {}", path.display()))?;
    tasks.spawn(async move {
        if let Err(error) = ops::serve_conf(listener, source, api, std::future::pending()).await {
            error!(%error, "the socket of `narthex conf` stopped");
        }
        "conf socket"
    });
    Ok(())
}

/// Says once that traffic is served.
async fn announce(mut handle: controller::Handle, settings: Arc<BuildOptions>) -> &'static str {
    while !handle.ready() {
        // An end of the controller before that is an end without traffic.
        let changed = tokio::select! {
            changed = handle.live.changed() => changed,
            changed = handle.loaded.changed() => changed,
        };
        if changed.is_err() {
            return std::future::pending().await;
        }
    }
    info!(http = settings.http_port, https = settings.https_port, "serving");
    std::future::pending().await
}
