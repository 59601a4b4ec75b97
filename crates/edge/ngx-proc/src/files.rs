//! Files that take the place of others at once: a reader finds the old content or the new one.
//!
//! A new file is written under another name and gets its own by a rename within one open directory. Nothing is opened through a link, and where other
//! users may write the other name can't be guessed.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};

/// A hidden name with an unpredictable end of 16 hexadecimal digits, which no scan takes for content.
pub fn hidden_name(start: &str) -> String {
    format!("..narthex-{start}{:016x}", RandomState::new().build_hasher().finish())
}

/// Has `make` put something into the directory of `path`, under the name that it is given, and renames that to `path`.
///
/// # Errors
/// The operating system refuses, or `make` fails; what it made is removed then.
pub fn replace(path: &Path, new: impl AsRef<OsStr>, make: impl FnOnce(&OwnedFd, &OsStr) -> io::Result<()>) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| io::Error::other("not the name of a file"))?;
    let new = new.as_ref();
    let directory = openat(CWD, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let made = make(&directory, new).and_then(|()| Ok(renameat(&directory, new, &directory, name)?));
    made.inspect_err(|_| {
        let _ = unlinkat(&directory, new, AtFlags::empty());
    })
}

/// A new file in a directory; never one that is there.
///
/// # Errors
/// There is something of that name, or the operating system refuses.
pub fn create(directory: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<fs::File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::from_raw_mode(mode))?.into())
}

/// Replaces a file that all users may read, in a directory where other users may write.
///
/// # Errors
/// The operating system refuses; the path is in the text.
pub fn replace_text(path: &Path, text: &str) -> io::Result<()> {
    let written = replace(path, hidden_name(""), |directory, name| create(directory, name, 0o644)?.write_all(text.as_bytes()));
    written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Writes a file of this mode, with the directories above it, in a directory of our own.
///
/// Its name until then ends in `~`: what a process left that was killed is written over by the next.
///
/// # Errors
/// The operating system refuses.
pub fn write(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path.parent().unwrap_or(Path::new("/")))?;
    let mut new = path.file_name().unwrap_or_default().to_owned();
    new.push("~");
    // It may have another owner or mode.
    remove(&path.with_file_name(&new))?;
    replace(path, &new, |directory, name| {
        let mut file = create(directory, name, 0o600)?;
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(mode))
    })
}

/// Removes a file that may be gone already.
///
/// # Errors
/// The operating system refuses.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_written_with_its_mode_over_what_was_left_half() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("sub/a.conf");
        write(&path, 0o644, b"one").unwrap();
        fs::write(scratch.path().join("sub/a.conf~"), "half").unwrap();
        write(&path, 0o600, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), path.metadata().unwrap().permissions().mode() & 0o7777), (b"two".to_vec(), 0o600));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        remove(&path).unwrap();
        remove(&path).unwrap();
    }

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
