//! PassthroughMap: for each host whose TLS connections go on undecrypted a file with its endpoints, which NGINX reads for every connection
//! (`docs/live-protocol.md`).
//!
//! A file is replaced by rename, so that no reader meets half of one. The marker, a file for all other names, is written when all others are
//! there: without it connections are closed, and nothing is decrypted that should not be.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::store::{StoreError, io_error, remove, write};

/// The file for all names that have none of their own.
const MARKER: &str = "_";

/// The directory of the files.
#[derive(Debug)]
pub struct PassthroughMap {
    directory: PathBuf,
}

impl PassthroughMap {
    /// A directory, which need not exist yet.
    pub const fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// All files but the marker: name and content. Names that are not UTF-8 are no host's.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn held(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let read = || -> io::Result<BTreeMap<String, String>> {
            let mut held = BTreeMap::new();
            for entry in fs::read_dir(&self.directory)? {
                if let Ok(name) = entry?.file_name().into_string()
                    && name != MARKER
                {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_and_removed_and_the_marker_is_none_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let passthrough_map = PassthroughMap::new(dir.path().join("passthrough_map"));
        let held = || passthrough_map.held().unwrap().into_iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>();
        assert_eq!((held(), passthrough_map.marker()), (Vec::new(), None), "there is no directory yet");
        passthrough_map.set("a.example", "10.0.0.1:443").unwrap();
        passthrough_map.set("b.example", "").unwrap();
        passthrough_map.complete("all").unwrap();
        assert_eq!(held(), ["a.example=10.0.0.1:443", "b.example="]);
        assert_eq!(passthrough_map.marker().as_deref(), Some("all"));
        fs::write(passthrough_map.directory.join("a.example~"), "half").unwrap();
        passthrough_map.set("a.example", "10.0.0.2:443,[::1]:8443").unwrap();
        passthrough_map.remove("b.example").unwrap();
        passthrough_map.remove("b.example").unwrap();
        assert_eq!(held(), ["a.example=10.0.0.2:443,[::1]:8443"]);
    }
}
