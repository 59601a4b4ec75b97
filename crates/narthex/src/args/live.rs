//! Commands about a running controller, which they ask over its socket: `get`, `diff`, `events`, `logs`, `top`, `doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::signed_duration;

/// The running controller.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Controller")]
pub(crate) struct RunningArgs {
    /// Work directory of the running controller [default: as for run]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
}

impl RunningArgs {
    /// The work directory, absolute.
    pub(crate) fn work_dir(&self) -> anyhow::Result<PathBuf> {
        super::work_dir(self.work_dir.as_deref())
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 success, 1 nothing was found or a failure, 2 wrong usage.

Examples:
  narthex get ingresses -n shop
  narthex get hosts shop.example.com               # one host, with its paths
  narthex get hosts shop -o wide                   # hosts with \"shop\" in the name
  narthex get problems -o json | jq -r '.[] | .object + \": \" + .fix'
  narthex get certs --limit 10                     # those that end first
  narthex get settings --changed
  narthex get workers")]
pub(crate) struct GetArgs {
    /// What to list
    #[arg(value_enum, value_name = "RESOURCE")]
    pub(crate) resource: ResourceName,
    /// A name, or a part of the names
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Only what belongs to this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Only settings that are not the default
    #[arg(long)]
    pub(crate) changed: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "table")]
    pub(crate) output: OutputFormat,
    /// At most so many; 0: all
    #[arg(long, default_value_t = 500, value_name = "NUMBER")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResourceName {
    /// Ingresses, and what of each is served
    #[value(aliases = ["ingress", "ing"])]
    Ingresses,
    /// Hosts with their certificates and requests
    #[value(alias = "host")]
    Hosts,
    /// Backends with their endpoints and requests
    #[value(alias = "backend")]
    Backends,
    /// Certificates, those that end first before others
    #[value(aliases = ["cert", "certificates", "certificate"])]
    Certs,
    /// Findings, each with what to do
    #[value(alias = "problem")]
    Problems,
    /// Flags and keys of the ConfigMap in effect
    #[value(alias = "setting")]
    Settings,
    /// Processes of NGINX and their shared memory
    #[value(alias = "worker")]
    Workers,
    /// Starts and reloads of NGINX, the newest first
    #[value(aliases = ["revision", "rev"])]
    Revisions,
    /// What is finite, and the namespaces that use most of it
    #[value(alias = "budget")]
    Budgets,
}

/// Forms of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Table,
    /// The same with more columns.
    Wide,
    /// For programs.
    Json,
    /// For people who want everything.
    Yaml,
}

#[derive(Debug, Args)]
#[command(after_help = "The newest 20 revisions are kept; a revision may be shortened to its first letters.

Exit codes: 0 no difference, 1 a difference or a failure, 2 wrong usage.

Examples:
  narthex diff                                     # what the last reload changed
  narthex diff 4f2a                                # what has changed since this revision
  narthex diff 4f2a 9c01")]
pub(crate) struct DiffArgs {
    /// The first revision, as `narthex get revisions` lists them [default: the one before the second]
    #[arg(value_name = "REVISION")]
    pub(crate) from: Option<String>,
    /// The second revision [default: the one that NGINX runs]
    #[arg(value_name = "REVISION")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  narthex events                                   # what the controller did last
  narthex events --follow
  narthex events -o json --tail 1000 | jq 'select(.kind == \"reload\")'")]
pub(crate) struct EventsArgs {
    /// Go on with what happens next
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Begin with so many of before
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(crate) tail: usize,
    /// Form of the output; JSON is one object a line
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: super::Format,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The lines come from NGINX itself, whatever its access log says and wherever that goes. It begins when this command does, and ends with it.
Of one host at most 1,000 lines wait; those that are lost beyond that are counted.

Examples:
  narthex logs shop.example.com
  narthex logs shop.example.com -o json | jq 'select(.status >= 500)'
  narthex logs '*.example.com'                     # the hosts of one wildcard
  narthex logs '*'                                 # every host"
)]
pub(crate) struct HostLogsArgs {
    /// The host of the requests
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    /// End after so many requests
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<u64>,
    /// Form of the output; JSON is one object a line
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: super::Format,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Rates and latencies are of the last 10 seconds. The controller needs --enable-metrics.
Where the output is no terminal, it ends after one table, as with --once.

Examples:
  narthex top
  narthex top --by backend
  narthex top --once -o json | jq '.[] | select(.errors > 0.01)'")]
pub(crate) struct TopArgs {
    /// What requests are summed up by
    #[arg(long, value_enum, default_value = "host", value_name = "WHAT")]
    pub(crate) by: By,
    /// Only what has this in its name
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Only what belongs to this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Print once and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Form of the output; JSON only with --once
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: super::Format,
    /// Time between two looks
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = signed_duration)]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}

/// What requests are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The host.
    Host,
    /// The Ingress.
    Ingress,
    /// The backend.
    Backend,
}

impl By {
    /// As the API names it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Ingress => "ingress",
            Self::Backend => "backend",
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Each finding says what is wrong, by what it is known, and what to do; the worst come first.

Exit codes: 0 nothing is wrong, 1 warnings, 2 wrong usage, 3 errors: something is not served as it should be.

Examples:
  narthex doctor
  narthex doctor -o json | jq -r '.[] | .severity + \" \" + .what'
  kubectl narthex doctor -n ingress")]
pub(crate) struct DoctorArgs {
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: super::Format,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}
