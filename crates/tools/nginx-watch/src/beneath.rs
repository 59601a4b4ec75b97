//! Files in a directory that other users write, read with our rights: links in it may only lead to files in it.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::Errno;

use crate::snapshot::File;

/// Number of lookups of a name while directories on the way are renamed.
const ATTEMPTS: usize = 16;

/// The directory.
#[derive(Debug)]
pub(crate) struct Beneath(OwnedFd);

impl Beneath {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// At most `limit` bytes of a file; `None` for what is neither a file nor a link. Its owner is this user, and no other one may write it: it is
    /// content that was looked at, not the other user's any more.
    pub(crate) fn read(&self, path: &str, limit: u64) -> io::Result<Option<File>> {
        let mut file = match self.open_file(path) {
            Ok(file) => fs::File::from(file),
            Err(Errno::NOENT | Errno::LOOP) if statat(&self.0, path, AtFlags::SYMLINK_NOFOLLOW).is_ok() => {
                return Ok(Some(File { bytes: None, mode: 0o777, owner: (0, 0) }));
            }
            Err(Errno::XDEV) => return Err(io::Error::other("links may only lead to files in the directory, by relative paths")),
            Err(Errno::NOSYS) => return Err(io::Error::other("files of other users need a Linux kernel from 5.6 on (openat2)")),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.by_ref().take(limit).read_to_end(&mut bytes)?;
        Ok(Some(File { bytes: Some(bytes.into()), mode: metadata.mode() & 0o755, owner: (geteuid().as_raw(), metadata.gid()) }))
    }

    fn open_file(&self, path: &str) -> rustix::io::Result<OwnedFd> {
        // A pipe must not hold it up.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut result = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            result = openat2(&self.0, path, flags, Mode::empty(), resolve);
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        result
    }
}
