//! Flags about reloads by HTTP: the same for `narthex watch` and `narthex run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration::duration;

/// Reloads that are asked for.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reloads by HTTP")]
pub(crate) struct HttpArgs {
    /// Serve /reload, /status, /healthz and /readyz on this address, or on unix:PATH; off unless given
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Addresses and ranges that may ask for /reload and /status, by commas; by default the loopback ones with --token-file, none without. What headers claim doesn't count
    #[arg(long, requires = "listen", value_name = "RANGES")]
    pub(crate) allow: Option<ngx_value::CidrSet>,
    /// File with a token that has to be shown as well (Authorization: Bearer)
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,
    /// Pass /reload on to every other address of this name, as name or name:port: that of a headless Service
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub(crate) peers: Option<String>,
    /// Run this command (by sh -c) before a reload that was asked for by HTTP
    #[arg(long, value_name = "COMMAND", requires = "listen")]
    pub(crate) before: Option<String>,
    /// And this often without being asked: the command, the reload here and at the peers; of the replicas that share a lock, one does it
    #[arg(long, value_name = "TIME", requires = "before", value_parser = duration)]
    pub(crate) before_every: Option<Duration>,
    /// With --before: a lock file on shared storage, so that one replica alone runs the command and the others wait for it
    #[arg(long, value_name = "FILE", requires = "before", conflicts_with = "lock_lease")]
    pub(crate) lock_file: Option<PathBuf>,
    /// With --before: the same by the Lease of this name in POD_NAMESPACE (or the namespace of the service account or the kubeconfig), where the storage has no locks
    #[arg(long, value_name = "NAME", requires = "before")]
    pub(crate) lock_lease: Option<String>,
    /// Longest run of --before, and longest wait for an answer of a peer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) request_timeout: Duration,
}
