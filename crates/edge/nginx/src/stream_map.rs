//! The stream map: for each TCP or UDP service, and each host whose TLS connections go on undecrypted, a file with its endpoints, which NGINX reads
//! for every connection (`docs/live-protocol.md`).
//!
//! Names are `<table>/<key>`, with the letter of the table.
//!
//! A file is replaced by rename, so that no reader meets half of one. The marker, a file for all other names, is written when all others are
//! there: without it connections are closed, and nothing is decrypted that should not be.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::store::{StoreError, io_error, remove, write};

/// The file that is there when all others are.
const MARKER: &str = "_";

/// The directory of the files.
#[derive(Debug)]
pub struct StreamMap {
    directory: PathBuf,
}

impl StreamMap {
    /// A directory, which need not exist yet.
    pub const fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// All files but the marker: name and content. Names that are not UTF-8 are none of ours.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn held(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let read = || -> io::Result<BTreeMap<String, String>> {
            let mut held = BTreeMap::new();
            for table in names(&self.directory)?.into_iter().filter(|name| name != MARKER) {
                for name in names(&self.directory.join(&table))?.into_iter().map(|key| format!("{table}/{key}")) {
                    let content = fs::read(self.directory.join(&name))?;
                    held.insert(name, String::from_utf8_lossy(&content).into_owned());
                }
            }
            Ok(held)
        };
        match read() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
            held => held.map_err(io_error("reading", &self.directory)),
        }
    }

    /// The text of the marker, where it is there.
    pub fn marker(&self) -> Option<String> {
        fs::read_to_string(self.directory.join(MARKER)).ok()
    }

    /// Writes the marker: all others are there.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn complete(&self, marker: &str) -> Result<(), StoreError> {
        self.set(MARKER, marker)
    }

    /// Writes a file, unless it is there with this content.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn set(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.directory.join(name);
        if fs::read(&path).is_ok_and(|held| held == text.as_bytes()) { Ok(()) } else { write(&path, 0o644, text.as_bytes()) }
    }

    /// Removes a file that may be gone already.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        remove(&self.directory.join(name))
    }
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_and_removed_and_the_marker_is_none_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let stream_map = StreamMap::new(dir.path().join("stream_map"));
        let held = || stream_map.held().unwrap().into_iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>();
        assert_eq!((held(), stream_map.marker()), (Vec::new(), None), "there is no directory yet");
        stream_map.set("p/a.example", "0a000001:443").unwrap();
        stream_map.set("l/tcp-80", "").unwrap();
        stream_map.complete("all").unwrap();
        assert_eq!(held(), ["l/tcp-80=", "p/a.example=0a000001:443"]);
        assert_eq!(stream_map.marker().as_deref(), Some("all"));
        fs::write(stream_map.directory.join("p/a.example~"), "half").unwrap();
        stream_map.set("p/a.example", "0a000002:443").unwrap();
        stream_map.remove("l/tcp-80").unwrap();
        stream_map.remove("l/tcp-80").unwrap();
        assert_eq!(held(), ["p/a.example=0a000002:443"]);
    }
}
