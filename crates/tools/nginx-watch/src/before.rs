//! A command that has to be done before a reload by one replica alone: the renewal of a certificate on shared storage.
//!
//! One task runs it, so that it goes on when the client that asked for it has gone. Those that ask meanwhile share the run.
//! The lock is kept until every process of the command is gone: also when it takes too long, or this process is stopping.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::lock::{Lock, Tried, Wanted};
use children::{Children, late};

/// Callers that wait for the task to take their request; more wait before that.
const QUEUE: usize = 64;

/// The command and its lock.
#[derive(Debug, Clone)]
pub struct Before {
    /// Run by `sh -c`.
    pub command: String,
    /// The replica that holds it runs the command, the others wait for it.
    pub lock: Arc<dyn Lock>,
    /// Longest run, and longest wait for another one's.
    pub timeout: Duration,
    /// The commands that are waited for.
    pub children: Children,
}

/// The way in which the command was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// The command ran here.
    Here,
    /// The command ran for another replica or another request meanwhile, or not long ago.
    Elsewhere,
}

/// The task. Clones are the same one.
#[derive(Debug, Clone)]
pub struct BeforeHandle {
    asks: mpsc::Sender<Ask>,
}

#[derive(Debug)]
struct Ask {
    wanted: Wanted,
    answer: oneshot::Sender<Result<Done, String>>,
}

