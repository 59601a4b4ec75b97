//! Writes a tree of files: as a copy for a test, or in place of another one.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid, chown, geteuid};

use crate::snapshot::{File, Snapshot, Tree};

/// Private copies of the trees of a snapshot. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Copies {
    directory: PathBuf,
    count: usize,
}

impl Copies {
    /// Writes them below the temporary directory, readable for this user only.
    pub(crate) fn make(snapshot: &Snapshot) -> io::Result<Self> {
        let name = format!("narthex-snapshot-{}-{}", std::process::id(), snapshot.revision);
        let directory = std::env::temp_dir().join(name);
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        DirBuilder::new().mode(0o700).create(&directory)?;
        let copies = Self { directory, count: snapshot.trees.len() };
        for (tree, path) in snapshot.trees.iter().zip(copies.all()) {
            write(&path, tree)?;
        }
        Ok(copies)
    }

    /// The directory of each tree, in their order.
    pub(crate) fn all(&self) -> impl Iterator<Item = PathBuf> {
        (0..self.count).map(|number| self.directory.join(number.to_string()))
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(path = %self.directory.display(), %error, "a private copy can't be removed");
        }
    }
}

/// Writes a tree into a new directory.
pub(crate) fn write(directory: &Path, tree: &Tree) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    for (path, file) in &tree.files {
        put(&directory.join(&**path), file)?;
    }
    Ok(())
}

/// Writes one file by rename, so that nobody sees half of it.
pub(crate) fn put(path: &Path, file: &File) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = parent.join(format!("..narthex-{name}"));
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    match &file.bytes {
        None => symlink("/nonexistent", &new)?,
        Some(bytes) => {
            let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            out.write_all(bytes)?;
            if geteuid().is_root() {
                chown(&new, Some(Uid::from_raw(file.owner.0)), Some(Gid::from_raw(file.owner.1)))?;
            }
            out.set_permissions(Permissions::from_mode(file.mode & 0o777))?;
            out.sync_all()?;
        }
    }
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::snapshot::Roots;

    #[test]
    fn a_copy_has_the_same_revision() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("sub")).unwrap();
        fs::write(scratch.path().join("a.conf"), "a;").unwrap();
        fs::write(scratch.path().join("sub/b.conf"), "b;").unwrap();
        symlink("nowhere", scratch.path().join("dead")).unwrap();
        let snapshot = Snapshot::take(&Roots { paths: vec![scratch.path().to_owned()], excluded: Arc::default() }).unwrap();
        let copies = Copies::make(&snapshot).unwrap();
        let copy = copies.all().next().unwrap();
        let again = Snapshot::take(&Roots { paths: vec![copy.clone()], excluded: Arc::default() }).unwrap();
        assert_eq!(again.revision, snapshot.revision);
        drop(copies);
        assert!(!copy.exists());
    }
}
