//! Process 1 of a bed: prepares the namespaces, runs the supervisor and the command, reaps orphans, ends with the command.
//!
//! When process 1 ends, the kernel kills every other process of the namespace. It reaps orphans because a test that kills a controller
//! must see the NGINX left behind go away when that is killed too, not stay as a zombie.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitCode, Stdio};

use anyhow::Context;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::terms::{self, Received};
use super::{BED_ENV, DNS_ADDRESS};
use crate::ip::ip;

/// The task of process 1.
#[derive(Debug)]
pub struct Init {
    /// Directory of the bed.
    pub dir: PathBuf,
    /// Directory of the control plane's programs.
    pub binaries: PathBuf,
    /// Number of Nodes.
    pub nodes: u8,
    /// Command and arguments; empty: stay until interrupted.
    pub command: Vec<OsString>,
    /// Says to the user how to reach the bed, when there is no command.
    pub announce: fn(&str),
}

/// Does the work of process 1 and returns the command's exit code.
///
/// # Errors
/// The namespaces can't be prepared, or the control plane doesn't start or ends early.
pub fn init(options: &Init) -> anyhow::Result<ExitCode> {
    set_pdeathsig(Signal::SIGKILL).context("ask to die with the parent")?;
    let signals = terms::watch()?;
    // As the parent's namespace numbers it: /proc still belongs to that one.
    let outer_pid = std::fs::read_link("/proc/self").context("/proc/self")?;
    prepare_mounts(&options.dir)?;
    prepare_network()?;

    let mut supervisor = Command::new("/proc/self/exe")
        .arg0("bed-supervise")
        .arg("supervise")
        .args([OsString::from("--dir"), options.dir.clone().into(), "--binaries".into(), options.binaries.clone().into()])
        .arg(format!("--nodes={}", options.nodes))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .context("cannot start the supervisor")?;
    let supervisor_pid = terms::pid(&supervisor);
    let ready = supervisor.stdout.take().context("standard output was piped")?;
    if let Some(code) = wait_until_ready(&signals, ready)? {
        return Ok(code);
    }

    let command = if options.command.is_empty() {
        (options.announce)(&how_to_enter(&options.dir, &options.binaries, &outer_pid));
        None
    } else {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("bed-exec").arg("exec").arg("--").args(&options.command);
        environment(&mut command, &options.dir, &options.binaries);
        Some(terms::pid(&command.spawn().context("cannot start the command")?))
    };
    loop {
        wait_for_signal(&signals, None)?;
        while let Some(received) = Received::read(&signals)? {
            match (received.signal, command) {
                (Signal::SIGCHLD, _) => {
                    if let Some(code) = reap(supervisor_pid, command)? {
                        return Ok(ExitCode::from(code));
                    }
                }
                (signal, Some(command)) if received.by_process => terms::pass_on(signal, command),
                (_, Some(_)) => {}
                (_, None) => return Ok(ExitCode::SUCCESS),
            }
        }
    }
}

/// Collects the children that ended; the exit code when the command is among them.
fn reap(supervisor: Pid, command: Option<Pid>) -> anyhow::Result<Option<u8>> {
    loop {
        let status = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            Ok(status) => status,
            Err(error) => return Err(error).context("wait for children"),
        };
        let Some(code) = terms::exit_code(status) else { continue };
        if status.pid() == command {
            return Ok(Some(code));
        }
        anyhow::ensure!(status.pid() != Some(supervisor), "the bed's supervisor ended with {code} before the command did");
    }
}

/// Waits for the supervisor's line on its standard output; an exit code when a signal says to end.
fn wait_until_ready(signals: &nix::sys::signalfd::SignalFd, ready: ChildStdout) -> anyhow::Result<Option<ExitCode>> {
    let mut ready = BufReader::new(ready);
    loop {
        if wait_for_signal(signals, Some(ready.get_ref()))? {
            let mut line = String::new();
            ready.read_line(&mut line).context("message of the supervisor")?;
            // Its own message is on standard error already.
            return Ok((line.trim_end() != super::supervisor::READY).then(|| ExitCode::from(1)));
        }
        while let Some(received) = Received::read(signals)? {
            if received.signal != Signal::SIGCHLD {
                return Ok(Some(ExitCode::from(130)));
            }
        }
    }
}

/// Waits until a signal is there (false) or `other` can be read (true).
fn wait_for_signal(signals: &nix::sys::signalfd::SignalFd, other: Option<&ChildStdout>) -> anyhow::Result<bool> {
    let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    fds.extend(other.map(|other| PollFd::new(other.as_fd(), PollFlags::POLLIN)));
    loop {
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) => return Ok(fds.get(1).and_then(PollFd::any).unwrap_or(false)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("wait for an event"),
        }
    }
}

fn prepare_mounts(dir: &Path) -> anyhow::Result<()> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).context("make mounts private")?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC, none).context("mount /proc")?;
    let ours = dir.join("resolv.conf");
    let text =
        format!("nameserver {DNS_ADDRESS}\nsearch bed.test default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n");
    std::fs::write(&ours, text).with_context(|| format!("file {}", ours.display()))?;
    // It may be a link to a file elsewhere.
    let theirs = std::fs::canonicalize("/etc/resolv.conf").context("/etc/resolv.conf, which the bed covers with its own")?;
    mount(Some(&ours), &theirs, none, MsFlags::MS_BIND, none).with_context(|| format!("mount over {}", theirs.display()))
}

fn prepare_network() -> anyhow::Result<()> {
    ip(&["link", "set", "lo", "up"])?;
    ip(&["route", "add", "local", "10.77.0.0/16", "dev", "lo"])?;
    ip(&["route", "add", "local", "10.96.0.0/16", "dev", "lo"])?;
    // IPv6 may be off on this machine: the tests that need it say so themselves.
    if Path::new("/proc/sys/net/ipv6").exists() {
        ip(&["-6", "route", "add", "local", "fd77::/64", "dev", "lo"])?;
        std::fs::write("/proc/sys/net/ipv6/ip_nonlocal_bind", "1").context("allow to listen on fd77::/64")?;
    }
    Ok(())
}

fn path_with(binaries: &Path) -> OsString {
    let mut path = binaries.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()));
    path
}

fn environment(command: &mut Command, dir: &Path, binaries: &Path) {
    command.env("KUBECONFIG", dir.join("kubeconfig")).env(BED_ENV, dir).env("PATH", path_with(binaries));
    command.env("KUBECACHEDIR", dir.join("kubectl-cache"));
    // No proxy can be reached from here, and none is needed.
    for proxy in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
}

fn how_to_enter(dir: &Path, binaries: &Path, outer_pid: &Path) -> String {
    let user = if nix::unistd::geteuid().is_root() && std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| is_whole(&map)) {
        ""
    } else {
        " --user --preserve-credentials"
    };
    format!(
        "export KUBECONFIG={dir}/kubeconfig {BED_ENV}={dir} PATH={bin}:$PATH\nnsenter --target {pid}{user} --net --mount --pid sh\n",
        dir = dir.display(),
        bin = binaries.display(),
        pid = outer_pid.display(),
    )
}

/// Whether a uid_map is that of the first user namespace.
fn is_whole(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}
