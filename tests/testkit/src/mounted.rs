//! A mounted ConfigMap or Secret, written as the kubelet does: a hidden directory, a link to it, and one rename that changes everything.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Instant;

/// A directory with such a volume.
#[derive(Debug)]
pub struct Mounted {
    root: PathBuf,
    version: u32,
}

impl Mounted {
    /// A volume in a directory that exists.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), version: 0 }
    }

    /// Replaces all that is there by these files (names may have directories), and returns when they could be seen.
    ///
    /// # Errors
    /// The directory can't be written.
    pub fn write<T: AsRef<[u8]>>(&mut self, files: &[(&str, T)]) -> io::Result<Instant> {
        self.version += 1;
        let new = format!("..2026_05_06_07_08_09.{}", self.version);
        for (name, text) in files {
            let path = self.root.join(&new).join(name);
            fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
            fs::write(path, text)?;
        }
        let old = fs::read_link(self.root.join("..data")).ok();
        symlink(&new, self.root.join("..data_tmp"))?;
        fs::rename(self.root.join("..data_tmp"), self.root.join("..data"))?;
        let renamed = Instant::now();
        let tops: BTreeSet<&str> = files.iter().filter_map(|(name, _)| name.split('/').next()).collect();
        for top in tops.iter().filter(|top| !self.root.join(top).is_symlink()) {
            symlink(format!("..data/{top}"), self.root.join(top))?;
        }
        for entry in fs::read_dir(&self.root)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with("..") && !tops.contains(name.as_str()) {
                fs::remove_file(self.root.join(name))?;
            }
        }
        if let Some(old) = old {
            fs::remove_dir_all(self.root.join(old))?;
        }
        Ok(renamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_replaces_the_one_before_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut mounted = Mounted::new(directory.path());
        mounted.write(&[("a.conf", "1"), ("sub/b.conf", "1")]).unwrap();
        mounted.write(&[("a.conf", "2")]).unwrap();
        let mut names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["..2026_05_06_07_08_09.2", "..data", "a.conf"]);
        assert_eq!(fs::read_to_string(directory.path().join("a.conf")).unwrap(), "2");
    }
}
