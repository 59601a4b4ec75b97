//! Flags of `narthex watch` and `narthex quit`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration::duration;
use super::values::boolean;
use super::{ApiArgs, Format, HttpArgs};

#[derive(Debug, Args)]
#[command(after_help = "Environment: CONFIG_DIR, PROCESS_NAME, RELOAD_SIGNAL and VERBOSE as config-reloader sidecars know them;
WATCH_LIST (with WATCH_SEPARATOR and @exclusions) and WATCH_PERIOD as inotify scripts know them.

Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage; with a command, that of the command. With --once: 0 applied, 1 not.

Examples:
  # A sidecar in a Pod with shareProcessNamespace: true
  narthex watch --config-dir /etc/nginx/conf.d

  # Beside an NGINX of systemd, with a URL to ask for reloads
  narthex watch --config-dir /etc/nginx --pid-file /run/nginx.pid --listen unix:/run/narthex.sock

  # Around NGINX, as the first process of its container
  narthex watch --config-dir /etc/nginx/conf.d -- nginx -g 'daemon off;'

  # Files that other users write: checked, tested, swapped in, put back if NGINX does not take them
  narthex watch --from /srv/sites --to /etc/nginx/conf.d --pid-file /run/nginx.pid")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) reload: ReloadArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    #[command(flatten)]
    pub(crate) http: HttpArgs,
    #[command(flatten)]
    pub(crate) api: ApiArgs,
    /// Don't write Events on this Pod (POD_NAME, POD_NAMESPACE) about failures and their end
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = clap::ArgAction::Set, value_parser = boolean(), help_heading = "Cluster")]
    pub(crate) disable_sync_events: bool,
    /// Write the last result to this file, as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) status_file: Option<PathBuf>,
    /// While something is wrong, write what NGINX says to this file [default with --from: nginx_error_output in that directory]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) error_file: Option<PathBuf>,
    /// Form of the result of --once
    #[arg(long, value_enum, default_value = "text", help_heading = "Results")]
    pub(crate) output: Format,
    /// NGINX to run as a child, in the foreground
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The files that are followed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct FilesArgs {
    /// Directory or file to follow, with what is below it; several by commas or repetition
    #[arg(long, value_name = "PATH", env = "CONFIG_DIR", value_delimiter = ',')]
    pub(crate) config_dir: Vec<PathBuf>,
    /// Follow these although NGINX's configuration does not name them: a module, or another file, gets at them
    #[arg(long)]
    pub(crate) indirect: bool,
    /// Leave this path out, with what is below it
    #[arg(long, value_name = "PATH")]
    pub(crate) exclude: Vec<PathBuf>,
    /// Directory into which other users write files for NGINX
    #[arg(long, value_name = "DIR", requires = "to")]
    pub(crate) from: Option<PathBuf>,
    /// Directory that NGINX reads: it will hold what --from holds, and nothing else. Made if only its last part is missing and NGINX's configuration names it
    #[arg(long, value_name = "DIR", requires = "from")]
    pub(crate) to: Option<PathBuf>,
    /// Refuse files of --from that use this directive, besides those that are refused anyway (docs/watch.md); * stands for any text
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) deny_directive: Vec<nginx_watch::NamePattern>,
    /// Let this directive through, whatever its arguments
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) allow_directive: Vec<nginx_watch::NamePattern>,
}

/// The NGINX that follows.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "NGINX")]
pub(crate) struct TargetArgs {
    /// File with the pid of the master; a process that is no NGINX master (nor named --process-name), or is younger than the file, is not signalled
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,
    /// Without --pid-file: name of the program; its master is found in /proc, for each run again
    #[arg(long, value_name = "NAME", default_value = "nginx", env = "PROCESS_NAME")]
    pub(crate) process_name: String,
}

/// Options of the reload.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reload")]
pub(crate) struct ReloadArgs {
    /// Signal that makes it read its configuration
    #[arg(long, value_name = "NAME", default_value = "HUP", env = "RELOAD_SIGNAL", value_parser = signal)]
    pub(crate) signal: nix::sys::signal::Signal,
    /// Test with this command (by sh -c) instead of NGINX's own -t; a copy of the files is in $NARTHEX_SNAPSHOT
    #[arg(long, value_name = "COMMAND")]
    pub(crate) test_command: Option<String>,
    /// Longest test
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) test_timeout: Duration,
    /// The time that new workers may take to serve
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) confirm_timeout: Duration,
    /// Test, and don't signal NGINX
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Test, reload and confirm once, whatever changed, and end
    #[arg(long, conflicts_with = "command")]
    pub(crate) once: bool,
    /// With a command: how long open requests may take when it is ended
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = duration)]
    pub(crate) quit_timeout: Duration,
}

/// The pace.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pace")]
pub(crate) struct PaceArgs {
    /// Wait this long after the last change
    #[arg(long, value_name = "TIME", default_value = "250ms", env = "WATCH_PERIOD", value_parser = duration)]
    pub(crate) debounce: Duration,
    /// And at most this long after the first one [default: eight times --debounce, at least 2s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) max_delay: Option<Duration>,
    /// Look this often where the file system sends no events
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub(crate) poll_interval: Duration,
    /// Don't use file system events: look every --poll-interval
    #[arg(long)]
    pub(crate) no_events: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 it is gone (without --wait: it was signalled), 1 it is not, or there is none, 2 wrong usage.

Examples:
  # preStop of a container: load balancers forget it first, then open requests are finished
  narthex quit --delay 5s --wait --timeout 50s")]
pub(crate) struct QuitArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Wait until master and workers are gone
    #[arg(long)]
    pub(crate) wait: bool,
    /// The time to wait for that
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = duration, requires = "wait")]
    pub(crate) timeout: Duration,
    /// Wait before it is signalled, so that load balancers send nothing any more
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub(crate) delay: Duration,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: Format,
}

impl TargetArgs {
    /// The way to find it.
    pub(crate) fn locator(&self) -> ngx_proc::find::Locator {
        match &self.pid_file {
            Some(path) => ngx_proc::find::Locator::PidFile(path.clone(), self.process_name.clone()),
            None => ngx_proc::find::Locator::Name(self.process_name.clone()),
        }
    }
}

/// Reads `HUP`, `SIGHUP` or `hup`.
fn signal(text: &str) -> Result<nix::sys::signal::Signal, String> {
    let upper = text.to_ascii_uppercase();
    let name = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    name.parse().map_err(|_| format!("{text:?} is not a signal: expected a name such as HUP or USR1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_named_with_and_without_sig() {
        for text in ["HUP", "SIGHUP", "hup"] {
            assert_eq!(signal(text), Ok(nix::sys::signal::Signal::SIGHUP));
        }
        assert!(signal("1").is_err() && signal("SIGNOTHING").is_err());
    }
}
