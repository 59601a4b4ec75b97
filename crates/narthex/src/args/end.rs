//! Flags about the end of the controller.

use std::time::Duration;

use clap::Args;

use super::values::seconds;

/// Grace before the end in a Pod, seconds: Services and load balancers forget an address within that.
pub(super) const GRACE: u64 = 5;
/// Grace after the end of NGINX in a Pod, seconds: the metrics are scraped once more.
const POST_GRACE: u64 = 10;

/// The end of the controller, in the order of its steps.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The end")]
pub(crate) struct EndArgs {
    /// How long everything is served on after the signal to stop, while health and readiness fail already, in seconds [default: 5 in a Pod, else 0]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) shutdown_grace_period: Option<u64>,
    /// How long open requests may take after that, in seconds [default: worker-shutdown-timeout of the ConfigMap]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) drain_timeout: Option<u64>,
    /// How long health and metrics answer when NGINX has ended, in seconds [default: 10 in a Pod, else 0]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) post_shutdown_grace_period: Option<u64>,
    /// Stop only the controller and leave NGINX serving; the next one adopts it by the work directory
    #[arg(long)]
    pub(crate) leave_nginx: bool,
}

impl EndArgs {
    /// The wait between the signal and the end of new connections.
    pub(crate) fn grace(&self, in_pod: bool) -> Duration {
        Duration::from_secs(self.shutdown_grace_period.unwrap_or(if in_pod { GRACE } else { 0 }))
    }

    /// The wait between the end of NGINX and that of the process.
    pub(crate) fn post_grace(&self, in_pod: bool) -> Duration {
        Duration::from_secs(self.post_shutdown_grace_period.unwrap_or(if in_pod { POST_GRACE } else { 0 }))
    }

    /// Longest time for open requests; `None`: as long as NGINX gives its workers.
    pub(crate) fn drain(&self) -> Option<Duration> {
        self.drain_timeout.map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        end: EndArgs,
    }

    fn line(flags: &[&str]) -> EndArgs {
        Line::try_parse_from(["x"].iter().chain(flags)).unwrap().end
    }

    #[test]
    fn graces_are_those_of_a_pod_or_none_unless_given() {
        let given = line(&["--shutdown-grace-period=-1", "--post-shutdown-grace-period", "3", "--drain-timeout=600"]);
        let secs = Duration::from_secs;
        assert_eq!((line(&[]).grace(true), line(&[]).post_grace(true), line(&[]).drain()), (secs(5), secs(10), None));
        assert_eq!((line(&[]).grace(false), line(&[]).post_grace(false)), (secs(0), secs(0)));
        assert_eq!((given.grace(true), given.post_grace(false), given.drain()), (secs(0), secs(3), Some(secs(600))));
    }
}