impl BeforeHandle {
    /// Runs it, or waits until another replica has.
    ///
    /// # Errors
    /// The command failed or took too long, or there is no lock.
    pub(crate) async fn run(&self, wanted: Wanted) -> Result<Done, String> {
        let (answer, answered) = oneshot::channel();
        let gone = || "the process is ending".to_owned();
        self.asks.send(Ask { wanted, answer }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

impl Before {
    /// Starts the task. It goes into `tasks`; if it ends it gives its name.
    pub fn spawn(self, tasks: &mut JoinSet<&'static str>) -> BeforeHandle {
        let (asks, mut queue) = mpsc::channel::<Ask>(QUEUE);
        tasks.spawn(async move {
            while let Some(first) = queue.recv().await {
                let _busy = self.children.busy();
                let result = self.run(first.wanted).await;
                if let Err(error) = &result {
                    tracing::error!(error, "no reload: the command of --before was not run to its end");
                }
                // A client that has gone doesn't get it.
                let _ = first.answer.send(result.clone());
                while let Ok(next) = queue.try_recv() {
                    let _ = next.answer.send(result.clone().map(|_| Done::Elsewhere));
                }
            }
            "the task of the command before reloads"
        });
        BeforeHandle { asks }
    }

    async fn run(&self, mut wanted: Wanted) -> Result<Done, String> {
        let begun = Instant::now();
        let mut contender = self.lock.contend();
        loop {
            if self.children.is_stopping() {
                return Err("the command of --before is not run: narthex is stopping".to_owned());
            }
            match contender.attempt(&wanted, Box::pin(self.command())).await? {
                Tried::Ran => return Ok(Done::Here),
                Tried::Done(_) => return Ok(Done::Elsewhere),
                Tried::Held(mark) => {
                    if begun.elapsed() >= self.timeout {
                        return Err(format!(
                            "{} has been held by another replica for {:?} (--request-timeout)",
                            self.lock.name(),
                            self.timeout
                        ));
                    }
                    // If the replica that holds it now dies or fails, it is our turn.
                    if wanted == Wanted::Anyway {
                        wanted = Wanted::UnlessSince(mark);
                    }
                }
            }
            sleep(contender.pause()).await;
        }
    }

    async fn command(&self) -> Result<(), String> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &self.command]).stdin(Stdio::null());
        let cut = async {
            tokio::select! {
                late = late(self.timeout) => late,
                () = self.children.stopping() => io::ErrorKind::Interrupted.into(),
            }
        };
        let output = self.children.output(command, Vec::new(), cut).await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => {
                format!(
                    "the command of --before took longer than {:?} (--request-timeout): it was ended with all its processes",
                    self.timeout
                )
            }
            io::ErrorKind::Interrupted => "the command of --before was ended with all its processes: narthex is stopping".to_owned(),
            _ => format!("the command of --before can't be run: {error}"),
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("the command of --before ended with {}: {}", output.status, said.trim()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::lock::{FileLock, LocalLock};

    fn before(command: String, lock: impl Lock) -> Before {
        Before { command, lock: Arc::new(lock), timeout: Duration::from_secs(60), children: Children::default() }
    }

    async fn until(holds: impl Fn() -> bool) {
        while !holds() {
            tokio::task::yield_now().await;
        }
    }

    fn lines(path: &Path) -> usize {
        std::fs::read_to_string(path).unwrap_or_default().lines().count()
    }

    #[tokio::test]
    async fn of_many_replicas_one_runs_the_command() {
        let scratch = tempfile::tempdir().unwrap();
        let (log, go, lock) = (scratch.path().join("log"), scratch.path().join("go"), scratch.path().join("lock"));
        let command = format!("echo x >> {}; while [ ! -e {} ]; do sleep 0.02; done", log.display(), go.display());
        let before = before(command, FileLock { path: lock });
        let mut tasks = JoinSet::new();
        let first = before.clone().spawn(&mut tasks);
        let mut replicas = JoinSet::new();
        replicas.spawn(async move { first.run(Wanted::Anyway).await });
        until(|| log.exists()).await;
        // The others find the lock held when they first ask.
        for _ in 0..4 {
            let handle = before.clone().spawn(&mut tasks);
            replicas.spawn(async move { handle.run(Wanted::Anyway).await });
        }
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        std::fs::write(go, "").unwrap();
        let done = replicas.join_all().await;
        assert_eq!(done.iter().filter(|done| **done == Ok(Done::Here)).count(), 1, "{done:?}");
        assert_eq!(done.iter().filter(|done| **done == Ok(Done::Elsewhere)).count(), 4, "{done:?}");
        assert_eq!(lines(&log), 1);
    }

    #[tokio::test]
    async fn a_waiter_for_one_that_failed_does_it_itself() {
        let scratch = tempfile::tempdir().unwrap();
        let (log, go) = (scratch.path().join("log"), scratch.path().join("go"));
        let lock = FileLock { path: scratch.path().join("lock") };
        let failing = format!("echo x >> {}; while [ ! -e {} ]; do sleep 0.02; done; exit 1", log.display(), go.display());
        let mut tasks = JoinSet::new();
        let first = before(failing, lock.clone()).spawn(&mut tasks);
        let second = before(format!("echo y >> {}", log.display()), lock).spawn(&mut tasks);
        let first = tokio::spawn(async move { first.run(Wanted::Anyway).await });
        until(|| log.exists()).await;
        let second = tokio::spawn(async move { second.run(Wanted::Anyway).await });
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        std::fs::write(go, "").unwrap();
        assert!(first.await.unwrap().is_err());
        assert_eq!((second.await.unwrap(), lines(&log)), (Ok(Done::Here), 2));
    }

    #[tokio::test]
    async fn requests_of_one_moment_share_a_run_that_outlives_them() {
        let scratch = tempfile::tempdir().unwrap();
        let (log, go) = (scratch.path().join("log"), scratch.path().join("go"));
        let command = format!("echo x >> {0}; while [ ! -e {1} ]; do sleep 0.02; done; echo y >> {0}", log.display(), go.display());
        let mut tasks = JoinSet::new();
        let handle = before(command, LocalLock::default()).spawn(&mut tasks);
        let ask = || {
            let handle = handle.clone();
            tokio::spawn(async move { handle.run(Wanted::Anyway).await })
        };
        let first = ask();
        until(|| log.exists()).await;
        first.abort();
        let (second, third) = (ask(), ask());
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        std::fs::write(go, "").unwrap();
        assert_eq!((second.await.unwrap(), third.await.unwrap()), (Ok(Done::Elsewhere), Ok(Done::Elsewhere)));
        assert_eq!(lines(&log), 2);
        let again = handle.run(Wanted::UnlessWithin(Duration::from_secs(600))).await;
        assert_eq!((again, lines(&log)), (Ok(Done::Elsewhere), 2));
    }

    #[tokio::test]
    async fn a_command_that_fails_says_why() {
        let mut tasks = JoinSet::new();
        let handle = before("echo no >&2; exit 3".into(), LocalLock::default()).spawn(&mut tasks);
        let error = handle.run(Wanted::Anyway).await.unwrap_err();
        assert!(error.contains("exit status: 3: no"), "{error}");
    }
}
