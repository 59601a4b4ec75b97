//! The content of directories and files at one time: paths and bytes, links resolved, and a digest over them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use fs_watch::{Found, Names, Scan, read_file, scan, scan_file};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::beneath::Beneath;

/// The most that is read, in bytes: of all files together.
pub const MAX_BYTES: u64 = 256 << 20;
/// Readings of a directory that changes while it is read.
const ATTEMPTS: usize = 4;

/// Directories and single files that make up a configuration.
#[derive(Debug, Clone)]
pub struct Roots {
    /// Their paths; absolute.
    pub paths: Vec<PathBuf>,
    /// Paths in them that don't count, with everything below.
    pub excluded: Arc<[PathBuf]>,
    /// Other users write there: links may not lead out of a directory, and what is read belongs to this user.
    pub is_foreign: bool,
}

/// The content address of a snapshot: 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Revision(Arc<str>);

/// The content of all roots.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// One for each root, in their order.
    pub trees: Vec<Tree>,
    /// Over paths and contents, not over owners and modes.
    pub revision: Revision,
    /// Time of the last change of a file or directory.
    pub changed: SystemTime,
}

/// The content of one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The root.
    pub root: PathBuf,
    /// `true` if the root is a file; then `files` holds it under its name.
    pub is_file: bool,
    /// By path relative to the root, with `/` between its parts.
    pub files: BTreeMap<Arc<str>, File>,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// All of it; `None` for a link that leads nowhere.
    pub bytes: Option<Arc<[u8]>>,
    /// Permission bits.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
}

/// The reason why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// A root or something in it can't be read.
    #[error("{} can't be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// Too much.
    #[error("{} and what else is followed hold more than {} MiB: follow less, or leave out data by --exclude", .0.display(), MAX_BYTES >> 20)]
    TooLarge(PathBuf),
}

impl Roots {
    /// The names that count: all but the parts that the kubelet hides and the files that editors make for a while.
    pub fn names(&self) -> Names {
        Names {
            directory: |name| !name.starts_with(".."),
            file: |name| !name.starts_with("..") && !is_scratch(name),
            excluded: self.excluded.clone(),
            within: self.paths.first().filter(|_| self.is_foreign).map(|root| root.canonicalize().unwrap_or_else(|_| root.clone()).into()),
        }
    }

    /// Looks at one of the roots.
    ///
    /// # Errors
    /// A file that is not there, or can't be read.
    pub fn scan(&self, root: &Path) -> io::Result<Scan> {
        if root.is_dir() { scan(root, &self.names()) } else { scan_file(root) }
    }
}

/// Swap and backup files of vi, Emacs, nano and others.
fn is_scratch(name: &str) -> bool {
    let swap = name.starts_with('.') && [".swp", ".swo", ".swx", ".swpx"].iter().any(|end| name.ends_with(end));
    swap || name == "4913" || name.ends_with('~') || name.starts_with(".#") || name.starts_with('#') && name.ends_with('#')
}

