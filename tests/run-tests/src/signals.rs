//! Signals that this program was started to ignore, as by `nohup`: its tests would ignore them too, and so would what these start and signal.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::error::{Error, Result, while_doing};

/// The names and numbers of signals that tests send.
const SENT: [(&str, u32); 7] = [("HUP", 1), ("INT", 2), ("QUIT", 3), ("USR1", 10), ("USR2", 12), ("TERM", 15), ("WINCH", 28)];

/// Replaces this process by the same program with the usual effect of the signals that it ignores; nothing where it ignores none.
///
/// # Errors
/// `env` does not start.
pub(crate) fn restore() -> Result<()> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(while_doing("read which signals are ignored"))?;
    let ignored = ignored(&status);
    if ignored.is_empty() {
        return Ok(());
    }
    let own = std::env::current_exe().map_err(while_doing("find this program"))?;
    let mut command = Command::new("env");
    command.arg(format!("--default-signal={}", ignored.join(","))).arg(own).args(std::env::args_os().skip(1));
    let error: io::Error = command.exec();
    Err(Error::new(format!("cannot start env, which restores ignored signals: {error}")))
}

/// Those of [`SENT`] in the mask of a process.
fn ignored(status: &str) -> Vec<&'static str> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    SENT.into_iter().filter(|(_, number)| mask & 1 << (number - 1) != 0).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001000\n"), Vec::<&str>::new());
        assert_eq!(ignored("SigIgn:\t0000000000001007\n"), ["HUP", "INT", "QUIT"]);
        assert_eq!(ignored("SigIgn:\t0000000008004801\n"), ["HUP", "USR2", "TERM", "WINCH"]);
    }
}
