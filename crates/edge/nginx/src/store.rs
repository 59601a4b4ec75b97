//! The files that NGINX reads: staged, put in place by rename, taken back when they don't serve, and kept as the last good
//! set for a restart.
//!
//! `nginx.conf` is staged under another name, because a reader may come at any time. Every other file is put in place at
//! once: running workers have loaded what they need, and the staged `nginx.conf` must find them under their final names.
//! A [`Staged`] that is dropped before [`Staged::keep`] takes everything back.
//!
//! Nothing is synced to the disk: NGINX reads what was written without it, a killed process loses nothing, and after a
//! crash of the machine no NGINX serves and every file is compared and written again. On a busy disk a sync was seen to take
//! minutes, for which a reload would have to wait. The last good set has a checksum instead.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use ngx_proc::files;
use render::{FileSet, Paths};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::Retry;

/// A file could not be written, read or put in place.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A path of the file set leads out of the work directory, or into its `run` directory.
    #[error(
        "path {0:?} of the file set is not below the work directory: a relative path in UTF-8 without \"..\" was expected, outside of \"run\""
    )]
    Path(PathBuf),
    /// The file set has no `nginx.conf`.
    #[error("the file set has no nginx.conf")]
    NoConf,
    /// The operating system refuses.
    #[error("{what} {path:?} failed")]
    Io {
        /// The operation: `writing`, `renaming`, ...
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl StoreError {
    /// Whether to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Path(_) | Self::NoConf => Retry::Never,
            Self::Io { .. } => Retry::Later,
        }
    }
}

pub(crate) fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io { what, path: path.to_owned(), source }
}

const CONF: &str = "nginx.conf";
const STAGED_CONF: &str = "nginx.conf.new";

/// The files below one work directory.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    paths: Paths,
}

/// One file as it was before.
#[derive(Debug)]
struct Before {
    path: PathBuf,
    /// Mode and content; `None`: there was none.
    file: Option<(u32, Vec<u8>)>,
}

/// Files that wait for NGINX's verdict.
#[derive(Debug)]
pub(crate) struct Staged {
    work_dir: PathBuf,
    replaced: Vec<Before>,
    kept: bool,
}

/// Path of the staged `nginx.conf` of a work directory.
pub(crate) fn staged_conf(paths: &Paths) -> PathBuf {
    paths.work_dir.join(STAGED_CONF)
}

impl Store {
    pub(crate) fn new(paths: Paths) -> Self {
        Self { paths }
    }

    /// Path of the staged `nginx.conf`.
    pub(crate) fn staged_conf(&self) -> PathBuf {
        staged_conf(&self.paths)
    }

    fn last_good_path(&self) -> PathBuf {
        self.paths.run_dir().join("last-good")
    }

    /// Writes what differs from the disk; `nginx.conf` under its staged name.
    pub(crate) fn stage(&self, set: &FileSet) -> Result<Staged, StoreError> {
        check(set)?;
        let mut staged = Staged { work_dir: self.paths.work_dir.clone(), replaced: Vec::new(), kept: false };
        for file in &set.files {
            if file.path == Path::new(CONF) {
                write(&self.staged_conf(), file.mode, &file.bytes)?;
            } else {
                staged.replace(&file.path, file.mode, &file.bytes)?;
            }
        }
        Ok(staged)
    }

    /// Remembers a set that serves, and removes files of the one before that it no longer has.
    pub(crate) fn remember(&self, set: &FileSet, before: Option<&FileSet>) -> Result<(), StoreError> {
        write(&self.last_good_path(), 0o600, &encode(set))?;
        for old in before.into_iter().flat_map(|before| &before.files) {
            if check_path(&old.path).is_ok() && !set.files.iter().any(|file| file.path == old.path) {
                remove(&self.paths.work_dir.join(&old.path))?;
            }
        }
        Ok(())
    }

    /// The last set that served. One that is damaged counts as none.
    pub(crate) fn last_good(&self) -> Option<FileSet> {
        let set = decode(&fs::read(self.last_good_path()).ok()?)?;
        check(&set).ok().map(|()| set)
    }

    /// Makes the disk hold this set: after a controller was killed in the middle of a change, or found the disk full. Writes nothing that is there.
    pub(crate) fn restore(&self, set: &FileSet) -> Result<(), StoreError> {
        remove(&self.staged_conf())?;
        for file in &set.files {
            let path = self.paths.work_dir.join(&file.path);
            if !same(&path, file.mode, &file.bytes) {
                tracing::warn!(path = %path.display(), "a file is not what served last: restored");
                write(&path, file.mode, &file.bytes)?;
            }
        }
        Ok(())
    }
}

