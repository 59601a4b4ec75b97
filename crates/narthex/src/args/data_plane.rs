//! Flags of NGINX's own container.

use std::time::Duration;

use clap::Args;

use super::NginxArgs;
use super::end::GRACE;
use super::values::seconds;

/// Drain of workers without a limit of their own. A kubelet ends the Pod long before.
const UNLIMITED: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Args)]
#[command(
    after_help = "For the container of NGINX where the controller has another: `narthex run --split-data-plane` with the same --work-dir.
It starts, tests, signals and looks at the processes of NGINX, as the controller asks over a unix socket in the work directory.
It needs no access to an API server, and no token.

Signals: TERM, INT and QUIT end NGINX and then it, a second one shortens each step."
)]
#[command(args_override_self = true)]
pub(crate) struct DataPlaneArgs {
    #[command(flatten)]
    pub(crate) nginx: NginxArgs,
    /// How long everything is served on after the signal to stop, in seconds [default: 5 in a Pod, else 0]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) shutdown_grace_period: Option<u64>,
    /// How long open requests may take after that, in seconds [default: worker-shutdown-timeout of the ConfigMap]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) drain_timeout: Option<u64>,
}

impl DataPlaneArgs {
    /// The wait between the signal and the end of new connections.
    pub(crate) fn grace(&self, in_pod: bool) -> Duration {
        Duration::from_secs(self.shutdown_grace_period.unwrap_or(if in_pod { GRACE } else { 0 }))
    }

    /// Longest time for open requests; without the flag NGINX ends its workers itself.
    pub(crate) fn drain(&self) -> Duration {
        self.drain_timeout.map_or(UNLIMITED, Duration::from_secs)
    }
}
