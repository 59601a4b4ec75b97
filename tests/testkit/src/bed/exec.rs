//! The last step before a command runs: the signals that `init` blocks are unblocked.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::terms;

/// Becomes `command`; returns only when that fails.
pub fn exec(command: &[OsString]) -> anyhow::Error {
    if let Err(error) = terms::unblock() {
        return error;
    }
    let Some((program, args)) = command.split_first() else { return anyhow::anyhow!("no command is given") };
    let error = Command::new(program).args(args).exec();
    anyhow::Error::new(error).context(format!("cannot run {}", program.display()))
}
