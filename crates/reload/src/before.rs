//! A command that has to be done before a reload by one replica alone: the renewal of a certificate on shared storage.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::spawn::Children;

const POLL: Duration = Duration::from_millis(50);

/// The command and who may run it.
#[derive(Debug, Clone)]
pub struct Before {
    /// Run by `sh -c`.
    pub command: String,
    /// A file on storage that all replicas share: who holds its lock runs the command, and the others wait for them.
    pub lock_file: Option<PathBuf>,
    /// Longest run, and longest wait for another one's.
    pub timeout: Duration,
    /// Those that are waited for.
    pub children: Children,
    /// Held while it runs without a lock file.
    pub running: Arc<Mutex<()>>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// It ran here.
    Here,
    /// It ran for another replica or another request meanwhile.
    Elsewhere,
}

impl Before {
    /// Runs it, or waits until somebody else has.
    ///
    /// # Errors
    /// It failed or took too long, or there is no lock.
    pub(crate) async fn run(&self) -> Result<Done, String> {
        let Some(path) = &self.lock_file else {
            let Ok(_held) = self.running.try_lock() else {
                drop(self.running.lock().await);
                return Ok(Done::Elsewhere);
            };
            return self.command().await.map(|()| Done::Here);
        };
        let begun = Instant::now();
        let mut first = true;
        loop {
            match lock(path).map_err(|error| format!("the lock file {}: {error}", path.display()))? {
                Some(_held) if first => return self.command().await.map(|()| Done::Here),
                Some(_) => return Ok(Done::Elsewhere),
                None if begun.elapsed() >= self.timeout => {
                    return Err(format!("the lock file {} is held by somebody else for more than {:?}", path.display(), self.timeout));
                }
                None => first = false,
            }
            sleep(POLL).await;
        }
    }

    async fn command(&self) -> Result<(), String> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &self.command]).stdin(Stdio::null());
        let output = self.children.output(command, Vec::new(), self.timeout).await;
        let output = output.map_err(|error| format!("the command of --before can't be run, or does not end: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("the command of --before ended with {}: {}", output.status, said.trim()))
    }
}

/// The lock, or `None` if somebody else has it.
fn lock(path: &Path) -> io::Result<Option<Flock<File>>> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_many_replicas_one_runs_the_command() {
        let scratch = tempfile::tempdir().unwrap();
        let (log, go) = (scratch.path().join("log"), scratch.path().join("go"));
        let before = Before {
            command: format!("echo x >> {}; while [ ! -e {} ]; do sleep 0.02; done", log.display(), go.display()),
            lock_file: Some(scratch.path().join("lock")),
            timeout: Duration::from_secs(60),
            children: Children::default(),
            running: Arc::default(),
        };
        let mut replicas = tokio::task::JoinSet::new();
        for _ in 0..5 {
            let before = before.clone();
            replicas.spawn(async move { before.run().await });
        }
        while !log.exists() {
            tokio::task::yield_now().await;
        }
        // All others have seen the lock by then: they ask before they sleep for the first time.
        sleep(POLL).await;
        std::fs::write(go, "").unwrap();
        let done = replicas.join_all().await;
        assert_eq!(done.iter().filter(|done| **done == Ok(Done::Here)).count(), 1, "{done:?}");
        assert_eq!(done.iter().filter(|done| **done == Ok(Done::Elsewhere)).count(), 4, "{done:?}");
        assert_eq!(std::fs::read_to_string(log).unwrap(), "x\n");
    }

    #[tokio::test]
    async fn without_a_lock_file_requests_of_one_moment_share_a_run() {
        let scratch = tempfile::tempdir().unwrap();
        let log = scratch.path().join("log");
        let command = format!("echo x >> {}", log.display());
        let before =
            Before { command, lock_file: None, timeout: Duration::from_secs(60), children: Children::default(), running: Arc::default() };
        // One task: each asks before the first one can be done.
        let (a, b, c) = tokio::join!(before.run(), before.run(), before.run());
        assert_eq!([a, b, c], [Ok(Done::Here), Ok(Done::Elsewhere), Ok(Done::Elsewhere)]);
        assert_eq!(std::fs::read_to_string(log).unwrap(), "x\n");
    }

    #[tokio::test]
    async fn a_command_that_fails_says_why() {
        let before = Before {
            command: "echo no >&2; exit 3".into(),
            lock_file: None,
            timeout: Duration::from_secs(60),
            children: Children::default(),
            running: Arc::default(),
        };
        let error = before.run().await.unwrap_err();
        assert!(error.contains("exit status: 3: no"), "{error}");
    }
}
