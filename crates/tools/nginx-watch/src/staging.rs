//! Takes files that another user writes into a directory that NGINX reads: checked, tested, swapped in at once, and put back when NGINX does not take them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ngx_proc::files::hidden_name;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::policy::Policy;
use crate::snapshot::{Roots, Snapshot, Tree};
use crate::tree;

/// The directory for the files, and the policy for them.
#[derive(Debug, Clone)]
pub struct Staging {
    /// The directory that NGINX reads; absolute. It holds what the other one holds, and nothing else.
    pub to: PathBuf,
    /// The policy for the content of files.
    pub policy: Policy,
}

/// New files that stand in their place, and the old ones.
#[derive(Debug)]
pub(crate) struct Installed {
    to: PathBuf,
    old: Old,
}

#[derive(Debug)]
enum Old {
    /// The directory was swapped with this one.
    Beside(PathBuf),
    /// The directory can't be swapped (it is a mount point): its files were written one by one.
    Kept(Tree),
}

impl Staging {
    /// The objections of the policy to a snapshot: all of it, a line each.
    pub(crate) fn refuses(&self, snapshot: &Snapshot) -> Option<String> {
        let found: Vec<String> =
            snapshot.trees.iter().flat_map(|tree| self.policy.check(tree, &self.to)).map(|found| found.to_string()).collect();
        (!found.is_empty()).then(|| found.join("\n"))
    }

    /// The content of the directory that NGINX reads.
    pub(crate) fn installed(&self) -> Option<Snapshot> {
        Snapshot::take(&Roots { paths: vec![self.to.clone()], excluded: Arc::default(), is_foreign: false }).ok()
    }

    /// The prefix of the names of directories that are made beside this one: where the next one is written and the last one is kept.
    fn beside(&self) -> String {
        format!("{}-", self.to.file_name().unwrap_or_default().to_string_lossy())
    }

