//! The files that a directory holds. Reads names and attributes, not content.
//!
//! - The files whose names count ([`Names`]), in sub-directories too.
//! - Symbolic links are followed, to files and to directories; a link to a directory above itself ends there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The names that count.
#[derive(Debug, Clone)]
pub struct Names {
    /// `true` if a directory of this name is looked into.
    pub directory: fn(&str) -> bool,
    /// `true` if a file of this name is one of those that are followed.
    pub file: fn(&str) -> bool,
    /// Paths that don't count, with everything below them: as they are reached from the root, not resolved.
    pub excluded: Arc<[PathBuf]>,
    /// The real path that links must stay below: what leads out of it is not looked into. It is no proof against changes at the same time.
    pub within: Option<Arc<Path>>,
}

/// The content of a directory at one time.
#[derive(Debug, Default)]
pub struct Scan {
    /// By path relative to the directory.
    pub files: BTreeMap<Arc<str>, Found>,
    /// Every directory that was read and every one that holds what a link points to, by real path.
    pub directories: BTreeMap<PathBuf, Id>,
    /// Real paths of files that links point to.
    pub targets: BTreeSet<PathBuf>,
    /// Sub-directories that can't be read, relative, and why.
    pub closed: Vec<(Arc<str>, String)>,
    /// The directory itself.
    pub root: Id,
    /// The kubelet's `..data` links and what they pointed to before anything was read through them.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

/// A file, or why it is not one that can be read.
#[derive(Debug)]
pub enum Found {
    /// A regular file.
    File {
        /// The path as it is reached from the root.
        path: PathBuf,
        /// Its attributes.
        signature: Signature,
    },
    /// The reason why it can't be read: a phrase.
    Unreadable(String),
}

/// Identity of a directory or a file, as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Id {
    device: u64,
    inode: u64,
}

/// Attributes that change with the content, but for changes within one tick of the file system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    id: Id,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Id {
    /// The identity of what stands at a path.
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl Signature {
    fn of(metadata: &Metadata) -> Self {
        Self {
            id: Id::of(metadata),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Time of the last change of content or attributes; before 1970 counts as 1970.
    pub fn changed_at(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.modified.max(self.changed);
        UNIX_EPOCH + Duration::new(seconds.try_into().unwrap_or(0), nanoseconds.try_into().unwrap_or(0))
    }

    /// `true` if the last change is so long before `now` (seconds since 1970) that another one would show.
    pub fn is_old(&self, now: i64) -> bool {
        let latest = self.modified.0.max(self.changed.0);
        // A clock that was set back, or a file from the future, proves nothing.
        latest < now - 2
    }
}

impl Scan {
    /// `true` if no `..data` was swapped since the scan began: what was read through the links is of one version.
    pub fn is_consistent(&self) -> bool {
        self.links.iter().all(|(link, target)| fs::read_link(link).is_ok_and(|now| now == *target))
    }
}

/// Looks through a directory.
///
/// # Errors
/// The directory itself can't be read. Everything below it that can't be is noted in the result.
pub fn scan(directory: &Path, names: &Names) -> io::Result<Scan> {
    let mut scan = Scan { root: Id::of(&fs::metadata(directory)?), ..Scan::default() };
    walk(directory, "", &mut vec![scan.root], names, &mut scan)?;
    Ok(scan)
}

/// The same for one file: it counts whatever its name, and its directory is what has to be watched.
///
/// # Errors
/// There is no such file.
pub fn scan_file(path: &Path) -> io::Result<Scan> {
    let metadata = fs::metadata(path)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut scan = Scan { root: Id::of(&fs::metadata(parent)?), ..Scan::default() };
    scan.directories.insert(parent.canonicalize()?, scan.root);
    note_target(path, &mut scan);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    scan.files.insert(name.into(), Found::File { path: path.to_owned(), signature: Signature::of(&metadata) });
    Ok(scan)
}

/// Reads a regular file, at most `limit` bytes of it.
///
/// # Errors
/// An unreadable one, or something else stands there.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let file = fs::File::open(path)?;
    // Something else may stand there by now, and reading a pipe would not end.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the directory `path`, which is `relative` to the first one. `above` are the directories on the way to it, itself included.
fn walk(path: &Path, relative: &str, above: &mut Vec<Id>, names: &Names, scan: &mut Scan) -> io::Result<()> {
    if let Ok(target) = fs::read_link(path.join("..data")) {
        scan.links.push((path.join("..data"), target));
    }
    let entries = fs::read_dir(path)?;
    if let Ok(real) = path.canonicalize()
        && let Some(id) = above.last()
    {
        scan.directories.insert(real, *id);
    }
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            scan.closed.push((join(relative, &name.to_string_lossy()), "its name is not UTF-8 text".to_owned()));
            continue;
        };
        let is_wanted = (names.file)(name);
        let path = entry.path();
        if !is_wanted && !(names.directory)(name) || names.excluded.contains(&path) {
            continue;
        }
        if leads_out(&path, names) {
            scan.files.insert(join(relative, name), Found::Unreadable("the link leads out of the directory".to_owned()));
            continue;
        }
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            // A link that leads nowhere is a fault; a name that is gone by now is not.
            Err(error) if is_wanted && path.is_symlink() => {
                scan.files.insert(join(relative, name), Found::Unreadable(format!("the link leads nowhere: {error}")));
                continue;
            }
            Err(_) => continue,
        };
        if metadata.is_dir() {
            if !(names.directory)(name) {
                continue;
            }
            let id = Id::of(&metadata);
            if !above.contains(&id) {
                above.push(id);
                let below = join(relative, name);
                match walk(&path, &below, above, names, scan) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => scan.closed.push((below, error.to_string())),
                    Ok(()) | Err(_) => {}
                }
                above.pop();
            }
        } else if is_wanted {
            if path.is_symlink() {
                note_target(&path, scan);
            }
            let found = if metadata.is_file() {
                Found::File { path, signature: Signature::of(&metadata) }
            } else {
                Found::Unreadable("it is not a regular file".to_owned())
            };
            scan.files.insert(join(relative, name), found);
        }
    }
    Ok(())
}

