//! `narthex rollout`: the client, the election, the metrics port, and the end.

use std::env::var;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use cluster::{Client, Election, ElectionHandle, ElectionOptions, Tasks};
use model::ObjectKey;
use ops::{Check, Health, Ops};
use rollout::{AlertOptions, Debounce, Metrics, Options, Sink};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{error, info, warn};

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
    let listener = bind(&args.metrics_addr).await?;
    let client = cluster::connect(&args.api.connect_options()).await?;
    announce(&args, &options);

    let mut tasks = Tasks::new();
    let metrics = Metrics::new(var("METRICS_COUNT_BY_NAMESPACE").is_ok_and(|value| value == "enabled"));
    let leader = lead(&args, client.clone(), &mut tasks)?;
    let handle = rollout::spawn(client, options, metrics.clone(), leader.subscribe(), &mut tasks)?;
    serve_metrics(listener, &metrics, &mut tasks)?;

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
        signals.or_second(handle.stop()).await;
    }
    if let Leader::Elected(election) = leader {
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
        namespace: given(&args.scope.watch_namespace),
        ignored_namespaces: args.scope.namespaces_to_ignore.iter().map(|name| name.trim().to_owned()).collect(),
        namespace_selector: args.scope.namespaces()?,
        resource_selector: args.scope.resources()?,
        webhook: given(&args.changes.webhook_url),
        check_command: args.guard.command(),
        check_timeout: Duration::from_secs(args.guard.check_timeout.max(1)),
        watch: args.guard.watch(),
        debounce: Debounce::default(),
        alerts: alerts(),
        instance: var("POD_NAME").ok(),
    })
}

fn alerts() -> Option<AlertOptions> {
    let text = |name: &str| var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    if text("ALERT_ON_RELOAD").as_deref() != Some("true") {
        return None;
    }
    let Some(url) = text("ALERT_WEBHOOK_URL") else {
        warn!("ALERT_ON_RELOAD is true, but ALERT_WEBHOOK_URL is not set: nobody is alerted");
        return None;
    };
    let sink = Sink::read(&text("ALERT_SINK").unwrap_or_default());
    Some(AlertOptions { sink, url, proxy: text("ALERT_WEBHOOK_PROXY"), info: text("ALERT_ADDITIONAL_INFO") })
}

fn announce(args: &RolloutArgs, options: &Options) {
    match &options.namespace {
        Some(namespace) => info!(namespace, "watching one namespace"),
        None => info!("watching all namespaces"),
    }
    if options.webhook.is_some() {
        warn!("--webhook-url is set: it is told of changes, and nothing is rolled out");
    }
    if args.enable_pprof || args.pprof_addr.is_some() {
        warn!("--enable-pprof and --pprof-addr have no effect");
    }
    if args.enable_csi_integration {
        warn!("--enable-csi-integration has no effect: what the Secrets Store CSI driver mounts is not watched");
    }
}

/// Who leads: always we, or who holds the Lease.
fn lead(args: &RolloutArgs, client: Client, tasks: &mut Tasks) -> anyhow::Result<Leader> {
    if !args.replicas.enable_ha {
        return Ok(Leader::Always(watch::Sender::new(true)));
    }
    let set = |name: &str| {
        var(name).ok().filter(|value| !value.is_empty()).with_context(|| format!("--enable-ha needs {name} in the environment"))
    };
    let options = ElectionOptions {
        lease: ObjectKey::new(set("POD_NAMESPACE")?, args.replicas.election_id.clone()),
        identity: set("POD_NAME")?,
        ttl: Duration::from_secs(args.replicas.election_ttl.max(2)),
    };
    Ok(Leader::Elected(Election::spawn(client, options, tasks)))
}

/// Whether we act.
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

async fn bind(address: &str) -> anyhow::Result<TcpListener> {
    let expected = || format!("--metrics-addr {address:?} is not of the form HOST:PORT or :PORT");
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
    result.with_context(|| format!("can't listen on {address}, which --metrics-addr sets"))
}

/// `/live` and `/metrics`, where Reloader has them.
fn serve_metrics(listener: TcpListener, metrics: &Metrics, tasks: &mut Tasks) -> anyhow::Result<()> {
    info!(address = %listener.local_addr()?, "health and metrics");
    let checks = vec![Check { name: "ping", run: Box::new(|| Ok(())) }];
    let ops = Ops { health_path: "/live".into(), health: Arc::new(Health { checks }), registry: metrics.registry().clone(), fetched: None };
    tasks.spawn(async move {
        if let Err(error) = ops::serve(listener, ops, std::future::pending()).await {
            error!(%error, "health and metrics stopped");
        }
        "health and metrics"
    });
    Ok(())
}