impl Snapshot {
    /// Reads everything. Blocks.
    ///
    /// # Errors
    /// A root or a file can't be read, or there is too much.
    pub fn take(roots: &Roots) -> Result<Self, SnapshotError> {
        for attempt in 1.. {
            match Self::attempt(roots) {
                Ok((snapshot, true)) => return Ok(snapshot),
                // It changes all the time: its user compares again before it counts.
                Ok((snapshot, false)) if attempt >= ATTEMPTS => return Ok(snapshot),
                Err(error) if attempt >= ATTEMPTS || !is_transient(&error) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        unreachable!("the last attempt returns")
    }

    /// One reading, and whether it is of one version.
    fn attempt(roots: &Roots) -> Result<(Self, bool), SnapshotError> {
        let (mut trees, mut consistent) = (Vec::new(), true);
        let (mut changed, mut left) = (UNIX_EPOCH, MAX_BYTES);
        for root in &roots.paths {
            let unreadable = |error| SnapshotError::Unreadable(root.clone(), error);
            let found = roots.scan(root).map_err(unreadable)?;
            if let Some((path, reason)) = found.closed.first() {
                return Err(SnapshotError::Unreadable(root.join(&**path), io::Error::other(reason.clone())));
            }
            // A file that was removed shows in its directory.
            changed = found.directories.keys().filter_map(|path| fs::metadata(path).ok()?.modified().ok()).fold(changed, SystemTime::max);
            let beneath = roots.is_foreign.then(|| Beneath::open(root)).transpose().map_err(unreadable)?;
            let mut files = BTreeMap::new();
            for (path, found) in &found.files {
                let full = match found {
                    Found::File { path, signature } => {
                        changed = changed.max(signature.changed_at());
                        path.clone()
                    }
                    Found::Unreadable(_) => root.join(&**path),
                };
                let file = match &beneath {
                    Some(beneath) => beneath.read(path, left + 1).map_err(|error| SnapshotError::Unreadable(full.clone(), error))?,
                    None => read(&full, left + 1)?,
                };
                if let Some(file) = file {
                    let size = file.bytes.as_ref().map_or(0, |bytes| bytes.len()) as u64;
                    left = left.checked_sub(size).ok_or(SnapshotError::TooLarge(full))?;
                    files.insert(path.clone(), file);
                }
            }
            consistent &= found.is_consistent();
            trees.push(Tree { root: root.clone(), is_file: !root.is_dir(), files });
        }
        let revision = Revision::of(&trees);
        Ok((Self { trees, revision, changed }, consistent))
    }

    /// Directories below the roots that hold files, directly or in others: each by its root and its path below that.
    pub(crate) fn directories(&self) -> BTreeSet<(PathBuf, String)> {
        let of = |tree: &Tree| {
            let parents = tree.files.keys().flat_map(|path| path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
            parents.map(|below| (tree.root.clone(), below)).collect::<BTreeSet<_>>()
        };
        self.trees.iter().flat_map(of).collect()
    }

    /// `true` if there is no file at all.
    pub fn is_empty(&self) -> bool {
        self.trees.iter().all(|tree| tree.files.is_empty())
    }
}

/// `None` for what is neither a file nor a link: NGINX doesn't read it either.
fn read(path: &Path, limit: u64) -> Result<Option<File>, SnapshotError> {
    let unreadable = |error| SnapshotError::Unreadable(path.to_owned(), error);
    let metadata = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        Ok(metadata) => metadata,
        Err(_) if path.is_symlink() => return Ok(Some(File { bytes: None, mode: 0o777, owner: (0, 0) })),
        Err(error) => return Err(unreadable(error)),
    };
    let bytes = read_file(path, limit).map_err(unreadable)?;
    Ok(Some(File { bytes: Some(bytes.into()), mode: metadata.mode() & 0o7777, owner: (metadata.uid(), metadata.gid()) }))
}

/// `true` if another reading may succeed at once: a file went away between the listing and the reading.
fn is_transient(error: &SnapshotError) -> bool {
    matches!(error, SnapshotError::Unreadable(path, source) if source.kind() == io::ErrorKind::NotFound && path.parent().is_some_and(Path::exists))
}

impl Revision {
    /// One that was given from outside, in the same form.
    pub fn named(text: &str) -> Self {
        Self(text.into())
    }

    /// The digest over trees, in their order; the places of the roots don't count.
    pub fn of(trees: &[Tree]) -> Self {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        for tree in trees {
            part(&(tree.files.len() as u64).to_be_bytes());
            for (path, file) in &tree.files {
                part(path.as_bytes());
                part(if file.bytes.is_some() { b"file" } else { b"link" });
                part(file.bytes.as_deref().unwrap_or_default());
            }
        }
        Self(const_hex::encode(&hash.finalize()[..8]).into())
    }
}

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn roots(path: &Path) -> Roots {
        Roots { paths: vec![path.to_owned()], excluded: Arc::default(), is_foreign: false }
    }

    fn names(snapshot: &Snapshot) -> Vec<&str> {
        snapshot.trees[0].files.keys().map(|path| &**path).collect()
    }

    #[test]
    fn the_revision_is_that_of_paths_and_bytes() {
        let scratch = tempfile::tempdir().unwrap();
        let take = || Snapshot::take(&roots(scratch.path())).unwrap();
        fs::write(scratch.path().join("a.conf"), "x;").unwrap();
        let first = take();
        fs::write(scratch.path().join("a.conf"), "y;").unwrap();
        let second = take();
        assert_ne!(first.revision, second.revision);
        fs::write(scratch.path().join("a.conf"), "x;").unwrap();
        assert_eq!(first.revision, take().revision);
        fs::rename(scratch.path().join("a.conf"), scratch.path().join("b.conf")).unwrap();
        assert_ne!(first.revision, take().revision);
        assert_eq!(first.revision.to_string().len(), 16);
        assert!(first.changed <= second.changed);
    }

    #[test]
    fn links_are_resolved_and_what_editors_and_the_kubelet_hide_does_not_count() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("conf.d");
        fs::create_dir_all(root.join("..2026_1/sub")).unwrap();
        for (path, text) in
            [("..2026_1/a.conf", "a;"), ("..2026_1/sub/b.conf", "b;"), (".htpasswd", "u:p"), (".c.conf.swp", "x"), ("d.conf~", "x")]
        {
            fs::write(root.join(path), text).unwrap();
        }
        symlink("..2026_1", root.join("..data")).unwrap();
        symlink("..data/a.conf", root.join("a.conf")).unwrap();
        symlink("..data/sub", root.join("sub")).unwrap();
        symlink("nowhere", root.join("dead.conf")).unwrap();
        let snapshot = Snapshot::take(&roots(&root)).unwrap();
        assert_eq!(names(&snapshot), [".htpasswd", "a.conf", "dead.conf", "sub/b.conf"]);
        assert_eq!(snapshot.trees[0].files["sub/b.conf"].bytes.as_deref(), Some(&b"b;"[..]));
        assert_eq!(snapshot.trees[0].files["dead.conf"].bytes, None);
    }

