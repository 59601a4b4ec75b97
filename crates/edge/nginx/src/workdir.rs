//! The work directory: made, repaired, and locked so that two controllers don't share it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::unistd::{Gid, Group, Uid, User, chown};
use render::Paths;

use crate::error::OpenError;

/// `sun_path` has 108 bytes, the terminating zero included.
const LONGEST_SOCKET_PATH: usize = 107;

/// The work directory is ours until this is dropped, or we are killed.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Makes the work directory and the one in it for sockets, where they are missing, and repairs their modes.
pub(crate) fn prepare(paths: &Paths) -> Result<(), OpenError> {
    if !paths.work_dir.is_absolute() {
        return Err(OpenError::Relative(paths.work_dir.clone()));
    }
    let socket = paths.control_socket();
    let length = socket.as_os_str().as_bytes().len();
    if length > LONGEST_SOCKET_PATH {
        return Err(OpenError::SocketPath { path: socket, length, limit: LONGEST_SOCKET_PATH });
    }
    if !paths.work_dir.exists() {
        make(&paths.work_dir, 0o755)?;
    }
    check_owner(&paths.work_dir)?;
    directory(&paths.run_dir(), 0o700)
}

/// Makes what is missing, repairs modes and owners, takes the lock.
pub(crate) fn open(paths: &Paths, worker_user: Option<&str>) -> Result<Lock, OpenError> {
    prepare(paths)?;
    let lock = lock(paths)?;
    directory(&paths.certs_dir(), 0o700)?;
    directory(&paths.lua_dir(), 0o755)?;
    directory(&paths.temp_dir(), 0o700)?;
    // Workers of another user may traverse it, and change nothing: we and the master write there as root.
    directory(&paths.inner_dir(), if worker_user.is_some() { 0o710 } else { 0o700 })?;
    if let Some(user) = worker_user {
        give_to_workers(paths, user)?;
    }
    Ok(lock)
}

/// Refuses a work directory of another user, who could put anything into it. One that does not exist yet will be ours.
///
/// # Errors
/// The directory, or the link that leads to it, belongs to neither us nor root.
fn check_owner(work_dir: &Path) -> Result<(), OpenError> {
    let us = Uid::effective();
    let owners = [fs::symlink_metadata(work_dir), fs::metadata(work_dir)];
    for owner in owners.into_iter().flatten().map(|metadata| Uid::from_raw(metadata.uid())) {
        if owner != us && !owner.is_root() {
            return Err(OpenError::Owner { path: work_dir.to_owned(), owner: name(owner), us: name(us) });
        }
    }
    Ok(())
}

fn name(user: Uid) -> String {
    User::from_uid(user).ok().flatten().map_or_else(|| format!("the user {user}"), |user| user.name)
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> OpenError + 'a {
    move |source| OpenError::WorkDir { what, path: path.to_owned(), source }
}

fn make(path: &Path, mode: u32) -> Result<(), OpenError> {
    DirBuilder::new().recursive(true).mode(mode).create(path).map_err(failed("making the directory", path))
}

fn directory(path: &Path, mode: u32) -> Result<(), OpenError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            fs::remove_file(path).map_err(failed("removing what should be a directory,", path))?;
            make(path, mode)?;
        }
        Err(_) => make(path, mode)?,
    }
    let metadata = path.metadata().map_err(failed("reading the mode of", path))?;
    if metadata.permissions().mode() & 0o7777 != mode {
        fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed("setting the mode of", path))?;
    }
    Ok(())
}

fn lock(paths: &Paths) -> Result<Lock, OpenError> {
    let path = paths.run_dir().join("lock");
    let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut file = open().map_err(failed("opening", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(OpenError::Locked { path: paths.work_dir.clone(), pid });
        }
        Err(TryLockError::Error(source)) => return Err(failed("locking", &path)(source)),
    }
    let tell = |file: &mut File| {
        file.set_len(0)?;
        writeln!(file, "{}", std::process::id())
    };
    // The number is for messages only: a full disk is no reason not to start.
    if let Err(error) = tell(&mut file) {
        tracing::warn!(path = %path.display(), %error, "the lock of the work directory does not name its holder");
    }
    Ok(Lock { _file: file })
}

