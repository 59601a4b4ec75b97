//! Writes a tree of files: as a copy for a test, or in place of another one.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use ngx_proc::files::{create, hidden_name, replace};
use nix::unistd::geteuid;
use rustix::fs::symlinkat;

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
        let directory = std::env::temp_dir().join(hidden_name("snapshot-"));
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
    DirBuilder::new().mode(0o755).create(directory)?;
    for (path, file) in &tree.files {
        put(&directory.join(&**path), file)?;
    }
    Ok(())
}

/// Writes one file by rename, so that no reader sees half of it.
pub(crate) fn put(path: &Path, file: &File) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path.parent().unwrap_or(Path::new("/")))?;
    replace(path, hidden_name(""), |directory, name| {
        let Some(bytes) = &file.bytes else { return Ok(symlinkat("/nonexistent", directory, name)?) };
        let mut out = create(directory, name, 0o600)?;
        out.write_all(bytes)?;
        if geteuid().is_root() {
            fchown(&out, Some(file.owner.0), Some(file.owner.1))?;
        }
        out.set_permissions(Permissions::from_mode(file.mode & 0o777))?;
        out.sync_all()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
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
        let snapshot =
            Snapshot::take(&Roots { paths: vec![scratch.path().to_owned()], excluded: Arc::default(), is_foreign: false }).unwrap();
        let copies = Copies::make(&snapshot).unwrap();
        let copy = copies.all().next().unwrap();
        let again = Snapshot::take(&Roots { paths: vec![copy.clone()], excluded: Arc::default(), is_foreign: false }).unwrap();
        assert_eq!(again.revision, snapshot.revision);
        drop(copies);
        assert!(!copy.exists());
    }
}
