//! Children of this process, apart from those that it inherits as the first process of a container.

use std::collections::BTreeSet;
use std::io;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ngx_proc::procfs;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// Those that were started here and are waited for. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub struct Children {
    own: Arc<Mutex<BTreeSet<i32>>>,
}

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
    fn own(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a command.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command) -> io::Result<Own> {
        // Held while it starts: it could end before it is known.
        let mut own = self.own();
        let child = command.spawn()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0);
        own.insert(pid);
        drop(own);
        Ok(Own { child, pid, children: self.clone() })
    }

    /// Runs a command to its end: with this text as its standard input where that is a pipe, and both outputs caught.
    ///
    /// # Errors
    /// It can't be started, or does not end in time; then it is killed.
    pub async fn output(&self, mut command: Command, input: Vec<u8>, timeout: Duration) -> io::Result<Output> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut own = self.spawn(&mut command)?;
        let stdin = own.child.stdin.take();
        let writing = async move {
            if let Some(mut stdin) = stdin {
                // Who doesn't read it says why by other means.
                let _ = stdin.write_all(&input).await;
            }
        };
        let (mut stdout, mut stderr) = (own.child.stdout.take(), own.child.stderr.take());
        let ending = async {
            let ((), out, err, status) = tokio::join!(writing, read(&mut stdout), read(&mut stderr), own.child.wait());
            Ok(Output { status: status?, stdout: out?, stderr: err? })
        };
        tokio::time::timeout(timeout, ending).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Waits for the dead children that are not ours: those whose parents ended, when this is the first process of a container.
    pub fn reap_others(&self) {
        let own = self.own();
        for pid in procfs::children(std::process::id().cast_signed()) {
            if !own.contains(&pid) && procfs::identity(pid).is_none() {
                // Somebody else's business if it is not there any more.
                let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            }
        }
    }
}

async fn read(pipe: &mut Option<impl tokio::io::AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    use tokio::io::AsyncReadExt as _;
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

impl Drop for Own {
    fn drop(&mut self) {
        self.children.own().remove(&self.pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_outputs_of_a_command_are_caught_and_one_that_hangs_is_killed() {
        let children = Children::default();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "cat; echo err >&2; exit 3"]).stdin(Stdio::piped());
        let output = children.output(command, b"in".to_vec(), Duration::from_secs(20)).await.unwrap();
        assert_eq!((output.status.code(), &*output.stdout, &*output.stderr), (Some(3), &b"in"[..], &b"err\n"[..]));
        let mut command = Command::new("/bin/sleep");
        command.arg("60").stdin(Stdio::null());
        let error = children.output(command, Vec::new(), Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(children.own().is_empty());
    }
}
