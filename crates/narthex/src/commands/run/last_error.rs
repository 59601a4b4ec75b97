//! Why the last controller of a work directory ended, for `narthex doctor`.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::commands::conf;

/// Longest text that is read.
const LONGEST: usize = 4096;

fn path(work_dir: &Path) -> PathBuf {
    work_dir.join("run/narthex.error")
}

/// Notes it where there is a work directory that no other controller uses.
pub(super) fn note(work_dir: &Path, error: &anyhow::Error) {
    let path = path(work_dir);
    let is_there = path.parent().is_some_and(Path::is_dir);
    if is_there && UnixStream::connect(work_dir.join(conf::SOCKET)).is_err() {
        // The log has it in any case.
        let _ = ngx_proc::files::write(&path, 0o600, cluster::chain(error.as_ref()).as_bytes());
    }
}

/// Forgets it: a controller runs.
pub(super) fn clear(work_dir: &Path) {
    let _ = fs::remove_file(path(work_dir));
}

/// What was noted.
pub(crate) fn read(work_dir: &Path) -> Option<String> {
    let text = fs::read_to_string(path(work_dir)).ok()?;
    Some(text.trim().chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn an_error_is_noted_where_no_other_controller_runs() {
        let work_dir = tempfile::tempdir().unwrap();
        let error = || anyhow::anyhow!("address in use").context("can't listen");
        note(work_dir.path(), &error());
        assert_eq!(read(work_dir.path()), None, "there is no directory for it");
        fs::create_dir(work_dir.path().join("run")).unwrap();
        note(work_dir.path(), &error());
        assert_eq!(read(work_dir.path()).as_deref(), Some("can't listen: address in use"));
        clear(work_dir.path());
        let _listener = UnixListener::bind(work_dir.path().join(conf::SOCKET)).unwrap();
        note(work_dir.path(), &error());
        assert_eq!(read(work_dir.path()), None);
    }
}
