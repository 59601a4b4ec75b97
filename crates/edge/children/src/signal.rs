//! Signals to processes that are known by pid and start time: never to one that has got the pid since.

use ngx_proc::procfs::{self, Identity};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

/// Sends a signal to this very process.
///
/// # Errors
/// `ESRCH` when it is gone, or the system's refusal.
pub fn send(id: Identity, signal: Signal) -> Result<(), Errno> {
    let opened = rustix::process::Pid::from_raw(id.pid).ok_or(Errno::ESRCH).and_then(|pid| {
        let opened = pidfd_open(pid, PidfdFlags::empty());
        opened.map_err(|error| Errno::from_raw(error.raw_os_error()))
    });
    // The descriptor stands for whichever process has the pid now, so the look comes after it was opened.
    if !procfs::alive(id) {
        return Err(Errno::ESRCH);
    }
    match (opened, rustix::process::Signal::from_named_raw(signal as i32)) {
        (Ok(descriptor), Some(signal)) => pidfd_send_signal(descriptor, signal).map_err(|error| Errno::from_raw(error.raw_os_error())),
        // A kernel or a sandbox without pidfd.
        _ => kill(Pid::from_raw(id.pid), signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_that_is_meant_gets_the_signal() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let id = procfs::identity(child.id().cast_signed()).unwrap();
        assert_eq!(send(Identity { start: id.start + 1, ..id }, Signal::SIGKILL), Err(Errno::ESRCH));
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(send(id, Signal::SIGKILL), Ok(()));
        child.wait().unwrap();
        assert_eq!(send(id, Signal::SIGKILL), Err(Errno::ESRCH));
    }
}