    /// Removes what an earlier process left beside the directory.
    fn tidy(&self) -> io::Result<()> {
        let start = format!("..narthex-{}", self.beside());
        for entry in fs::read_dir(self.to.parent().unwrap_or(Path::new("/")))? {
            let entry = entry?;
            let is_ours = entry.file_name().to_str().and_then(|name| name.strip_prefix(&*start)).is_some_and(|end| end.len() == 16);
            if is_ours && entry.file_type()?.is_dir() {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Puts the files in place. Blocks.
    pub(crate) fn install(&self, tree: &Tree) -> io::Result<Installed> {
        match self.swap(tree) {
            Ok(beside) => Ok(Installed { to: self.to.clone(), old: Old::Beside(beside) }),
            Err(error) => {
                tracing::debug!(%error, to = %self.to.display(), "the directory can't be swapped: its files are written one by one");
                let _ = self.tidy();
                let old = self
                    .installed()
                    .and_then(|mut snapshot| snapshot.trees.pop())
                    .ok_or_else(|| io::Error::other("the old files can't be read"))?;
                let written = mirror(&self.to, tree);
                let installed = Installed { to: self.to.clone(), old: Old::Kept(old) };
                match written {
                    Ok(()) => Ok(installed),
                    Err(error) => {
                        installed.roll_back()?;
                        Err(error)
                    }
                }
            }
        }
    }

    fn swap(&self, tree: &Tree) -> io::Result<PathBuf> {
        self.tidy()?;
        let beside = self.to.with_file_name(hidden_name(&self.beside()));
        tree::write(&beside, tree)?;
        fs::set_permissions(&beside, fs::metadata(&self.to)?.permissions())?;
        renameat_with(CWD, &beside, CWD, &self.to, RenameFlags::EXCHANGE)?;
        Ok(beside)
    }
}

impl Installed {
    /// The new files stay.
    pub(crate) fn keep(self) -> io::Result<()> {
        match self.old {
            Old::Beside(beside) => remove(&beside),
            Old::Kept(_) => Ok(()),
        }
    }

    /// The old files come back.
    pub(crate) fn roll_back(self) -> io::Result<()> {
        match self.old {
            Old::Beside(beside) => {
                renameat_with(CWD, &beside, CWD, &self.to, RenameFlags::EXCHANGE)?;
                remove(&beside)
            }
            Old::Kept(old) => mirror(&self.to, &old),
        }
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Makes a directory hold just these files: writes what differs, each by rename, and removes what is too much.
fn mirror(directory: &Path, tree: &Tree) -> io::Result<()> {
    let roots = Roots { paths: vec![directory.to_owned()], excluded: Arc::default(), is_foreign: false };
    let present = Snapshot::take(&roots).map_err(io::Error::other)?;
    let present = present.trees.into_iter().next().map(|tree| tree.files).unwrap_or_default();
    for (path, file) in &tree.files {
        if present.get(path) != Some(file) {
            tree::put(&directory.join(&**path), file)?;
        }
    }
    let mut emptied = BTreeSet::new();
    for path in present.keys().filter(|path| !tree.files.contains_key(*path)) {
        let path = directory.join(&**path);
        fs::remove_file(&path)?;
        emptied.extend(path.ancestors().skip(1).take_while(|above| *above != directory).map(Path::to_owned));
    }
    // Deepest first; those that still hold something stay.
    for directory in emptied.iter().rev() {
        let _ = fs::remove_dir(directory);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_of(files: &[(&str, &str)]) -> Tree {
        let file = |text: &str| crate::snapshot::File { bytes: Some(text.as_bytes().into()), mode: 0o644, owner: owner() };
        Tree { root: "/from".into(), is_file: false, files: files.iter().map(|(path, text)| ((*path).into(), file(text))).collect() }
    }

    fn owner() -> (u32, u32) {
        (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
    }

    fn listing(directory: &Path) -> Vec<(String, String)> {
        let roots = Roots { paths: vec![directory.to_owned()], excluded: Arc::default(), is_foreign: false };
        let files = Snapshot::take(&roots).unwrap().trees.pop().unwrap().files;
        files.into_iter().map(|(path, file)| (path.to_string(), String::from_utf8(file.bytes.unwrap().to_vec()).unwrap())).collect()
    }

    fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn files_are_swapped_in_and_put_back() {
        let scratch = tempfile::tempdir().unwrap();
        let staging = Staging { to: scratch.path().join("conf.d"), policy: Policy::default() };
        fs::create_dir(&staging.to).unwrap();
        let (one, two) = ([("a.conf", "1"), ("sub/b.conf", "1")], [("a.conf", "2")]);
        staging.install(&tree_of(&one)).unwrap().keep().unwrap();
        assert_eq!(listing(&staging.to), owned(&one));
        let installed = staging.install(&tree_of(&two)).unwrap();
        assert_eq!(listing(&staging.to), owned(&two));
        installed.roll_back().unwrap();
        assert_eq!(listing(&staging.to), owned(&one));
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_can_t_be_swapped_is_written_file_by_file() {
        let scratch = tempfile::tempdir().unwrap();
        let to = scratch.path().join("conf.d");
        fs::create_dir(&to).unwrap();
        mirror(&to, &tree_of(&[("a.conf", "1"), ("sub/deep/b.conf", "1"), ("c.conf", "1")])).unwrap();
        mirror(&to, &tree_of(&[("a.conf", "2"), ("c.conf", "1"), ("d.conf", "2")])).unwrap();
        assert_eq!(listing(&to), owned(&[("a.conf", "2"), ("c.conf", "1"), ("d.conf", "2")]));
        assert!(!to.join("sub").exists());
        let old = Tree { root: to.clone(), ..tree_of(&[("a.conf", "1")]) };
        Installed { to: to.clone(), old: Old::Kept(old) }.roll_back().unwrap();
        assert_eq!(listing(&to), owned(&[("a.conf", "1")]));
    }
}
