//! Children of this process, apart from those that it inherits as the first process of a container.

use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ngx_proc::procfs;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::group::Group;

/// After its processes are gone, the pipes of a command are read for so long.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The processes that were started here and are waited for. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub struct Children {
    own: Arc<Mutex<BTreeSet<i32>>>,
    work: watch::Sender<Work>,
}

/// The work that the end has to wait for.
#[derive(Debug, Default)]
struct Work {
    stopping: bool,
    busy: usize,
}

/// A work that is under way.
#[derive(Debug)]
pub struct Busy(Children);

/// A child; known as ours until this is dropped.
#[derive(Debug)]
pub struct Own {
    /// The child.
    pub child: Child,
    /// Its pid.
    pub pid: i32,
    children: Children,
}

impl Children {
    /// Starts a command.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command) -> io::Result<Own> {
        // Held while it starts: it could end before it is known.
        let mut own = self.own.lock();
        let child = command.spawn()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0);
        own.insert(pid);
        drop(own);
        Ok(Own { child, pid, children: self.clone() })
    }

    /// Runs a command to its end, with all that it starts in its process group, both outputs caught, and this text as its standard input where that is
    /// a pipe. What `cut` resolves to ends it before: all its processes are gone when this returns.
    ///
    /// # Errors
    /// The command can't be started, or was cut short.
    pub async fn output(&self, mut command: Command, input: Vec<u8>, cut: impl Future<Output = io::Error>) -> io::Result<Output> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut own = self.spawn(&mut command)?;
        let mut group = Group::of(own.pid);
        let stdin = own.child.stdin.take();
        let writing = async move {
            if let Some(mut stdin) = stdin {
                // A command that doesn't read it says why by other means.
                let _ = stdin.write_all(&input).await;
            }
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let (out, err) = (own.child.stdout.take(), own.child.stderr.take());
        let ended = {
            let mut talking = Talking(Some(Box::pin(async {
                tokio::join!(writing, read(out, &mut stdout), read(err, &mut stderr));
            })));
            let mut cut = pin!(cut);
            let ending = async {
                let status = own.child.wait().await;
                group.gone().await;
                status
            };
            let ended = talking
                .beside(async {
                    tokio::select! { status = ending => status, why = &mut cut => Err(why) }
                })
                .await;
            if ended.is_err() {
                talking.beside(group.end()).await;
            }
            // What is in the pipes still. A process of another group may keep them open.
            let _ = tokio::time::timeout(LAST_WORDS, talking.end()).await;
            ended
        };
        Ok(Output { status: ended?, stdout, stderr })
    }

    /// Asks all work to end: [`Self::stopping`] resolves.
    pub fn stop(&self) {
        self.work.send_modify(|work| work.stopping = true);
    }

    /// Resolves when the end was asked for.
    pub async fn stopping(&self) {
        // The sender lives as long as this.
        let _ = self.work.subscribe().wait_for(|work| work.stopping).await;
    }

    /// `true` if the end was asked for.
    pub fn is_stopping(&self) -> bool {
        self.work.borrow().stopping
    }

    /// A work that the end waits for, until this is dropped.
    pub fn busy(&self) -> Busy {
        self.work.send_modify(|work| work.busy += 1);
        Busy(self.clone())
    }

    /// Asks for the end, and returns when no work is under way.
    pub async fn idle(&self) {
        self.stop();
        let _ = self.work.subscribe().wait_for(|work| work.busy == 0).await;
    }

    /// Waits for the dead children that are not ours: those whose parents ended, when this is the first process of a container.
    pub fn reap_others(&self) {
        let own = self.own.lock();
        for pid in procfs::children(std::process::id().cast_signed()) {
            if !own.contains(&pid) && procfs::identity(pid).is_none() {
                // It may have been waited for since.
                let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            }
        }
    }
}

/// The transfer through the pipes of a command while something else is waited for.
struct Talking<'a>(Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl Talking<'_> {
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        tokio::select! {
            done = &mut work => return done,
            () = self.end() => {}
        }
        work.await
    }

    /// Returns when all pipes are closed.
    async fn end(&mut self) {
        if let Some(talk) = &mut self.0 {
            talk.await;
            self.0 = None;
        }
    }
}

/// Resolves after this time, to the error that says so.
pub async fn late(timeout: Duration) -> io::Error {
    tokio::time::sleep(timeout).await;
    io::ErrorKind::TimedOut.into()
}

async fn read(pipe: Option<impl tokio::io::AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    use tokio::io::AsyncReadExt as _;
    if let Some(mut pipe) = pipe {
        // What was read before an error is there.
        let _ = pipe.read_to_end(bytes).await;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.work.send_modify(|work| work.busy -= 1);
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.children.own.lock().remove(&self.pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command
    }

    #[tokio::test]
    async fn the_outputs_of_a_command_are_caught() {
        let children = Children::default();
        let output = children.output(sh("cat; echo err >&2; exit 3"), b"in".to_vec(), late(Duration::from_secs(20))).await.unwrap();
        assert_eq!((output.status.code(), &*output.stdout, &*output.stderr), (Some(3), &b"in"[..], &b"err\n"[..]));
        assert!(children.own.lock().is_empty());
    }

    /// A command that starts others, one of them in a group of its own and one that ignores SIGTERM, and prints their pids.
    const FAMILY: &str =
        "setsid sleep 600 & echo $! >> $0; (trap '' TERM; echo go > $0.go; exec sleep 600) & echo $! >> $0; sleep 600 & echo $! >> $0;
        while [ ! -e $0.go ]; do sleep 0.01; done; echo full >> $0; wait";

    #[tokio::test]
    async fn a_command_that_is_cut_short_is_gone_with_all_that_it_started() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("pids");
        let mut command = sh(FAMILY);
        command.arg(&path);
        let cut = async {
            while !std::fs::read_to_string(&path).unwrap_or_default().contains("full") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            io::ErrorKind::TimedOut.into()
        };
        let children = Children::default();
        let error = children.output(command, Vec::new(), cut).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let pids: Vec<i32> = std::fs::read_to_string(&path).unwrap().lines().filter_map(|line| line.parse().ok()).collect();
        assert_eq!(pids.len(), 3);
        assert_eq!(pids.into_iter().filter_map(procfs::identity).collect::<Vec<_>>(), []);
    }

    #[tokio::test]
    async fn a_command_is_over_when_its_whole_group_is() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("done");
        let mut command = sh("(sleep 0.2; echo done > $0) > /dev/null 2>&1 &");
        command.arg(&path);
        Children::default().output(command, Vec::new(), late(Duration::from_secs(20))).await.unwrap();
        assert!(path.exists());
    }
}
