//! Wakes when something may have changed. Events say *that*, never *what*: the truth is in the next scan.
//!
//! Every directory that the last scan read has a watch of its own (not a recursive one: a recursive watch does not follow a link that is swapped).
//! The directory above has one too, for the day when the directory itself is removed, replaced or made; of the events there only those about it count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::scan::{Id, Names, Scan};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// A file was written to, and is still open as far as is known.
    Written(PathBuf),
    /// A file that was open for writing was closed.
    Closed(PathBuf),
    /// Anything else.
    Changed,
}

/// The watches.
#[derive(Debug)]
pub struct Watcher {
    inner: RecommendedWatcher,
    /// The name of what is followed, for messages: `the manifests`.
    what: &'static str,
    armed: BTreeMap<PathBuf, Id>,
    interest: Arc<Mutex<Interest>>,
    /// The last failure to set a watch: reported once.
    failure: Option<String>,
}

/// The events that count. All paths are real ones.
#[derive(Debug)]
struct Interest {
    names: Names,
    /// Directories in which every name counts.
    directories: BTreeSet<PathBuf>,
    /// Single paths in other directories.
    paths: BTreeSet<PathBuf>,
    /// Files that links point to, whatever they are called.
    targets: BTreeSet<PathBuf>,
    /// Directories that were removed or renamed. Whatever stands there now, `notify` drops its watches on the path and below, even one that was just set.
    dropped: BTreeSet<PathBuf>,
}

/// The result of [`Watcher::arm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Armed {
    /// A watch was set: what changed before it was set went unseen, so look again.
    pub added: bool,
    /// Every watch is set, and every file system reports its changes.
    pub complete: bool,
}

impl Watcher {
    /// Opens inotify. Wakes are dropped while `wakes` is full: one that wakes is enough. `what` is followed, for messages: `the manifests`.
    ///
    /// # Errors
    /// There is no inotify, or no instance left for this user.
    pub fn open(what: &'static str, names: Names, wakes: mpsc::Sender<Wake>) -> std::io::Result<Self> {
        let interest = Arc::new(Mutex::new(Interest::new(names)));
        let shared = interest.clone();
        let inner = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            for wake in shared.lock().wakes(event) {
                // Full: it wakes anyway. Closed: the source is ending.
                let _ = wakes.try_send(wake);
            }
        })
        .map_err(std::io::Error::other)?;
        Ok(Self { inner, what, armed: BTreeMap::new(), interest, failure: None })
    }

    /// Sets the watches that the scans of these roots call for, and takes back those of directories that are gone or were replaced.
    /// For a root without a scan only those that show its return.
    pub fn arm(&mut self, roots: &[(&Path, Option<&Scan>)]) -> Armed {
        let mut interest = Interest::new(self.interest.lock().names.clone());
        let mut wanted = BTreeMap::new();
        for (root, scan) in roots {
            if let Some(scan) = scan {
                interest.directories.extend(scan.directories.keys().cloned());
                interest.targets.extend(scan.targets.iter().cloned());
                wanted.extend(scan.directories.iter().map(|(path, id)| (path.clone(), *id)));
            }
            for (parent, name) in guards(root) {
                interest.paths.insert(parent.join(name));
                interest.paths.insert(parent.clone());
                if let Some(id) = Id::at(&parent) {
                    wanted.entry(parent).or_insert(id);
                }
            }
        }
        let dropped = std::mem::replace(&mut *self.interest.lock(), interest).dropped;

        let is_stale =
            |(path, id): &(&PathBuf, &Id)| wanted.get(*path) != Some(*id) || dropped.iter().any(|dropped| path.starts_with(dropped));
        let stale: Vec<PathBuf> = self.armed.iter().filter(is_stale).map(|(path, _)| path.clone()).collect();
        for path in stale {
            self.armed.remove(&path);
            // The watch of a removed directory is gone already.
            let _ = self.inner.unwatch(&path);
        }
        let mut result = Armed { added: false, complete: true };
        let mut failure = None;
        for (path, id) in wanted {
            result.complete &= reports_changes(&path);
            if self.armed.contains_key(&path) {
                continue;
            }
            match self.inner.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.armed.insert(path, id);
                    result.added = true;
                }
                Err(error) => {
                    result.complete = false;
                    // A directory that has just gone is not worth a word.
                    failure = failure.or_else(|| path.exists().then(|| error.to_string()));
                }
            }
        }
        if failure != self.failure {
            if let Some(failure) = &failure {
                let what = self.what;
                tracing::warn!(error = %failure, "can't watch every directory of {what} for changes: they are polled");
            }
            self.failure = failure;
        }
        result
    }
}

impl Interest {
    fn new(names: Names) -> Self {
        Self { names, directories: BTreeSet::new(), paths: BTreeSet::new(), targets: BTreeSet::new(), dropped: BTreeSet::new() }
    }

