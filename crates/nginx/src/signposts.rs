//! Signposts: for each host whose TLS connections go on undecrypted a file with its endpoints, which NGINX reads for every connection
//! (`docs/live-protocol.md`).
//!
//! A file is replaced by rename, so that no reader meets half of one. The file for all other names is put up last: without it connections
//! are closed, and nothing is decrypted that should not be.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use ngx_proc::files;

use crate::store::{StoreError, write};

/// The file for all names that have none of their own.
const OTHERS: &str = "_";
/// What it says, for people: that it is there is enough.
const OTHERS_TEXT: &str = "decrypted here";

/// Brings the directory to these hosts and their texts. What is right already is not touched; files of other hosts go.
///
/// # Errors
/// The operating system refuses; what was done until then stays, and doing it again is safe.
pub fn put_up<'a>(directory: &Path, signposts: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), StoreError> {
    let mut wanted = BTreeSet::new();
    for (name, text) in signposts.chain([(OTHERS, OTHERS_TEXT)]) {
        let path = directory.join(name);
        if !fs::read(&path).is_ok_and(|held| held == text.as_bytes()) {
            write(&path, 0o644, text.as_bytes())?;
        }
        wanted.insert(OsString::from(name));
    }
    let fail = |what| move |source| StoreError::Io { what, path: directory.to_owned(), source };
    for entry in fs::read_dir(directory).map_err(fail("reading"))? {
        let name = entry.map_err(fail("reading"))?.file_name();
        if !wanted.contains(&name) {
            files::remove(&directory.join(&name)).map_err(fail("removing a file of"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_holds_what_is_wanted_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("signposts");
        let put = |signposts: &[(&str, &str)]| put_up(&path, signposts.iter().copied()).unwrap();
        let held = || {
            let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap());
            let mut all: Vec<(String, String)> =
                entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())).collect();
            all.sort();
            all.into_iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>()
        };
        put(&[("a.example", "10.0.0.1:443"), ("b.example", "")]);
        assert_eq!(held(), ["_=decrypted here", "a.example=10.0.0.1:443", "b.example="]);
        fs::write(path.join("a.example~"), "half").unwrap();
        put(&[("a.example", "10.0.0.2:443,[::1]:8443")]);
        assert_eq!(held(), ["_=decrypted here", "a.example=10.0.0.2:443,[::1]:8443"]);
    }
}
