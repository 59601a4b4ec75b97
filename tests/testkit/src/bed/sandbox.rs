//! Outside: makes the namespaces, waits for what runs in them, and removes the directory afterwards.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{getegid, geteuid};

use super::terms::{self, Received};

/// The programs that `tests/bed/build.sh` makes.
const PROGRAMS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];

/// The options of a new bed.
#[derive(Debug)]
pub struct Enter {
    /// Directory for everything the bed writes; it stays. Without it a temporary one is made and removed.
    pub keep_dir: Option<PathBuf>,
    /// Directory of the programs; without it `bed/bin` of the target directory that this binary is in.
    pub binaries: Option<PathBuf>,
    /// Number of Nodes.
    pub nodes: u8,
    /// Command and arguments; empty: the bed stays up until it is interrupted.
    pub command: Vec<OsString>,
}

/// Runs the command in a bed of its own and returns its exit code, 128 + n after a signal n.
///
/// # Errors
/// Programs are missing, or the kernel allows no namespaces.
pub fn enter(options: &Enter) -> anyhow::Result<ExitCode> {
    let binaries = find_binaries(options.binaries.as_deref())?;
    let temporary;
    let dir = match &options.keep_dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).with_context(|| format!("directory {}", dir.display()))?;
            let dir = dir.canonicalize().with_context(|| format!("directory {}", dir.display()))?;
            let empty = dir.read_dir().with_context(|| format!("directory {}", dir.display()))?.next().is_none();
            anyhow::ensure!(empty, "directory {} is not empty: a bed begins in an empty one", dir.display());
            dir
        }
        None => {
            temporary = tempfile::Builder::new().prefix("narthex-bed-").tempdir().context("temporary directory of the bed")?;
            temporary.path().to_owned()
        }
    };
    let signals = terms::watch()?;
    new_namespaces()?;
    // Opened here: /proc shows the processes of the bed later, and nothing when they have ended.
    let mut mounts = File::open("/proc/self/mountinfo").context("table of mounts")?;
    let init = Command::new("/proc/self/exe")
        .arg0("bed-init")
        .arg("init")
        .args([
            OsString::from("--dir"),
            dir.as_os_str().to_owned(),
            "--binaries".into(),
            binaries.into(),
            format!("--nodes={}", options.nodes).into(),
        ])
        .arg("--")
        .args(&options.command)
        .spawn()
        .context("cannot start process 1 of the bed")?;
    let init = terms::pid(&init);
    loop {
        let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("wait for a signal"),
        }
        while let Some(received) = Received::read(&signals)? {
            if received.signal == Signal::SIGCHLD {
                let status = waitpid(init, Some(WaitPidFlag::WNOHANG)).context("wait for process 1 of the bed")?;
                if let Some(code) = terms::exit_code(status) {
                    unmount_below(&dir, &mut mounts);
                    return Ok(ExitCode::from(code));
                }
            } else if received.by_process {
                terms::pass_on(received.signal, init);
            }
        }
    }
}

/// Unmounts the roots of containers that the kubelet did not live to unmount: nothing could remove their directories.
fn unmount_below(dir: &Path, mounts: &mut File) {
    let mut table = String::new();
    let _ = mounts.read_to_string(&mut table);
    // The fifth field is the place.
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).filter(|place| Path::new(place).starts_with(dir));
    for place in places {
        let _ = umount2(place, MntFlags::MNT_DETACH);
    }
}

fn find_binaries(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let candidates: Vec<PathBuf> = match given {
        Some(dir) => vec![dir.to_owned()],
        None => {
            let exe = std::env::current_exe().context("path of this program")?;
            // target/debug/bed, or target/<triple>/debug/bed, or target/debug/deps/...
            exe.ancestors().skip(1).take(4).map(|dir| dir.join("bed/bin")).collect()
        }
    };
    let has_all = |dir: &&PathBuf| PROGRAMS.iter().all(|program| dir.join(program).is_file());
    let found = candidates.iter().find(has_all).with_context(|| {
        let looked = candidates.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ");
        format!("{} are missing (looked in {looked}): run tests/bed/build.sh", PROGRAMS.join(", "))
    })?;
    found.canonicalize().with_context(|| format!("directory {}", found.display()))
}

/// New network, mount and process namespaces for the children of this process; a user namespace around them unless we are privileged.
fn new_namespaces() -> anyhow::Result<()> {
    let flags = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    let (uid, gid) = (geteuid(), getegid());
    if uid.is_root() && unshare(flags).is_ok() {
        return Ok(());
    }
    unshare(flags | CloneFlags::CLONE_NEWUSER)
        .context("cannot make namespaces: the bed needs root, or user namespaces (sysctl kernel.unprivileged_userns_clone=1)")?;
    let write = |file: &str, text: String| std::fs::write(file, text).with_context(|| format!("file {file}"));
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    write("/proc/self/gid_map", format!("0 {gid} 1"))
}
