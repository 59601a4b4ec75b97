//! `echo`: serves answers that list what arrived.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::net::SocketAddr;

use anyhow::Context;
use clap::Parser;
use testkit::echo::{self, Format, Identity};

/// Serves answers that list what arrived, until it is interrupted.
///
/// Example: echo --listen 127.0.0.1:9001 --listen 127.0.0.1:9002 --name shop-1
#[derive(Debug, Parser)]
#[command(name = "echo", version)]
struct Args {
    /// Where to listen; may be given several times.
    #[arg(long, value_name = "ADDRESS:PORT", required = true)]
    listen: Vec<SocketAddr>,
    /// What the answers call this server.
    #[arg(long, default_value = "echo")]
    name: String,
    /// What the answers call its Service.
    #[arg(long, default_value = "")]
    service: String,
    /// What the answers call its namespace.
    #[arg(long, default_value = "")]
    namespace: String,
    /// text or json.
    #[arg(long, default_value = "text")]
    format: Format,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let identity = Identity { name: args.name, service: args.service, namespace: args.namespace, format: args.format };
    let mut servers = Vec::new();
    for address in args.listen {
        let server = echo::start(address, identity.clone()).await?;
        println!("{} listens on {}", identity.name, server.address());
        servers.push(server);
    }
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for an interrupt")?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
