//! Signals of `bed` and its `init`: blocked, read from a descriptor, passed on.

use anyhow::Context;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

/// Signals which a command under `bed run` is to get.
const PASSED_ON: [Signal; 6] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];

fn watched() -> SigSet {
    PASSED_ON.into_iter().chain([Signal::SIGCHLD]).collect()
}

/// Blocks the signals for this thread, its children included, and opens a descriptor to read them from.
pub(super) fn watch() -> anyhow::Result<SignalFd> {
    watched().thread_block().context("block signals")?;
    SignalFd::with_flags(&watched(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).context("open a signal descriptor")
}

/// Undoes [`watch`] in a child.
pub(super) fn unblock() -> anyhow::Result<()> {
    watched().thread_unblock().context("unblock signals")
}

/// One received signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) signal: Signal,
    /// Sent by a process: the terminal's own (Ctrl-C) reach the whole foreground group, the command included, without our help.
    pub(super) by_process: bool,
}

impl Received {
    pub(super) fn read(signals: &SignalFd) -> anyhow::Result<Option<Self>> {
        let Some(info) = signals.read_signal().context("read a signal")? else { return Ok(None) };
        Self::of(&info).map(Some)
    }

    fn of(info: &siginfo) -> anyhow::Result<Self> {
        let number = i32::try_from(info.ssi_signo).context("signal numbers are small")?;
        let signal = Signal::try_from(number).context("only named signals are watched")?;
        // SI_USER is 0, SI_QUEUE and the like are negative; SI_KERNEL is 128.
        Ok(Self { signal, by_process: info.ssi_code <= 0 })
    }
}

/// Passes a signal on; a child that is gone already doesn't need it.
pub(super) fn pass_on(signal: Signal, child: Pid) {
    let _ = kill(child, signal);
}

/// The exit code for a child's end as shells have it; `None` while it lives.
pub(super) fn exit_code(status: WaitStatus) -> Option<u8> {
    match status {
        WaitStatus::Exited(_, code) => Some(u8::try_from(code & 0xff).expect("masked to a byte")),
        WaitStatus::Signaled(_, signal, _) => Some(128_u8.wrapping_add(u8::try_from(signal as i32).unwrap_or(0))),
        _ => None,
    }
}

/// Process id of a child that was just started.
pub(super) fn pid(child: &std::process::Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process id fits an i32"))
}
