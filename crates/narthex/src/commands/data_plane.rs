//! `narthex data-plane`: the processes of NGINX in a container of their own, for a controller in another.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use controller::Tasks;
use nginx::DataPlaneServer;
use render::Paths;
use tracing::{info, warn};

use super::run::{descriptors, in_pod, orphans, shutdown, unexpected};
use crate::args::{DataPlaneArgs, LogArgs};

/// Runs until a signal ends it, and NGINX before it.
pub(crate) fn data_plane(args: &DataPlaneArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    crate::logging::init(log)?;
    super::run::runtime()?.block_on(serve(args))
}

async fn serve(args: &DataPlaneArgs) -> anyhow::Result<ExitCode> {
    let mut signals = shutdown::Signals::new()?;
    descriptors::raise();
    orphans::adopt();
    let paths = Paths::new(args.nginx.work_dir()?);
    let binary = nginx::find_binary(args.nginx.nginx_binary.as_deref())?;
    let capabilities = nginx::detect(Some(&binary)).await?;
    let listener = DataPlaneServer::listen(&paths).await?;
    let server = DataPlaneServer::new(binary, capabilities, paths.clone());
    let mut tasks = Tasks::new();
    tasks.spawn(orphans::run());
    let answering = server.clone();
    tasks.spawn(async move {
        answering.serve(listener).await;
        "data plane"
    });
    info!(work_dir = %paths.work_dir.display(), "answering the controller of this work directory");
    let signal = loop {
        tokio::select! {
            ended = tasks.join_next() => bail!("{}, which none may before the process does", unexpected(ended)),
            event = signals.next() => match event {
                shutdown::Event::Stop(name) => break name,
                shutdown::Event::Reload => info!("SIGHUP: nothing to read here; the controller reloads NGINX"),
            },
        }
    };
    let grace = args.grace(in_pod());
    info!(signal, seconds = grace.as_secs(), "stopping; new connections are served until the grace period is over");
    signals.or_second(server.announce_end()).await;
    signals.or_second(tokio::time::sleep(grace)).await;
    info!("nginx finishes its open requests");
    if signals.or_second(server.drain(args.drain())).await.is_none() {
        warn!("second signal: nginx is ended at once");
        server.drain(Duration::ZERO).await;
    }
    tasks.shutdown().await;
    Ok(ExitCode::SUCCESS)
}
