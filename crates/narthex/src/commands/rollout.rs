//! `narthex rollout`: the client, the election, the metrics port, and the end.

use std::env::var;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cluster::{Client, Election, ElectionHandle, ElectionOptions, Tasks};
use model::ObjectKey;
use ops::{Check, Health, Ops};
use rollout::{Debounce, Metrics, Options};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::args::{LogArgs, RolloutArgs};
use crate::commands::run::shutdown::{Event, Signals};

/// Runs until a signal ends it.
pub(crate) fn rollout(args: RolloutArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    crate::logging::init(&LogArgs { log_level: level(&log.log_level), ..log.clone() })?;
    super::run::runtime()?.block_on(serve(args))
}

/// Reloader's words for levels that are none here.
fn level(given: &str) -> String {
    match given {
        "warning" => "warn".into(),
        "fatal" | "panic" => "error".into(),
        other => other.into(),
    }
}

async fn serve(args: RolloutArgs) -> anyhow::Result<ExitCode> {
    let options = options(&args)?;
    let mut signals = Signals::new()?;
    let listener = bind("--metrics-addr", &args.metrics_addr).await?;
    let health = match args.health_addr.as_str() {
        "" => None,
        address => Some(bind("--health-addr", address).await?),
    };
    let client = cluster::connect(&args.api.connect_options()).await?;
    announce(&args, &options);

    let mut tasks = Tasks::new();
    let metrics = Metrics::new(var("METRICS_COUNT_BY_NAMESPACE").is_ok_and(|value| value == "enabled"));
    let leader = lead(&args, client.clone(), &mut tasks)?;
    let handle = rollout::spawn(client, options, metrics.clone(), leader.subscribe(), &mut tasks)?;
    serve_metrics(listener, &metrics, &mut tasks)?;
    if let Some(listener) = health {
        serve_health(listener, &mut tasks)?;
    }

    let reason = loop {
        tokio::select! {
            ended = tasks.join_next() => break Err(match ended {
                Some(Ok(name)) => format!("the task {name:?} ended"),
                Some(Err(error)) => format!("a task failed: {error}"),
                None => "no task is left".to_owned(),
            }),
            event = signals.next() => match event {
                Event::Stop(name) => break Ok(name),
                // Nothing is read but the cluster.
                Event::Reload => {}
            },
        }
    };
    if let Ok(signal) = reason {
        info!(signal, "stopping");
        signals.or_second(handle.stop(args.stop_timeout)).await;
    }
    if let (Leader::Elected(election), true) = (leader, args.replicas.leader_election_release_on_cancel) {
        signals.or_second(election.stop()).await;
    }
    tasks.shutdown().await;
    match reason {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(why) => bail!("{why}, which none may before the process does"),
    }
}

fn options(args: &RolloutArgs) -> anyhow::Result<Options> {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Ok(Options {
        rules: args.rules()?,
        namespaces: args.scope.only(),
        ignored_namespaces: args.scope.ignored(),
        namespace_selector: args.scope.namespaces()?,
        resource_selector: args.scope.resources()?,
        webhook: given(&args.changes.webhook_url),
        check_command: args.guard.command(),
        check_timeout: Duration::from_secs(args.guard.check_timeout.max(1)),
        watch: args.guard.watch(),
        debounce: Debounce::default(),
        alerts: args.alerts.options(|name| var(name).ok())?,
        instance: var("POD_NAME").ok(),
    })
}

fn announce(args: &RolloutArgs, options: &Options) {
    match options.namespaces.is_empty() {
        true => info!("watching all namespaces"),
        false => info!(
            namespaces = options.namespaces.iter().map(String::as_str).collect::<Vec<_>>().join(","),
            "watching these namespaces only"
        ),
    }
    if !options.namespaces.is_empty() && options.namespace_selector.is_some() {
        warn!("--namespace-selector has no effect: the namespaces are named");
    }
    if options.webhook.is_some() {
        warn!("--webhook-url is set: it is notified of changes, and nothing is rolled out");
    }
    if args.enable_pprof || args.pprof_addr.is_some() {
        warn!("--enable-pprof and --pprof-addr have no effect");
    }
    if args.is_openshift.as_deref().is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        warn!("--is-openshift has no effect: DeploymentConfigs are not rolled out");
    }
    if args.enable_csi_integration {
        warn!("--enable-csi-integration has no effect: what the Secrets Store CSI driver mounts is not watched");
    }
}

/// The leader: always we, or the holder of the Lease.
fn lead(args: &RolloutArgs, client: Client, tasks: &mut Tasks) -> anyhow::Result<Leader> {
    if !args.replicas.enable_ha {
        return Ok(Leader::Always(watch::Sender::new(true)));
    }
    let set = |name: &str| {
        var(name).ok().filter(|value| !value.is_empty()).with_context(|| format!("--enable-ha needs {name} in the environment"))
    };
    let replicas = &args.replicas;
    let namespace = match replicas.leader_election_namespace.as_str() {
        "" => set("POD_NAMESPACE")?,
        namespace => namespace.to_owned(),
    };
    let options = ElectionOptions {
        lease: ObjectKey::new(namespace, replicas.election_id.clone()),
        identity: set("POD_NAME")?,
        ttl: replicas.election_ttl.max(Duration::from_secs(2)),
    };
    Ok(Leader::Elected(Election::spawn(client, options, tasks)))
}

/// The source of our leadership.
enum Leader {
    /// The only replica.
    Always(watch::Sender<bool>),
    /// The holder of the Lease.
    Elected(ElectionHandle),
}

impl Leader {
    fn subscribe(&self) -> watch::Receiver<bool> {
        match self {
            Self::Always(sender) => sender.subscribe(),
            Self::Elected(handle) => handle.leader.clone(),
        }
    }
}

async fn bind(flag: &str, address: &str) -> anyhow::Result<TcpListener> {
    let expected = || format!("{flag} {address:?} is not of the form HOST:PORT or :PORT");
    let (host, port) = address.rsplit_once(':').with_context(expected)?;
    let port: u16 = port.parse().with_context(expected)?;
    let result = match host.trim_start_matches('[').trim_end_matches(']') {
        // Both families where there are two.
        "" => match TcpListener::bind(("::", port)).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(("0.0.0.0", port)).await,
        },
        host => TcpListener::bind((host, port)).await,
    };
    result.with_context(|| format!("can't listen on {address}, which {flag} sets"))
}

/// `/live` and `/metrics`, where Reloader has them.
fn serve_metrics(listener: TcpListener, metrics: &Metrics, tasks: &mut Tasks) -> anyhow::Result<()> {
    info!(address = %listener.local_addr()?, "health and metrics");
    let ops = Ops {
        health_path: "/live".into(),
        health: Arc::new(alive()),
        ready: Arc::default(),
        registry: metrics.registry().clone(),
        fetched: Vec::new(),
    };
    tasks.spawn(async move { match ops::serve(listener, ops).await {} });
    Ok(())
}

/// `/healthz` and `/readyz`, where newer Reloaders have them.
fn serve_health(listener: TcpListener, tasks: &mut Tasks) -> anyhow::Result<()> {
    info!(address = %listener.local_addr()?, "health");
    tasks.spawn(async move { match ops::serve_health(listener, Arc::new(alive()), &["/healthz", "/readyz"]).await {} });
    Ok(())
}

/// Healthy as long as it answers.
fn alive() -> Health {
    Health { checks: vec![Check { name: "ping", run: Box::new(|| Ok(())) }] }
}
