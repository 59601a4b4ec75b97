//! `narthex wait-shutdown`: the controller of this container stops, and is waited for.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use ngx_proc::procfs::{self, Identity};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use tokio::net::UnixStream;
use tokio::time::sleep;

use crate::args::{Cli, Command, WaitShutdownArgs};
use crate::commands::conf;
use crate::commands::run::shutdown::ONCE;

const POLL: Duration = Duration::from_millis(50);

/// Asks it to stop, once, and returns when it has ended.
pub(crate) fn wait_shutdown(args: &WaitShutdownArgs) -> anyhow::Result<ExitCode> {
    super::run::runtime()?.block_on(async {
        let controllers = match &args.work_dir {
            Some(dir) => vec![of_work_dir(&std::path::absolute(dir)?).await?],
            None => of_container(),
        };
        if controllers.is_empty() {
            bail!(
                "no controller runs in this container: expected a process `narthex run`, `nginx-ingress-controller` or `narthex data-plane`; nothing is stopped"
            );
        }
        let mut unasked = controllers.clone();
        while controllers.iter().any(|controller| procfs::alive(*controller)) {
            unasked = unasked.into_iter().map(ask).filter_map(Result::transpose).collect::<anyhow::Result<_>>()?;
            sleep(POLL).await;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Asks a controller to stop. One that stops already isn't hastened. It is given back where it has no handler yet: the first process of
/// a container doesn't see such a signal.
fn ask(controller: Identity) -> anyhow::Result<Option<Identity>> {
    let handled = handled(controller.pid);
    let signal = if handled.contains(ONCE) { ONCE } else { Signal::SIGTERM };
    match children::send(controller, signal) {
        Ok(()) => Ok((!handled.contains(signal)).then_some(controller)),
        Err(Errno::ESRCH) => Ok(None),
        Err(errno) => {
            bail!("{signal} can't be sent to the controller, process {} ({errno}): run as the same user; it goes on", controller.pid)
        }
    }
}

/// The signals of which a process has handlers, by `SigCgt` in `/proc/PID/status`; none where that can't be read.
fn handled(pid: i32) -> SigSet {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok()).unwrap_or(0);
    Signal::iterator().filter(|signal| mask >> (*signal as u32 - 1) & 1 == 1).collect()
}

/// The process that listens on the socket in a work directory.
async fn of_work_dir(work_dir: &Path) -> anyhow::Result<Identity> {
    let socket = work_dir.join(conf::SOCKET);
    let missing = || format!("no controller runs on --work-dir {}: expected one that listens on {}", work_dir.display(), socket.display());
    let connection = UnixStream::connect(&socket).await.with_context(missing)?;
    connection.peer_cred()?.pid().and_then(procfs::identity).with_context(missing)
}

/// The controllers in this container. Those of other containers, which are seen where a Pod shares its processes, are not meant.
fn of_container() -> Vec<Identity> {
    let own = std::process::id().cast_signed();
    let root = root(own);
    let is_here = |pid: i32| self::root(pid).is_none_or(|other| root == Some(other));
    let controllers = procfs::pids().into_iter().filter(|pid| *pid != own && is_controller(*pid) && is_here(*pid));
    controllers.filter_map(procfs::identity).collect()
}

/// The root directory of a process, by device and inode; `None` where that can't be seen.
fn root(pid: i32) -> Option<(u64, u64)> {
    // The slash at the end: the directory, not the link.
    let metadata = fs::metadata(format!("/proc/{pid}/root/")).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn is_controller(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0);
    means_run(words.map(|word| OsString::from_vec(word.to_vec())))
}

/// Whether a command line is that of a controller or a data plane, by whatever name it was called.
fn means_run(words: impl IntoIterator<Item = OsString>) -> bool {
    let words = crate::entry::command_line(words);
    let is_own = words.first().is_some_and(|word| Path::new(word).file_name().is_some_and(|name| name == "narthex"));
    is_own && Cli::try_parse_from(words).is_ok_and(|cli| matches!(cli.command, Command::Run(_) | Command::DataPlane(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_known_by_its_command_line() {
        let check = |words: &[&str], expected| assert_eq!(means_run(words.iter().map(OsString::from)), expected, "{words:?}");
        check(&["/nginx-ingress-controller", "--configmap=$(POD_NAMESPACE)/x"], true);
        check(&["/usr/bin/narthex", "--log-level", "debug", "run", "--work-dir=/run/narthex"], true);
        check(&["/usr/bin/narthex", "/nginx-ingress-controller", "--http-port=81"], true);
        check(&["/usr/bin/narthex", "data-plane", "--work-dir=/run/narthex"], true);
        check(&["/usr/bin/narthex", "explain", "run"], false);
        check(&["sh", "-c", "narthex run"], false);
        check(&["/wait-shutdown"], false);
        check(&[""], false);
    }
}
