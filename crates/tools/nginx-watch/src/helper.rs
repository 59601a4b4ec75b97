//! The helper process: goes where another process is, puts a snapshot over directories there, and becomes a command.
//!
//! A program of its own (a hidden command of the binary), for two reasons: mounts and roots are changed for the helper alone, and before it has threads.
//! The files come through its standard input, so that they need no place that both file systems have.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path};
use std::process::{Command, Stdio};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Gid, Uid, chdir, chown, chroot, geteuid, setgid, setgroups, setuid};

use crate::job::{Item, Job};

/// Exit code when the job could not be set up: what the command would say is not known.
pub(crate) const CANNOT: u8 = 70;
/// The beginning of the last line of standard error then.
pub(crate) const PREFIX: &str = "helper: ";

/// Runs the job on standard input. Returns only when that fails: the exit code, after the reason was written to standard error.
///
/// Must be called before the process has a second thread.
pub fn run() -> u8 {
    let error = match Job::read(io::stdin().lock()) {
        Ok((job, contents)) => match prepare(&job, &contents) {
            Ok(()) => become_command(&job),
            Err(error) => error,
        },
        Err(error) => format!("the job can't be read: {error}"),
    };
    // There is no reader left if this fails.
    let _ = writeln!(io::stderr(), "{PREFIX}{error}");
    CANNOT
}

fn prepare(job: &Job, contents: &[Vec<u8>]) -> Result<(), String> {
    if let Some(pid) = job.enter {
        enter(pid, !job.overlays.is_empty())?;
    }
    if job.overlays.is_empty() {
        return Ok(());
    }
    own_mounts()?;
    let mut contents = contents.iter();
    for overlay in &job.overlays {
        cover(&overlay.directory)?;
        for (item, bytes) in overlay.files.iter().zip(contents.by_ref()) {
            place(&overlay.directory, item, bytes).map_err(|error| format!("{}/{}: {error}", overlay.directory.display(), item.path))?;
        }
    }
    Ok(())
}

/// Into the mounts of a process; or, where that is not permitted and nothing will be mounted, only into its root.
fn enter(pid: i32, mounts: bool) -> Result<(), String> {
    let root = format!("/proc/{pid}/root");
    let namespace = fs::File::open(format!("/proc/{pid}/ns/mnt")).map_err(|error| format!("the mounts of process {pid}: {error}"))?;
    // Opened first: afterwards /proc may be another one.
    let top = fs::File::open(&root).map_err(|error| format!("the root of process {pid}: {error}"))?;
    match setns(&namespace, CloneFlags::CLONE_NEWNS) {
        Ok(()) => nix::unistd::fchdir(&top).and_then(|()| chroot(".")),
        Err(error) if mounts => {
            return Err(format!("the mounts of process {pid} can't be entered ({error}): that takes the capability SYS_ADMIN"));
        }
        Err(_) => chroot(root.as_str()),
    }
    .and_then(|()| chdir("/"))
    .map_err(|error| format!("the root of process {pid} can't be entered ({error}): that takes the capability SYS_CHROOT"))
}

/// Mounts that no other process sees; as an ordinary user with the help of a user namespace.
fn own_mounts() -> Result<(), String> {
    let (uid, gid) = (geteuid(), nix::unistd::getegid());
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNS) {
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUSER)
            .map_err(|_| format!("mounts of its own ({error}): that takes the capability SYS_ADMIN, or user namespaces"))?;
        let write = |file: &str, text: String| fs::write(file, text).map_err(|error| format!("{file}: {error}"));
        write("/proc/self/setgroups", "deny".to_owned())?;
        write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).map_err(|error| format!("private mounts: {error}"))
}

/// Puts an empty directory over this one.
fn cover(directory: &Path) -> Result<(), String> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), directory, Some("tmpfs"), flags, Some("mode=755"))
        .map_err(|error| format!("mount over {}: {error}", directory.display()))
}

fn place(directory: &Path, item: &Item, bytes: &[u8]) -> io::Result<()> {
    let relative = Path::new(&item.path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other("a path that leads out of its directory"));
    }
    let path = directory.join(relative);
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
    }
    if item.length.is_none() {
        return symlink("/nonexistent", path);
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(bytes)?;
    // In a user namespace there is only one user: then what we could read is ours.
    let _ = chown(&path, Some(Uid::from_raw(item.owner.0)), Some(Gid::from_raw(item.owner.1)));
    file.set_permissions(Permissions::from_mode(item.mode & 0o777))
}

/// Only returns when it fails.
fn become_command(job: &Job) -> String {
    if let Some((uid, gid, groups)) = &job.credentials
        && geteuid().is_root()
        && *uid != 0
    {
        let groups: Vec<Gid> = groups.iter().copied().map(Gid::from_raw).collect();
        let changed = setgroups(&groups).and_then(|()| setgid(Gid::from_raw(*gid))).and_then(|()| setuid(Uid::from_raw(*uid)));
        if let Err(error) = changed {
            return format!("user {uid}: {error}");
        }
    }
    let Some((program, arguments)) = job.command.split_first() else { return "no command".to_owned() };
    let error = Command::new(program).args(arguments).stdin(Stdio::null()).env_remove("NGINX").exec();
    format!("{program}: {error}")
}