impl Staged {
    /// Gives `nginx.conf` its name.
    pub(crate) fn promote(&mut self) -> Result<(), StoreError> {
        let (staged, conf) = (self.work_dir.join(STAGED_CONF), self.work_dir.join(CONF));
        let before = read_back(&self.work_dir, Path::new(CONF))?;
        fs::rename(&staged, &conf).map_err(io_error("renaming", &staged))?;
        self.replaced.push(before);
        Ok(())
    }

    /// The verdict is good: nothing is taken back.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }

    fn replace(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> Result<(), StoreError> {
        let target = self.work_dir.join(path);
        if same(&target, mode, bytes) {
            return Ok(());
        }
        let before = read_back(&self.work_dir, path)?;
        write(&target, mode, bytes)?;
        self.replaced.push(before);
        Ok(())
    }

    /// Takes everything back.
    pub(crate) fn undo(&mut self) -> Result<(), StoreError> {
        remove(&self.work_dir.join(STAGED_CONF))?;
        for Before { path, file } in self.replaced.drain(..).rev() {
            let target = self.work_dir.join(path);
            match file {
                Some((mode, bytes)) => write(&target, mode, &bytes)?,
                None => remove(&target)?,
            }
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = self.undo()
        {
            tracing::error!(error = &error as &dyn std::error::Error, "the previous configuration could not be put back on disk");
        }
    }
}

fn check(set: &FileSet) -> Result<(), StoreError> {
    set.files.iter().try_for_each(|file| check_path(&file.path))?;
    set.files.iter().any(|file| file.path == Path::new(CONF)).then_some(()).ok_or(StoreError::NoConf)
}

fn check_path(path: &Path) -> Result<(), StoreError> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_))) && path.file_name().is_some() && path.to_str().is_some();
    let reserved = path.starts_with("run") || path == Path::new(STAGED_CONF);
    if plain && !reserved { Ok(()) } else { Err(StoreError::Path(path.to_owned())) }
}

fn same(path: &Path, mode: u32, bytes: &[u8]) -> bool {
    let mode_is = |metadata: fs::Metadata| metadata.is_file() && metadata.permissions().mode() & 0o7777 == mode;
    fs::symlink_metadata(path).is_ok_and(mode_is) && fs::read(path).is_ok_and(|found| found == bytes)
}

fn read_back(work_dir: &Path, path: &Path) -> Result<Before, StoreError> {
    let target = work_dir.join(path);
    let read = open_below(work_dir, path).and_then(|mut file| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok((file.metadata()?.permissions().mode() & 0o7777, bytes))
    });
    let file = match read {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            tracing::warn!(path = %target.display(), "a link is in the place of a file of ours: it is replaced, and not put back");
            None
        }
        Err(error) => return Err(io_error("reading", &target)(error)),
    };
    Ok(Before { path: path.to_owned(), file })
}

/// Opens a file below the work directory without following a link.
///
/// NGINX can write there, too. Where it has another container than we, a link would lead to what we alone may read, our token say, and what is
/// read here may be written to the directory again.
fn open_below(work_dir: &Path, path: &Path) -> io::Result<fs::File> {
    let directory = rustix::fs::open(work_dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat2(&directory, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS) {
        // A kernel or a sandbox without it.
        Err(Errno::NOSYS | Errno::PERM) => openat(&directory, path, flags, Mode::empty()),
        opened => opened,
    };
    Ok(opened?.into())
}

/// Writes a file below the work directory, whole or not at all.
pub(crate) fn write(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), StoreError> {
    files::write(path, mode, bytes).map_err(io_error("writing", path))
}

pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    files::remove(path).map_err(io_error("removing", path))
}

/// The first line of the last good set: what follows, one after the other.
#[derive(Serialize, Deserialize)]
struct Header {
    revision: String,
    files: Vec<(PathBuf, u32, usize)>,
    /// CRC-32 of what follows.
    checksum: u32,
}

/// One file, so that a rename replaces the whole set or nothing.
fn encode(set: &FileSet) -> Vec<u8> {
    let files = set.files.iter().map(|file| (file.path.clone(), file.mode, file.bytes.len())).collect();
    let content: Vec<u8> = set.files.iter().flat_map(|file| file.bytes.iter().copied()).collect();
    let header = Header { revision: set.revision.clone(), files, checksum: crc32fast::hash(&content) };
    let mut out = serde_json::to_vec(&header).expect("paths of the file set were checked to be UTF-8");
    out.push(b'\n');
    out.extend(content);
    out
}

