//! Reads a directory once: for commands that end.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_watch::{Found, Names, Scan, Signature, scan};

use crate::file::{Content, MAX_FILE_BYTES};
use crate::loaded::{File, Loaded, read};

/// The reason why a directory could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is nothing.
    #[error("the manifest directory {} does not exist", .0.display())]
    Missing(PathBuf),
    /// There is something else.
    #[error("{} is not a directory: expected a directory of manifests", .0.display())]
    NotADirectory(PathBuf),
    /// Not permitted, or trouble with the disk.
    #[error("the manifest directory {} can't be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
}

impl LoadError {
    fn new(directory: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(directory.to_owned()),
            io::ErrorKind::NotADirectory => Self::NotADirectory(directory.to_owned()),
            _ => Self::Unreadable(directory.to_owned(), error),
        }
    }
}

/// Reads all files of a directory and of those below it. Blocks.
///
/// # Errors
/// The directory itself can't be read. What is wrong with the files in it is in [`Loaded::problems`].
pub fn load(directory: &Path) -> Result<Loaded, LoadError> {
    let look = || {
        let found = scan(directory, &names()).map_err(|error| LoadError::new(directory, error))?;
        Ok((read(files(&found, None, |_, path, _| content(path)), None), found.is_consistent()))
    };
    // A second time where the kubelet changed the files meanwhile; it does so once a minute at most.
    match look()? {
        (loaded, true) => Ok(loaded),
        (_, false) => look().map(|(loaded, _)| loaded),
    }
}

/// Files named `*.yaml`, `*.yml` and `*.json`, in sub-directories too. Names that begin with a dot are passed over: that is how the kubelet hides the parts of
/// a mounted ConfigMap (`..data`, `..2024_01_02...`), and editors their swap files.
pub(crate) fn names() -> Names {
    Names { directory: |name| !name.starts_with('.'), file: is_manifest, excluded: Arc::default(), within: None }
}

/// `true` if a name is one of a file that is read.
fn is_manifest(name: &str) -> bool {
    !name.starts_with('.')
        && Path::new(name)
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// Reads one file.
pub(crate) fn content(path: &Path) -> Content {
    fs_watch::read_file(path, MAX_FILE_BYTES + 1).map_or_else(|error| Content::Unreadable(error.to_string()), Content::Bytes)
}

/// The files of a scan. `content` is asked for what is in one. A sub-directory that can't be read counts as a file that can't be,
/// and what `previous` knew below it stays.
pub(crate) fn files(scan: &Scan, previous: Option<&Loaded>, mut content: impl FnMut(&Arc<str>, &Path, &Signature) -> Content) -> Vec<File> {
    let mut files: Vec<File> = scan
        .files
        .iter()
        .map(|(path, found)| File {
            path: path.clone(),
            content: match found {
                Found::File { path: full, signature } => content(path, full, signature),
                Found::Unreadable(reason) => Content::Unreadable(reason.clone()),
            },
        })
        .collect();
    for (closed, reason) in &scan.closed {
        let below = previous
            .into_iter()
            .flat_map(Loaded::files)
            .filter(|path| path.strip_prefix(&**closed).is_some_and(|rest| rest.starts_with('/')));
        files.extend(below.map(|path| File { path: path.clone(), content: Content::Unchanged }));
        files.push(File { path: closed.clone(), content: Content::Unreadable(reason.clone()) });
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_sub_directory_takes_nothing_with_it() {
        let text = |name: &str| Content::Bytes(format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n").into_bytes());
        let file = |path: &str, name: &str| File { path: path.into(), content: text(name) };
        let before = read([file("sub/a.yaml", "a"), file("subway.yaml", "b")], None);
        let mut closed = Scan::default();
        closed.closed.push(("sub".into(), "permission denied".into()));
        let now = read(files(&closed, Some(&before), |_, _, _| Content::Unchanged), Some(&before));
        assert_eq!(now.snapshot.config_maps.keys().map(|key| &*key.name).collect::<Vec<_>>(), ["a"]);
        assert_eq!(
            now.problems().iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["File sub: can't be read (permission denied); nothing new is taken from it"]
        );
    }
}