/// Buffered bodies are written by the workers, and the inner sockets and passthrough files are opened by them; nothing else below the work directory is.
fn give_to_workers(paths: &Paths, user: &str) -> Result<(), OpenError> {
    let (name, group) = user.split_once(':').unwrap_or((user, ""));
    let group = Group::from_name(group).ok().flatten();
    let Ok(Some(user)) = User::from_name(name) else {
        return Ok(());
    };
    let temp = paths.temp_dir();
    let metadata = temp.metadata().map_err(failed("reading the owner of", &temp))?;
    if metadata.uid() != user.uid.as_raw() {
        chown(&temp, Some(user.uid), Some(user.gid)).map_err(io::Error::from).map_err(failed("giving to the workers", &temp))?;
    }
    let (inner, gid) = (paths.inner_dir(), group.map_or(user.gid, |group| group.gid));
    chown(&inner, None, Some(gid)).map_err(io::Error::from).map_err(failed("opening to the workers", &inner))?;
    let closed = |directory: &&Path| !may_enter(directory, user.uid, user.gid);
    if closed(&paths.work_dir.as_path()) {
        // The directory is ours, and what is secret in it lies in closed directories below.
        let mode = paths.work_dir.metadata().map_err(failed("reading the mode of", &paths.work_dir))?.permissions().mode();
        let open = fs::Permissions::from_mode((mode & 0o7777) | 0o011);
        fs::set_permissions(&paths.work_dir, open).map_err(failed("opening to the workers", &paths.work_dir))?;
    }
    if let Some(directory) = paths.work_dir.ancestors().find(closed) {
        tracing::warn!(
            directory = %directory.display(),
            user = name,
            "the workers may not enter this directory, so bodies that don't fit into memory will fail: chmod o+x it"
        );
    }
    Ok(())
}

fn may_enter(directory: &Path, uid: Uid, gid: Gid) -> bool {
    let Ok(metadata) = directory.metadata() else {
        return false;
    };
    let bit = match (metadata.uid() == uid.as_raw(), metadata.gid() == gid.as_raw()) {
        (true, _) => 0o100,
        (false, true) => 0o010,
        (false, false) => 0o001,
    };
    metadata.mode() & bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn directories_are_made_and_their_modes_repaired() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { work_dir: dir.path().join("a/b") };
        drop(open(&paths, None).unwrap());
        fs::set_permissions(paths.run_dir(), Permissions::from_mode(0o777)).unwrap();
        fs::remove_dir(paths.certs_dir()).unwrap();
        fs::write(paths.certs_dir(), "in the way").unwrap();
        let _lock = open(&paths, None).unwrap();
        assert_eq!(
            [mode(&paths.run_dir()), mode(&paths.certs_dir()), mode(&paths.lua_dir()), mode(&paths.temp_dir()), mode(&paths.inner_dir())],
            [0o700, 0o700, 0o755, 0o700, 0o700]
        );
    }

    #[test]
    fn the_second_controller_learns_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { work_dir: dir.path().to_owned() };
        let first = open(&paths, None).unwrap();
        let error = open(&paths, None).unwrap_err();
        assert!(error.to_string().contains(&format!("(pid {})", std::process::id())), "{error}");
        drop(first);
        // Another test's child holds a copy of the lock between `fork` and `exec`.
        while open(&paths, None).is_err() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_work_directory_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { work_dir: dir.path().join("theirs") };
        check_owner(&paths.work_dir).unwrap();
        fs::create_dir(&paths.work_dir).unwrap();
        check_owner(&paths.work_dir).unwrap();
        let theirs = Uid::from_raw(4711);
        if chown(&paths.work_dir, Some(theirs), None).is_err() {
            // Only root gives directories away: the one of another user is that of a process.
            let other = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
            let foreign =
                |path: &std::path::PathBuf| path.metadata().is_ok_and(|of| of.uid() != 0 && of.uid() != Uid::effective().as_raw());
            other.filter(foreign).for_each(|path| assert!(check_owner(&path).is_err()));
            return;
        }
        let error = open(&paths, None).unwrap_err();
        assert!(error.to_string().contains("belongs to the user 4711"), "{error}");
        assert!(fs::read_dir(&paths.work_dir).unwrap().next().is_none(), "nothing was written");
        // Nor does a link of theirs lead anywhere.
        let (link, target) = (dir.path().join("link"), dir.path().join("ours"));
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(4711), None).unwrap();
        assert!(matches!(open(&Paths { work_dir: link }, None), Err(OpenError::Owner { .. })));
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused_with_its_length() {
        let paths = Paths { work_dir: Path::new("/tmp").join("x".repeat(100)) };
        let error = open(&paths, None).unwrap_err();
        assert!(error.to_string().contains("has 122 bytes") && error.to_string().contains("at most 107"), "{error}");
        assert!(matches!(open(&Paths { work_dir: "relative".into() }, None), Err(OpenError::Relative(_))));
    }
}