fn decode(bytes: &[u8]) -> Option<FileSet> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
    let mut rest = &bytes[end + 1..];
    if crc32fast::hash(rest) != header.checksum {
        return None;
    }
    let mut files = Vec::new();
    for (path, mode, length) in header.files {
        let (content, after) = rest.split_at_checked(length)?;
        rest = after;
        files.push(render::File { path, mode, bytes: content.to_owned() });
    }
    rest.is_empty().then_some(FileSet { revision: header.revision, files, moves: false, origins: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(revision: &str, files: &[(&str, u32, &str)]) -> FileSet {
        let file =
            |(path, mode, text): &(&str, u32, &str)| render::File { path: path.into(), mode: *mode, bytes: text.as_bytes().to_owned() };
        FileSet { revision: revision.into(), files: files.iter().map(file).collect(), moves: false, origins: Vec::new() }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { work_dir: dir.path().to_owned() };
        fs::create_dir(paths.run_dir()).unwrap();
        (dir, Store::new(paths))
    }

    fn listing(dir: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut left = vec![dir.to_owned()];
        while let Some(next) = left.pop() {
            for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    left.push(entry.path());
                } else {
                    let name = entry.path().strip_prefix(dir).unwrap().display().to_string();
                    found.push((name, fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        found.retain(|(name, _)| !name.starts_with("run/"));
        found.sort();
        found
    }

    #[test]
    fn what_is_not_kept_is_taken_back_to_the_byte() {
        let (dir, store) = store();
        let mut first = store.stage(&set("1", &[("nginx.conf", 0o644, "one"), ("lua/a.lua", 0o644, "a1")])).unwrap();
        first.promote().unwrap();
        first.keep();
        let before = listing(dir.path());
        let mut second =
            store.stage(&set("2", &[("nginx.conf", 0o644, "two"), ("lua/a.lua", 0o644, "a2"), ("certs/c.pem", 0o600, "c")])).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("nginx.conf")).unwrap(), "one");
        assert_eq!(fs::read_to_string(store.staged_conf()).unwrap(), "two");
        assert_eq!(dir.path().join("certs/c.pem").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        second.promote().unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("nginx.conf")).unwrap(), "two");
        drop(second);
        assert_eq!(listing(dir.path()), before);
    }

    #[test]
    fn the_last_good_set_survives_and_a_damaged_one_counts_as_none() {
        let (dir, store) = store();
        let old = set("1", &[("nginx.conf", 0o644, "one"), ("certs/old.pem", 0o600, "old")]);
        let new = set("2", &[("nginx.conf", 0o644, "two\n"), ("lua/ü.lua", 0o644, "")]);
        let mut staged = store.stage(&old).unwrap();
        staged.promote().unwrap();
        staged.keep();
        store.remember(&old, None).unwrap();
        store.remember(&new, Some(&old)).unwrap();
        assert!(!dir.path().join("certs/old.pem").exists());
        assert_eq!(store.last_good(), Some(new.clone()));
        let bytes = fs::read(store.last_good_path()).unwrap();
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None, "cut to {length} bytes");
        }
        let zeroed: Vec<u8> = bytes.iter().enumerate().map(|(index, &byte)| if index + 3 < bytes.len() { byte } else { 0 }).collect();
        assert_eq!(decode(&zeroed), None);
        fs::write(dir.path().join("nginx.conf"), "half").unwrap();
        fs::write(store.staged_conf(), "half").unwrap();
        store.restore(&new).unwrap();
        assert_eq!(listing(dir.path()), [("lua/ü.lua".into(), String::new()), ("nginx.conf".into(), "two\n".into())]);
    }

    #[test]
    fn what_a_link_leads_to_is_never_written_into_the_directory() {
        let (dir, store) = store();
        let elsewhere = tempfile::tempdir().unwrap();
        let token = elsewhere.path().join("a.lua");
        fs::write(&token, "token").unwrap();
        for (link, target) in [("nginx.conf", token.as_path()), ("a.lua", &token), ("lua", elsewhere.path())] {
            std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
        }
        let mut staged = store.stage(&set("1", &[("nginx.conf", 0o644, "one"), ("a.lua", 0o644, "a")])).unwrap();
        staged.promote().unwrap();
        staged.undo().unwrap();
        assert!(!dir.path().join("nginx.conf").exists() && !dir.path().join("a.lua").exists());
        assert!(read_back(dir.path(), Path::new("lua/a.lua")).unwrap().file.is_none());
        assert_eq!(fs::read_to_string(&token).unwrap(), "token");
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        let (_dir, store) = store();
        for path in ["../x", "/etc/passwd", "a/../../x", "run/lock", "nginx.conf.new", ""] {
            let error = store.stage(&set("1", &[("nginx.conf", 0o644, ""), (path, 0o644, "")])).unwrap_err();
            assert!(matches!(error, StoreError::Path(_)), "{path}: {error}");
        }
        assert!(matches!(store.stage(&set("1", &[])), Err(StoreError::NoConf)));
    }
}
