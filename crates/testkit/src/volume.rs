//! A mounted ConfigMap, as the kubelet writes it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// Writes versions into a directory: a new hidden directory, a link to it under another name, the rename to `..data`, the removal of the old one.
#[derive(Debug)]
pub struct AtomicWriter {
    /// The volume.
    pub root: PathBuf,
    /// Number of the last version; 0: none yet.
    pub version: u32,
}

impl AtomicWriter {
    /// For an empty directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), version: 0 }
    }

    /// Replaces everything by these files: name and text.
    ///
    /// # Errors
    /// The directory can't be written to.
    pub fn write(&mut self, files: &[(&str, String)]) -> io::Result<()> {
        self.version += 1;
        let new = format!("..2026_05_06_07_08_09.{}", self.version);
        fs::create_dir(self.root.join(&new))?;
        for (name, text) in files {
            fs::write(self.root.join(&new).join(name), text)?;
        }
        let old = fs::read_link(self.root.join("..data")).ok();
        symlink(&new, self.root.join("..data_tmp"))?;
        fs::rename(self.root.join("..data_tmp"), self.root.join("..data"))?;
        let names: BTreeSet<&str> = files.iter().map(|(name, _)| *name).collect();
        for name in &names {
            if !self.root.join(name).is_symlink() {
                symlink(format!("..data/{name}"), self.root.join(name))?;
            }
        }
        for entry in fs::read_dir(&self.root)? {
            let name = entry?.file_name();
            let is_gone = name.to_str().is_some_and(|name| !name.starts_with("..") && !names.contains(name));
            if is_gone {
                fs::remove_file(self.root.join(name))?;
            }
        }
        old.map_or(Ok(()), |old| fs::remove_dir_all(self.root.join(old)))
    }
}
