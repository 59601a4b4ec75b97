//! NGINX as a child, also as the first process of a container: signals are passed on, orphans are waited for, and its end is ours.

use std::future::pending;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use ngx_proc::find::{Locator, find};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal as stream};
use tokio::time::{Instant, sleep_until};

use children::{Children, Own};

/// The time that it has after the signal to end at once.
const LAST: Duration = Duration::from_secs(2);

/// The request that a signal stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalRequest {
    /// SIGTERM, SIGINT or SIGQUIT, by name: the end.
    Stop(&'static str),
    /// SIGHUP: a run, whatever changed.
    Reload,
    /// SIGUSR1: open the logs again.
    Reopen,
    /// SIGCHLD: a process has ended.
    Ended,
}

/// The signals that mean something.
#[derive(Debug)]
pub struct Signals {
    streams: Vec<(Stream, SignalRequest)>,
}

impl Signals {
    /// Takes them over from their defaults.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> io::Result<Self> {
        let wanted = [
            (SignalKind::terminate(), SignalRequest::Stop("SIGTERM")),
            (SignalKind::interrupt(), SignalRequest::Stop("SIGINT")),
            (SignalKind::quit(), SignalRequest::Stop("SIGQUIT")),
            (SignalKind::hangup(), SignalRequest::Reload),
            (SignalKind::user_defined1(), SignalRequest::Reopen),
            (SignalKind::child(), SignalRequest::Ended),
        ];
        let open = |(kind, asked)| Ok((stream(kind)?, asked));
        Ok(Self { streams: wanted.into_iter().map(open).collect::<io::Result<_>>()? })
    }

    /// The next one. Can be dropped without losing any.
    pub async fn next(&mut self) -> SignalRequest {
        std::future::poll_fn(|context| {
            for (stream, asked) in &mut self.streams {
                if stream.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*asked);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

/// The steps of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Open requests are finished.
    Quit,
    /// They are not.
    Terminate,
    /// By force.
    Kill,
}

impl Step {
    const fn next(now: Option<Self>) -> Self {
        match now {
            None => Self::Quit,
            Some(Self::Quit) => Self::Terminate,
            Some(Self::Terminate | Self::Kill) => Self::Kill,
        }
    }

    const fn signal(self) -> Signal {
        match self {
            Self::Quit => Signal::SIGQUIT,
            Self::Terminate => Signal::SIGTERM,
            Self::Kill => Signal::SIGKILL,
        }
    }
}

/// The child.
#[derive(Debug)]
pub struct ChildProcess {
    own: Own,
    locator: Locator,
    patience: Duration,
    step: Option<Step>,
    /// The time at which the next step is due.
    due: Option<Instant>,
}

impl ChildProcess {
    /// Starts it, in a process group of its own: what a terminal sends goes to us alone.
    ///
    /// # Errors
    /// The program can't be started.
    pub fn start(mut command: Command, name: &str, patience: Duration, children: &Children) -> io::Result<Self> {
        let own = children.spawn(command.process_group(0))?;
        let locator = Locator::Below(own.pid, name.to_owned());
        Ok(Self { own, locator, patience, step: None, due: None })
    }

    /// The way to find the master: it is the child, or below it when that is a script.
    pub fn locator(&self) -> Locator {
        self.locator.clone()
    }

    /// Resolves with its exit code; takes the due steps of its end meanwhile. Can be dropped and called again.
    pub async fn ended(&mut self) -> io::Result<u8> {
        loop {
            let due = self.due;
            let step = async {
                match due {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                status = self.own.child.wait() => return Ok(exit_code(status?)),
                () = step => self.stop(),
            }
        }
    }

    /// The next step of its end: it finishes its requests; it ends at once; it is killed.
    pub fn stop(&mut self) {
        let step = Step::next(self.step);
        let now = Instant::now();
        self.step = Some(step);
        self.due = match step {
            Step::Quit => Some(now + self.patience),
            Step::Terminate => Some(now + LAST),
            Step::Kill => None,
        };
        tracing::info!(signal = step.signal().as_str(), pid = self.own.pid, "ending NGINX");
        self.send(step.signal());
        if step == Step::Kill {
            // A script above it, too.
            let _ = kill(Pid::from_raw(-self.own.pid), Signal::SIGKILL);
        }
    }

    /// `true` if its end was asked for.
    pub fn is_ending(&self) -> bool {
        self.step.is_some()
    }

    /// Passes a signal on to the master; to the child while there is none.
    pub fn send(&self, signal: Signal) {
        let (pid, sent) = match find(&self.locator) {
            Ok(master) => (master.id.pid, children::send(master.id, signal)),
            // Not waited for yet: the pid is still its own.
            Err(_) => (self.own.pid, kill(Pid::from_raw(self.own.pid), signal)),
        };
        if let Err(error) = sent {
            tracing::warn!(%error, pid, signal = signal.as_str(), "a signal can't be passed on");
        }
    }
}

/// The code of the child; 128 and the number of the signal that ended it, as shells have it.
fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn the_end_has_three_steps() {
        let steps: Vec<Signal> =
            std::iter::successors(Some(Step::next(None)), |step| Some(Step::next(Some(*step)))).take(4).map(Step::signal).collect();
        assert_eq!(steps, [Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGKILL, Signal::SIGKILL]);
    }

    #[test]
    fn the_code_of_the_child_is_ours() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
    }

    #[tokio::test]
    async fn one_that_does_not_listen_is_killed_in_the_end() {
        let (children, dir) = (Children::default(), tempfile::tempdir().unwrap());
        let is_deaf = dir.path().join("deaf");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' QUIT TERM; : >\"$0\"; while :; do sleep 0.05; done"]).arg(&is_deaf);
        let mut child = ChildProcess::start(command, "nginx", Duration::from_millis(10), &children).unwrap();
        assert!(!child.is_ending());
        while !is_deaf.exists() {
            tokio::task::yield_now().await;
        }
        child.stop();
        child.stop();
        child.stop();
        assert_eq!(child.ended().await.unwrap(), 137);
    }
}