    #[test]
    fn links_of_other_users_lead_nowhere_but_into_their_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("from");
        fs::create_dir_all(root.join("..2026_1/sub")).unwrap();
        for (path, text) in [("from/..2026_1/a.conf", "a;"), ("from/..2026_1/sub/b.conf", "b;"), ("secret", "root:$6$")] {
            fs::write(scratch.path().join(path), text).unwrap();
        }
        symlink("..2026_1", root.join("..data")).unwrap();
        symlink("..data/a.conf", root.join("a.conf")).unwrap();
        symlink("..data/sub", root.join("sub")).unwrap();
        symlink("nowhere", root.join("dead.conf")).unwrap();
        let roots = Roots { is_foreign: true, ..roots(&root) };
        let snapshot = Snapshot::take(&roots).unwrap();
        assert_eq!(names(&snapshot), ["a.conf", "dead.conf", "sub/b.conf"]);
        let file = &snapshot.trees[0].files["a.conf"];
        assert_eq!((file.bytes.as_deref(), file.mode & 0o022), (Some(&b"a;"[..]), 0));

        fs::create_dir(scratch.path().join("closed")).unwrap();
        fs::write(scratch.path().join("closed/key"), "x").unwrap();
        for (name, target) in
            [("file", "../secret"), ("directory", "../closed"), ("absolute", "/etc/passwd"), ("twice", "..data/../../secret")]
        {
            symlink(target, root.join(name)).unwrap();
            let error = Snapshot::take(&roots).unwrap_err();
            let SnapshotError::Unreadable(path, why) = &error else { panic!("{error}") };
            assert_eq!(
                (path, why.to_string().as_str()),
                (&root.join(name), "links may only lead to files in the directory, by relative paths")
            );
            fs::remove_file(root.join(name)).unwrap();
        }
    }

    #[test]
    fn a_root_may_be_a_file_and_a_missing_one_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("nginx.conf");
        let error = Snapshot::take(&roots(&path)).unwrap_err();
        assert!(error.to_string().ends_with("nginx.conf can't be read"), "{error}");
        fs::write(&path, "events {}").unwrap();
        fs::write(scratch.path().join("other"), "x").unwrap();
        let snapshot = Snapshot::take(&roots(&path)).unwrap();
        assert_eq!((names(&snapshot), snapshot.trees[0].is_file), (vec!["nginx.conf"], true));
        let excluded = Roots { excluded: [path].into(), ..roots(scratch.path()) };
        assert_eq!(names(&Snapshot::take(&excluded).unwrap()), ["other"]);
    }
}
