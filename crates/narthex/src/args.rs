//! The command line as it was typed. Names and defaults are the predecessor's where it had the flag.

mod api;
mod cleanup;
mod compare;
mod console;
mod container;
mod controller;
mod data_plane;
mod duration;
mod end;
mod explain;
mod geoip;
mod http;
mod live;
mod loopback;
mod metrics;
mod migrate;
mod plan;
mod plugin;
mod predecessor;
mod rollout;
mod selector;
mod settings;
mod switch;
mod values;
mod watch;
mod webhook;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use nix::unistd::AccessFlags;

pub(crate) use api::ApiArgs;
pub(crate) use cleanup::CleanupArgs;
pub(crate) use compare::{AskArgs, CompareArgs};
pub(crate) use console::ConsoleArgs;
pub(crate) use container::{DbgArgs, DbgBackends, DbgCerts, DbgSubject, WaitShutdownArgs};
pub(crate) use controller::{ModelArgs, SourceArgs, StatusArgs, key};
pub(crate) use data_plane::DataPlaneArgs;
pub(crate) use end::EndArgs;
pub(crate) use explain::{ExplainArgs, ExplainNameArgs, ExplainRequestArgs, Subject};
pub(crate) use geoip::FetchArgs;
pub(crate) use http::HttpArgs;
pub(crate) use live::{DiffArgs, DoctorArgs, EventsArgs, GetArgs, HostLogsArgs, OutputFormat, ResourceName, TopArgs};
pub(crate) use loopback::{Listening, LoopbackArgs};
pub(crate) use metrics::MetricsArgs;
pub(crate) use migrate::{MigrateArgs, MigrateSubject, MigrateValuesArgs, ValuesFormat};
pub(crate) use plan::{Base, PlanArgs, PlanFormat};
pub(crate) use plugin::{
    BackendsArgs, InfoArgs, IngressesArgs, KubectlArgs, LintArgs, LintCommand, LintSubject, Plugin, PluginArgs, PluginCommand,
    PluginDoctorArgs, PodArgs, TableFormat,
};
pub(crate) use predecessor::{IdleArgs, reason as flag_reason};
pub(crate) use rollout::RolloutArgs;
pub(crate) use settings::SettingsArgs;
pub(crate) use switch::SwitchArgs;
pub(crate) use watch::{QuitArgs, WatchArgs};
pub(crate) use webhook::WebhookArgs;

use values::{boolean, seconds};

/// The command that goes where another process is (see `nginx_watch::run_helper`).
pub(crate) const HELPER: &str = "within";

/// An ingress controller for Kubernetes that brings NGINX to every change within milliseconds.
#[derive(Debug, Parser)]
#[command(name = "narthex", version, propagate_version = true, disable_help_subcommand = true, args_override_self = true)]
#[command(after_help = "Examples:
  narthex run --manifests examples --http-port 8080 --https-port 8443
  narthex run --kubeconfig ~/.kube/config
  narthex check examples
  narthex plan before/ after/
  narthex plan --against cluster -f new.yaml
  narthex conf shop.example.com /cart
  narthex get ingresses -n shop
  narthex doctor
  narthex watch --config-dir /etc/nginx/conf.d
  narthex explain proxy-body-size
  narthex explain request https://shop.example.com/cart
  narthex settings --manifests examples --configmap default/settings
  narthex rollout --kubeconfig ~/.kube/config
  narthex compare --old 10.0.0.1 --new 10.0.0.2

Exit codes: 0 success, 1 problems found or failed, 2 wrong usage.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is logged unless anything else is asked for.
const DEFAULT_LEVEL: &str = "info";

/// How to log.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogArgs {
    /// Form of log lines; `auto` is text on a terminal and JSON elsewhere
    #[arg(long, global = true, value_enum, default_value = "text", value_name = "FORM")]
    pub(crate) log_format: LogFormat,
    /// What to log: error, warn, info, debug, trace, or a filter such as `info,controller=debug`
    #[arg(long, global = true, default_value = DEFAULT_LEVEL, value_name = "LEVEL", env = "NARTHEX_LOG")]
    pub(crate) log_level: String,
}

