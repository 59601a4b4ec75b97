//! `bed`: runs a command beside a real Kubernetes API server, in namespaces of its own.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use testkit::bed::{Enter, Init, Supervise, enter, exec, init, supervise};
use tracing_subscriber::EnvFilter;

/// Exit code of a command that can't be run, as shells have it.
const NOT_FOUND: u8 = 127;

/// Runs a command beside a real Kubernetes API server, in namespaces of its own.
///
/// etcd, kube-apiserver, kube-controller-manager and kubectl come from tests/bed/build.sh. Pods are echo servers.
/// When the command ends, everything ends.
#[derive(Debug, Parser)]
#[command(name = "bed", version, after_help = "Example: bed run -- kubectl get nodes")]
struct Args {
    #[command(subcommand)]
    command: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Run a command in a new bed and end with its exit code. KUBECONFIG and NARTHEX_BED are set.
    Run {
        #[command(flatten)]
        options: Options,
        /// Command and arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Keep a new bed up until it is interrupted, and print how to enter it.
    Up {
        #[command(flatten)]
        options: Options,
    },
    /// Process 1 of a bed.
    #[command(hide = true)]
    Init {
        #[command(flatten)]
        inner: Inner,
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Owner of the control plane.
    #[command(hide = true)]
    Supervise {
        #[command(flatten)]
        inner: Inner,
    },
    /// Last step before the command.
    #[command(hide = true)]
    Exec {
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

#[derive(Debug, clap::Args)]
struct Options {
    /// Write everything (logs, data, kubeconfig) to this empty directory, and leave it there.
    #[arg(long, value_name = "DIR")]
    keep_dir: Option<PathBuf>,
    /// Directory of etcd, kube-apiserver, kube-controller-manager and kubectl [default: bed/bin in the target directory].
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
    /// How many Nodes the cluster has.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=9))]
    nodes: u8,
}

#[derive(Debug, clap::Args)]
struct Inner {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    binaries: PathBuf,
    #[arg(long)]
    nodes: u8,
}

fn main() -> ExitCode {
    match step(Args::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn step(step: Step) -> anyhow::Result<ExitCode> {
    match step {
        Step::Run { options, command } => enter(&options.entering(command)),
        Step::Up { options } => enter(&options.entering(Vec::new())),
        Step::Init { inner, command } => {
            let Inner { dir, binaries, nodes } = inner;
            init(&Init { dir, binaries, nodes, command, announce: |text| print!("{text}") })
        }
        Step::Supervise { inner } => {
            let Inner { dir, binaries, nodes } = inner;
            let log = dir.join("supervisor.log");
            let log = std::fs::File::create(&log).with_context(|| format!("log file {}", log.display()))?;
            // The client logs each refusal while the API server starts; those that matter come back as errors.
            let filter = EnvFilter::new("info,kube_client::client=off");
            tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter).with_writer(log).init();
            let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
            runtime.block_on(supervise(Supervise { dir, binaries, nodes }))?;
            Ok(ExitCode::SUCCESS)
        }
        Step::Exec { command } => {
            eprintln!("bed: {:#}", exec(&command));
            Ok(ExitCode::from(NOT_FOUND))
        }
    }
}

impl Options {
    fn entering(self, command: Vec<OsString>) -> Enter {
        Enter { keep_dir: self.keep_dir, binaries: self.binaries, nodes: self.nodes, command }
    }
}