fn leads_out(path: &Path, names: &Names) -> bool {
    let Some(within) = names.within.as_ref().filter(|_| path.is_symlink()) else { return false };
    path.canonicalize().is_ok_and(|real| !real.starts_with(within))
}

/// Notes where a link leads to: changes show in the directory there.
fn note_target(link: &Path, scan: &mut Scan) {
    let Ok(target) = link.canonicalize() else { return };
    if let Some(parent) = target.parent()
        && let Ok(metadata) = fs::metadata(parent)
    {
        scan.directories.insert(parent.to_owned(), Id::of(&metadata));
    }
    scan.targets.insert(target);
}

fn join(relative: &str, name: &str) -> Arc<str> {
    if relative.is_empty() { name.into() } else { format!("{relative}/{name}").into() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const YAML: fn(&str) -> bool = |name| !name.starts_with('.') && [".yaml", ".yml", ".JSON"].iter().any(|end| name.ends_with(end));

    fn names() -> Names {
        Names { directory: |name| !name.starts_with('.'), file: YAML, excluded: Arc::default(), within: None }
    }

    #[test]
    fn a_single_file_is_watched_through_its_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let real = scratch.path().canonicalize().unwrap();
        fs::write(real.join("nginx.conf"), "x").unwrap();
        let scan = scan_file(&real.join("nginx.conf")).unwrap();
        assert_eq!(scan.files.keys().map(|path| &**path).collect::<Vec<_>>(), ["nginx.conf"]);
        assert_eq!(scan.directories.keys().collect::<Vec<_>>(), [&real]);
        assert!(scan_file(&real.join("none")).is_err());
    }

    #[test]
    fn what_is_excluded_is_not_looked_at() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("sub")).unwrap();
        for file in ["a.yaml", "b.yaml", "sub/c.yaml"] {
            fs::write(scratch.path().join(file), "x").unwrap();
        }
        let names = Names { excluded: [scratch.path().join("a.yaml"), scratch.path().join("sub")].into(), ..names() };
        assert_eq!(scan(scratch.path(), &names).unwrap().files.keys().map(|path| &**path).collect::<Vec<_>>(), ["b.yaml"]);
    }

    #[test]
    fn files_are_found_through_links_and_hidden_names_are_not() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        fs::create_dir_all(root.join("..2024_1/sub")).unwrap();
        fs::create_dir_all(root.join("deep/er")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        for file in ["..2024_1/a.yaml", "..2024_1/sub/b.yml", "deep/er/c.JSON", ".git/d.yaml", ".e.yaml", "f.yaml~", "g.txt"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink("..2024_1", root.join("..data")).unwrap();
        symlink("..data/a.yaml", root.join("a.yaml")).unwrap();
        symlink("..data/sub", root.join("sub")).unwrap();
        symlink("../..", root.join("deep/er/loop")).unwrap();
        symlink("nowhere", root.join("h.yaml")).unwrap();
        fs::create_dir(root.join("i.yaml")).unwrap();

        let scan = scan(&root, &names()).unwrap();
        assert_eq!(scan.files.keys().map(|path| &**path).collect::<Vec<_>>(), ["a.yaml", "deep/er/c.JSON", "h.yaml", "sub/b.yml"]);
        assert!(matches!(&scan.files["h.yaml"], Found::Unreadable(reason) if reason.contains("leads nowhere")));
        let real = root.canonicalize().unwrap();
        let watched: Vec<_> = scan.directories.keys().map(|path| path.strip_prefix(&real).unwrap().to_str().unwrap()).collect();
        assert_eq!(watched, ["", "..2024_1", "..2024_1/sub", "deep", "deep/er", "i.yaml"]);

        assert!(scan.is_consistent());
        symlink("..2024_2", root.join("..data_tmp")).unwrap();
        fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
        assert!(!scan.is_consistent());
    }
}
