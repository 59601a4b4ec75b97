//! The command `ip`.

use std::process::Command;

use anyhow::Context;

/// Runs it in the network namespace of the calling thread.
///
/// # Errors
/// It can't be run, or fails; the error holds what it says.
pub(crate) fn ip(args: &[&str]) -> anyhow::Result<()> {
    let line = || format!("ip {}", args.join(" "));
    let output = Command::new("ip").args(args).output();
    let output = output.with_context(|| format!("cannot run `{}` (apt-get install iproute2)", line()))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "`{}`: {}: {}", line(), output.status, stderr.trim());
    Ok(())
}
