//! A directory that NGINX can't read although its user can: the token of a controller that shares its container.
//!
//! Landlock (Linux 5.19, where it is switched on) limits a process and its descendants for good, and takes no privilege. It knows what is allowed
//! only: so each entry beside the way to the directory is. What is made there later, next to the directory or to one of its ancestors, NGINX
//! can't read either. It can't look into processes outside of the fence, which would be another way to the directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// Hides one directory from what is started behind it.
#[derive(Debug)]
pub(crate) struct Fence {
    hidden: PathBuf,
}

impl Fence {
    /// A fence around a directory; `None` where there is no such directory, or the kernel has no Landlock.
    pub(crate) fn around(directory: &Path) -> Option<Self> {
        let hidden = fs::canonicalize(directory).ok()?;
        let path = hidden.clone();
        match apart(move || restrict(&path)) {
            Ok(()) => {
                tracing::info!(directory = %directory.display(), "NGINX can't read the service account's token");
                Some(Self { hidden })
            }
            Err(error) => {
                tracing::warn!(
                    directory = %directory.display(), %error,
                    "NGINX can read the service account's token as far as the mode of the file lets its user: give it a container of its own \
                     (controller.splitDataPlane of the chart) where tenants write snippets"
                );
                None
            }
        }
    }

    /// Starts a command behind it.
    ///
    /// # Errors
    /// As [`Command::spawn`], or when the fence can't be put up.
    pub(crate) fn spawn(&self, mut command: Command) -> io::Result<Child> {
        let (hidden, runtime) = (self.hidden.clone(), Handle::current());
        apart(move || {
            restrict(&hidden)?;
            let _guard = runtime.enter();
            command.spawn()
        })
    }
}

/// Runs something in a thread of its own, which alone is limited by it, and what it starts.
fn apart<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let thread = std::thread::Builder::new().name("fence".to_owned()).spawn(work)?;
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Limits this thread.
fn restrict(hidden: &Path) -> io::Result<()> {
    match enforce(hidden).map_err(io::Error::other)? {
        RulesetStatus::NotEnforced => Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel has no Landlock, or it is switched off")),
        _ => Ok(()),
    }
}

fn enforce(hidden: &Path) -> Result<RulesetStatus, RulesetError> {
    // Renames between directories are forbidden unless they are allowed.
    let everywhere = AccessFs::ReadFile | AccessFs::Refer;
    let mut ruleset = Ruleset::default().handle_access(everywhere)?.create()?;
    for (path, is_directory) in beside(hidden) {
        // It may be gone since.
        if let Ok(opened) = PathFd::new(&path) {
            let access = if is_directory { everywhere } else { AccessFs::ReadFile.into() };
            ruleset = ruleset.add_rule(PathBeneath::new(opened, access))?;
        }
    }
    Ok(ruleset.restrict_self()?.ruleset)
}

/// Everything but the directory, as few paths as possible, with whether it is a directory. Links are left out: what they lead to is here itself, or hidden.
fn beside(hidden: &Path) -> Vec<(PathBuf, bool)> {
    let way: Vec<&Path> = hidden.ancestors().collect();
    let ancestors = way.iter().skip(1);
    let entries = ancestors.flat_map(|directory| fs::read_dir(directory).into_iter().flatten().flatten());
    let kinds = entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)));
    kinds.filter(|(path, kind)| !way.contains(&path.as_path()) && !kind.is_symlink()).map(|(path, kind)| (path, kind.is_dir())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_the_way_is_listed_and_nothing_that_leads_to_the_end_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let hidden = root.join("secrets/account");
        fs::create_dir_all(&hidden).unwrap();
        fs::create_dir(root.join("work")).unwrap();
        fs::write(root.join("secrets/other"), "").unwrap();
        std::os::unix::fs::symlink(&hidden, root.join("link")).unwrap();
        let found = beside(&hidden);
        assert!(found.contains(&(root.join("work"), true)) && found.contains(&(root.join("secrets/other"), false)));
        assert!(found.iter().all(|(path, _)| !hidden.starts_with(path) && !path.ends_with("link")));
    }

    #[tokio::test]
    async fn only_what_is_started_behind_it_can_t_read_the_directory_by_any_way() {
        let dir = tempfile::tempdir().unwrap();
        let (hidden, open) = (dir.path().join("account"), dir.path().join("open"));
        fs::create_dir(&hidden).unwrap();
        fs::write(hidden.join("token"), "secret").unwrap();
        fs::write(&open, "open").unwrap();
        std::os::unix::fs::symlink(&hidden, dir.path().join("link")).unwrap();
        // A kernel without Landlock has no fence.
        let Some(fence) = Fence::around(&hidden) else { return };
        let read = |path: &Path| {
            let mut command = Command::new("cat");
            command.arg(path).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
            command
        };
        let through = |path: PathBuf| {
            let child = fence.spawn(read(&path)).unwrap();
            async { child.wait_with_output().await.unwrap().stdout }
        };
        assert_eq!(through(open).await, b"open");
        let process = PathBuf::from(format!("/proc/{}/root", std::process::id())).join(hidden.strip_prefix("/").unwrap());
        for path in [hidden.join("token"), dir.path().join("link/token"), process.join("token")] {
            assert_eq!(through(path.clone()).await, b"", "{}", path.display());
            assert_eq!(read(&path).spawn().unwrap().wait_with_output().await.unwrap().stdout, b"secret", "{}", path.display());
        }
    }
}