/// Forms of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[value(alias = "")]
    Text,
    /// One object a line.
    Json,
    /// Text on a terminal, JSON elsewhere.
    Auto,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the controller: watch a cluster or a directory, and keep NGINX up to date
    Run(Box<RunArgs>),
    /// Print what would be given to NGINX: nginx.conf and the live state
    Render(RenderArgs),
    /// Check the manifests in a directory: every finding with file and line
    Check(CheckArgs),
    /// Say what a change of a directory or of a cluster would do: nothing, live updates, or a reload and why; and what is wrong with it
    Plan(Box<PlanArgs>),
    /// Print what serves a host: its server block, the locations that its routes use, and its record with the row of each value
    Conf(ConfArgs),
    /// Restart workloads when the ConfigMaps and Secrets that they use change (for those who used stakater's Reloader)
    Rollout(Box<RolloutArgs>),
    /// Show the effective value of each key of the ConfigMap and of each flag, and where it comes from
    #[command(after_help = settings::EXAMPLES)]
    Settings(Box<SettingsArgs>),
    /// Explain what serves a request and why, or an annotation or a key of the ConfigMap: what it takes, its default, how a change of it reaches NGINX
    Explain(ExplainArgs),
    /// List what a running controller serves, and what is wrong with it
    Get(GetArgs),
    /// Say what is wrong with a running controller, how bad that is, and what to do
    Doctor(DoctorArgs),
    /// Show live requests, errors and latency by host, Ingress or backend
    Top(TopArgs),
    /// Follow the requests of one host
    Logs(HostLogsArgs),
    /// Print what the controller did: changes, what was posted live, reloads and why
    Events(EventsArgs),
    /// Print what differs between two texts of nginx.conf that were applied
    Diff(DiffArgs),
    /// Compare what two controllers answer: to probes of every Ingress, and to the requests of an access log
    Compare(Box<CompareArgs>),
    /// Move Ingresses to another class, or a Service to other Pods, in steps that are checked and can be undone
    Switch(Box<SwitchArgs>),
    /// Read the files of an installation of ingress-nginx, and say what is different here
    Migrate(MigrateArgs),
    /// Make any NGINX follow its configuration files: test, reload, confirm, and keep the last good
    Watch(Box<WatchArgs>),
    /// End any NGINX in order: open requests are finished
    Quit(QuitArgs),
    /// Look at the state of a running NGINX, as with the tool /dbg of ingress-nginx
    Dbg(DbgArgs),
    /// Run NGINX for a controller in another container of the Pod, without access to an API server
    DataPlane(DataPlaneArgs),
    /// Stop the controller or the data plane of this container, and wait until it has ended: for preStop hooks
    WaitShutdown(WaitShutdownArgs),
    /// Remove what controllers left in a cluster that ended without the rights to do it: addresses in the status of Ingresses, their Lease
    Cleanup(CleanupArgs),
    /// Look into the controllers of a cluster, and check its Ingresses: what `kubectl narthex` does
    Kubectl(Box<PluginArgs>),
    /// Run a command where another process is
    #[command(name = HELPER, hide = true)]
    Within,
    /// Print the version
    Version(VersionArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write manual pages: of narthex, of each of its commands, and of kubectl narthex
    Man {
        /// Directory for them; without one, that of narthex itself is printed
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # Serve a directory of manifests on high ports, as an ordinary user
  narthex run --manifests examples --http-port 8080 --https-port 8443

  # Serve a cluster from outside
  narthex run --kubeconfig ~/.kube/config --publish-status-address 192.0.2.10

  # With a URL that makes NGINX read certificates and other files on shared storage again
  narthex run --listen unix:/run/narthex.sock && curl -X POST --unix-socket /run/narthex.sock http://narthex/reload

Signals: TERM, INT and QUIT end it, a second one shortens each step; USR1 ends it as well and never shortens anything (/wait-shutdown sends it); HUP reads every file of --manifests again (a cluster is followed as it is).

What changes live and what needs a reload: narthex plan --help")]
#[command(args_override_self = true)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) nginx: NginxArgs,
    /// NGINX runs in another container of the Pod, under `narthex data-plane` with the same --work-dir
    #[arg(long, help_heading = "NGINX", num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set, value_parser = boolean())]
    pub(crate) split_data_plane: bool,
    #[command(flatten)]
    pub(crate) status: StatusArgs,
    /// Port of health and metrics
    #[arg(long, default_value_t = 10254, value_name = "PORT")]
    pub(crate) healthz_port: u16,
    /// Address of health and metrics; empty: all
    #[arg(long, default_value = "", value_name = "ADDRESS")]
    pub(crate) healthz_host: String,
    /// Reloads a second, at most. Endpoints, certificates and routes don't wait for it
    #[arg(long, default_value_t = 0.3, value_name = "RATE")]
    pub(crate) sync_rate_limit: f64,
    /// How long NGINX may take to answer a request of the controller through its own listener, before it counts as failed, in seconds
    #[arg(long, default_value = "2", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) health_check_timeout: u64,
    /// Verbosity as ingress-nginx has it: from 3 on as --log-level=debug, unless that says otherwise
    #[arg(short = 'v', long = "v", default_value = "0", value_name = "LEVEL", allow_negative_numbers = true)]
    pub(crate) verbosity: i64,
    /// Don't write an Event (Sync) on each Ingress that is taken over or changed. Warnings, and reloads on our own Pod, are written all the same
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set, value_parser = boolean())]
    pub(crate) disable_sync_events: bool,
    #[command(flatten)]
    pub(crate) loopback: LoopbackArgs,
    #[command(flatten)]
    pub(crate) console: ConsoleArgs,
    #[command(flatten)]
    pub(crate) http: HttpArgs,
    #[command(flatten)]
    pub(crate) webhook: WebhookArgs,
    #[command(flatten)]
    pub(crate) databases: FetchArgs,
    #[command(flatten)]
    pub(crate) end: EndArgs,
    #[command(flatten)]
    pub(crate) idle: IdleArgs,
}

