//! A child process with a log file.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

/// The command of a process that is started again and again.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    /// Output is appended to it.
    pub(super) log: PathBuf,
}

/// A running process. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    spec: Spec,
}

impl Spec {
    /// Starts the process.
    ///
    /// # Errors
    /// The log file or the program can't be opened.
    pub(super) fn start(&self) -> anyhow::Result<Process> {
        let log =
            OpenOptions::new().create(true).append(true).open(&self.log).with_context(|| format!("log file {}", self.log.display()))?;
        let stderr = log.try_clone().with_context(|| format!("log file {}", self.log.display()))?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::null()).stdout(log).stderr(stderr).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("cannot start {}", self.program.display()))?;
        Ok(Process { child, spec: self.clone() })
    }

    /// The last lines of the log, for error messages.
    pub(super) fn log_tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        format!("end of {}:\n{}", self.log.display(), lines[lines.len().saturating_sub(12)..].join("\n"))
    }
}

impl Process {
    /// Its process id.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// # Errors
    /// When it has ended; the error holds its status and the end of its log.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait().context("wait for a child")? {
            None => Ok(()),
            Some(status) => anyhow::bail!("{} ended: {status}; {}", self.spec.program.display(), self.spec.log_tail()),
        }
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When it has ended.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.child.id().context("the process has ended")?;
        let pid = Pid::from_raw(i32::try_from(pid).context("a process id fits")?);
        kill(pid, signal).with_context(|| format!("{signal} to {}", self.spec.program.display()))
    }

    /// Ends it with `signal`, or with SIGKILL after `grace`, and waits until it is gone.
    pub(super) async fn end(mut self, signal: Signal, grace: Duration) -> anyhow::Result<()> {
        if self.signal(signal).is_ok() && tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            self.child.kill().await.with_context(|| format!("kill {}", self.spec.program.display()))?;
        }
        Ok(())
    }
}
