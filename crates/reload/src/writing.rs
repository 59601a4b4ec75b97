//! Files that take the place of others, in directories where other users may write: nothing is opened through a link.
//!
//! A new file has a name that can't be guessed, and gets its own by a rename within one open directory.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};

/// A hidden name with an unpredictable end, which no scan takes for content.
pub(crate) fn hidden_name(start: &str) -> String {
    format!("..narthex-{start}{:016x}", RandomState::new().build_hasher().finish())
}

/// Has `make` put something into the directory of `path`, under a name that it is given, and renames that to `path`.
pub(crate) fn replace(path: &Path, make: impl FnOnce(&OwnedFd, &str) -> io::Result<()>) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name: &OsStr = path.file_name().ok_or_else(|| io::Error::other("not the name of a file"))?;
    let directory = openat(CWD, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let new = hidden_name("");
    let made = make(&directory, &new).and_then(|()| Ok(renameat(&directory, &*new, &directory, name)?));
    made.inspect_err(|_| {
        let _ = unlinkat(&directory, &*new, AtFlags::empty());
    })
}

/// A new file in a directory; never one that is there.
pub(crate) fn create(directory: &OwnedFd, name: &str, mode: u32) -> io::Result<fs::File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::from_raw_mode(mode))?.into())
}

/// Replaces a file that everybody may read.
pub(crate) fn replace_text(path: &Path, text: &str) -> io::Result<()> {
    let written = replace(path, |directory, name| create(directory, name, 0o644)?.write_all(text.as_bytes()));
    written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let (outside, inside) = (scratch.path().join("outside"), scratch.path().join("inside"));
        fs::create_dir(&inside).unwrap();
        fs::write(&outside, "precious").unwrap();
        let path = inside.join("nginx_error_output");
        symlink(&outside, &path).unwrap();
        // The name that was used once.
        symlink(&outside, inside.join("..nginx_error_output")).unwrap();
        replace_text(&path, "text").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), fs::read_to_string(&outside).unwrap().as_str()), ("text", "precious"));
        assert!(!path.is_symlink());
        assert_ne!(hidden_name("x"), hidden_name("x"));
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 2);
    }
}