/// Verbosity from which on details are logged.
const DETAILS: i64 = 3;

impl RunArgs {
    /// How to log, by `-v` as well.
    pub(crate) fn log(&self, log: &LogArgs) -> LogArgs {
        let is_default = log.log_level == DEFAULT_LEVEL;
        let level = if self.verbosity >= DETAILS && is_default { "debug" } else { &log.log_level };
        LogArgs { log_level: level.to_owned(), ..log.clone() }
    }
}

/// The NGINX to run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "NGINX")]
pub(crate) struct NginxArgs {
    /// Directory for everything that is written: nginx.conf, sockets, certificates [default: /run/narthex as root, else $XDG_RUNTIME_DIR/narthex if that can be written to, else a directory of yours in the temporary directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,
    /// The NGINX binary [default: the first `nginx` on the PATH]
    #[arg(long, value_name = "FILE", env = "NGINX_BINARY")]
    pub(crate) nginx_binary: Option<PathBuf>,
}

impl NginxArgs {
    /// The work directory, absolute.
    pub(crate) fn work_dir(&self) -> anyhow::Result<PathBuf> {
        work_dir(self.work_dir.as_deref())
    }
}

/// The work directory, absolute: the one of the flag, or the user's own.
pub(crate) fn work_dir(flag: Option<&Path>) -> anyhow::Result<PathBuf> {
    let own = || match std::env::var_os("XDG_RUNTIME_DIR").map(|runtime| PathBuf::from(runtime).join("narthex")) {
        Some(dir) if may_write(&dir) => dir,
        _ => std::env::temp_dir().join(format!("narthex-{}", nix::unistd::geteuid())),
    };
    let dir = match flag {
        Some(dir) => dir.to_owned(),
        None if nix::unistd::geteuid().is_root() => "/run/narthex".into(),
        None => own(),
    };
    Ok(std::path::absolute(dir)?)
}