    fn wakes(&mut self, event: notify::Result<notify::Event>) -> Vec<Wake> {
        let event = match event {
            Ok(event) if event.need_rescan() => return vec![Wake::Changed],
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "an event of a file system was lost");
                return vec![Wake::Changed];
            }
        };
        let wake: fn(PathBuf) -> Wake = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => Wake::Closed,
            // Reading makes these, our own reading too.
            EventKind::Access(_) => return Vec::new(),
            EventKind::Modify(ModifyKind::Data(_)) => Wake::Written,
            _ => |_| Wake::Changed,
        };
        let is_about_content = matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)));
        let mut paths = event.paths;
        paths.retain(|path| self.counts(path, is_about_content));
        if matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))) {
            self.dropped.extend(paths.iter().filter(|path| self.directories.contains(*path) || self.paths.contains(*path)).cloned());
        }
        paths.into_iter().map(wake).collect()
    }

    fn counts(&self, path: &Path, is_about_content: bool) -> bool {
        let inside = path.parent().is_some_and(|parent| self.directories.contains(parent));
        if is_about_content {
            let named = path.file_name().and_then(|name| name.to_str()).is_some_and(self.names.file);
            return inside && named || self.targets.contains(path);
        }
        inside || self.directories.contains(path) || self.paths.contains(path)
    }
}

/// Directories and names in them whose changes decide what `directory` is: the nearest directory above that exists, with the next name on the way,
/// and each that holds a link on the way.
fn guards(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let mut found = Vec::new();
    for path in absolute.ancestors() {
        let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back()) else { continue };
        let Ok(parent) = parent.canonicalize() else { continue };
        // The nearest, and from there on only links.
        if found.is_empty() || path.is_symlink() {
            found.push((parent, PathBuf::from(name)));
        }
    }
    found
}

/// `true` if inotify sees all changes of a file system: not those that other machines make.
pub fn reports_changes(path: &Path) -> bool {
    // From statfs(2): NFS, SMB (three), FUSE, 9p, Ceph, AFS (two), Lustre, OCFS2, GFS2, VirtualBox.
    const REMOTE: &[u64] = &[
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x6573_5546,
        0x0102_1997,
        0x00C3_6400,
        0x5346_414F,
        0x6B41_4653,
        0x0BD0_0BD0,
        0x7461_636F,
        0x0116_1970,
        0x786F_4256,
    ];
    // The type of the field differs between platforms; magic numbers have 32 bits.
    rustix::fs::statfs(path).is_ok_and(|status| !REMOTE.contains(&(status.f_type as u64 & 0xFFFF_FFFF)))
}

#[cfg(test)]
mod tests {
    use notify::Event;
    use notify::event::{CreateKind, DataChange, Flag, RemoveKind};

    use super::*;

    #[test]
    fn only_what_matters_wakes() {
        let mut interest = Interest {
            directories: ["/a/m".into()].into(),
            paths: ["/a".into(), "/a/m".into()].into(),
            targets: ["/s/x.txt".into()].into(),
            ..Interest::new(Names { directory: |_| true, file: |name| name.ends_with(".yaml"), excluded: Arc::default(), within: None })
        };
        let mut wakes = |kind, path: &str| interest.wakes(Ok(Event::new(kind).add_path(path.into())));
        let create = EventKind::Create(CreateKind::File);
        let data = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert_eq!(wakes(create, "/a/m/..data"), [Wake::Changed]);
        assert_eq!(wakes(create, "/a/m"), [Wake::Changed]);
        assert_eq!(wakes(create, "/a"), [Wake::Changed]);
        assert_eq!(wakes(create, "/a/other"), []);
        assert_eq!(wakes(data, "/a/m/x.yaml"), [Wake::Written("/a/m/x.yaml".into())]);
        assert_eq!(wakes(data, "/s/x.txt"), [Wake::Written("/s/x.txt".into())]);
        assert_eq!(wakes(data, "/a/m/x.log"), []);
        assert_eq!(wakes(EventKind::Access(AccessKind::Close(AccessMode::Write)), "/a/m/x.yaml"), [Wake::Closed("/a/m/x.yaml".into())]);
        assert_eq!(wakes(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/a/m/x.yaml"), []);
        assert_eq!(wakes(EventKind::Remove(RemoveKind::Folder), "/a/m"), [Wake::Changed]);
        assert_eq!(interest.dropped, ["/a/m".into()].into());
        assert_eq!(interest.wakes(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan))), [Wake::Changed]);
    }

    #[test]
    fn the_way_to_a_directory_is_guarded() {
        let scratch = tempfile::tempdir().unwrap();
        let real = scratch.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("releases/1/manifests")).unwrap();
        std::os::unix::fs::symlink("releases/1", real.join("current")).unwrap();
        let of = |path: &str| guards(&real.join(path)).into_iter().map(|(parent, name)| parent.join(name)).collect::<Vec<_>>();
        assert_eq!(of("releases/1/manifests"), [real.join("releases/1/manifests")]);
        assert_eq!(of("current/manifests"), [real.join("releases/1/manifests"), real.join("current")]);
        assert_eq!(of("releases/2/x/y"), [real.join("releases/2")]);
    }
}