/// Whether we may write into the directory, or may make it.
fn may_write(dir: &Path) -> bool {
    let place = if dir.exists() { Some(dir) } else { dir.parent() };
    place.is_some_and(|place| nix::unistd::access(place, AccessFlags::W_OK | AccessFlags::X_OK).is_ok())
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  narthex render --manifests examples
  narthex render --kubeconfig ~/.kube/config --format json | jq .live")]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) nginx: NginxArgs,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 clean, 1 problems, 2 wrong usage.

Examples:
  narthex check examples
  narthex check --format json manifests/ | jq '.[].detail'")]
pub(crate) struct CheckArgs {
    /// Directory of manifests
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The NGINX binary whose modules count [default: the first `nginx` on the PATH; without one every module is assumed]
    #[arg(long, value_name = "FILE", env = "NGINX_BINARY")]
    pub(crate) nginx_binary: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "Without --manifests, --kubeconfig or --apiserver-host it asks the running controller of --work-dir.

Examples:
  narthex conf                                   # the whole nginx.conf
  narthex conf shop.example.com                  # what serves a host
  narthex conf shop.example.com /cart/5          # what serves a path
  narthex conf shop.example.com --format json | jq .record
  narthex conf --manifests examples shop.example.com")]
pub(crate) struct ConfArgs {
    /// Host that is served; the whole nginx.conf if left out
    #[arg(value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Path of a rule; or any other path, whose route is looked up as for a request
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) nginx: NginxArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// The NGINX binary
    #[arg(long, value_name = "FILE", env = "NGINX_BINARY")]
    pub(crate) nginx_binary: Option<PathBuf>,
}

/// Forms of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_last_of_several_flags_counts_as_it_did_with_the_predecessors() {
        let parse = |args: &[&str]| Cli::try_parse_from(["narthex"].iter().chain(args)).unwrap();
        let line = ["run", "--ingress-class=a", "--log-level=info", "--enable-metrics", "--ingress-class=b", "--log-level=debug"];
        let cli = parse(&[&line[..], &["--enable-metrics=false"]].concat());
        let Command::Run(args) = cli.command else { panic!("not run") };
        assert_eq!((&*args.model.ingress_class, args.model.metrics.enable_metrics, &*cli.log.log_level), ("b", false, "debug"));
        let cli = parse(&[
            "rollout",
            "--check=nginx",
            "--enable-ha",
            "--log-level=info",
            "--check=none",
            "--enable-ha=false",
            "--log-level=warn",
        ]);
        let Command::Rollout(args) = cli.command else { panic!("not rollout") };
        assert_eq!((&*args.guard.check, args.replicas.enable_ha, &*cli.log.log_level), ("none", false, "warn"));
    }

    #[test]
    fn verbosity_is_a_level_where_none_is_given() {
        for (flags, level) in [
            (&["-v=3"][..], "debug"),
            (&["-v", "5"], "debug"),
            (&["--v=2"], "info"),
            (&["-v=9", "--log-level=warn"], "warn"),
            (&[], "info"),
        ] {
            let cli = Cli::try_parse_from(["narthex", "run"].iter().chain(flags)).unwrap();
            let Command::Run(args) = &cli.command else { panic!("not run") };
            assert_eq!(args.log(&cli.log).log_level, level, "{flags:?}");
        }
    }

    #[test]
    fn boolean_flags_take_an_optional_value_as_the_predecessor_s_did() {
        for (text, expected) in [("--watch-ingress-without-class", true), ("--watch-ingress-without-class=false", false)] {
            let cli = Cli::try_parse_from(["narthex", "run", text]).unwrap();
            let Command::Run(args) = cli.command else { panic!("not run") };
            assert_eq!(args.model.watch_ingress_without_class, expected, "{text}");
        }
    }
}
