//! Ends the processes of tests when the runner ends before them, by a signal of a terminal as by SIGKILL.
//!
//! Tests have process groups of their own: an interrupt of the terminal reaches the runner alone, and the runner has no handler of signals, which
//! needs unsafe code or a library. The guard is this program once more, in a process group of its own too. It reads from a pipe which groups there
//! are; the pipe ends with the runner, however that ends, and the guard then ends the groups that are left.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::error::{Result, while_doing};

/// The runner's side.
pub(crate) struct Guard {
    child: Child,
}

impl Guard {
    /// # Errors
    /// The process does not start.
    pub(crate) fn start() -> Result<Self> {
        // Not by its path: cargo may replace the file meanwhile.
        let mut command = Command::new("/proc/self/exe");
        command.arg("--guard").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        Ok(Self { child: command.spawn().map_err(while_doing("start the guard"))? })
    }

    /// The process group of a test that has begun.
    pub(crate) fn add(&mut self, group: u32) {
        self.write(&format!("+{group}\n"));
    }

    /// The same when it has ended.
    pub(crate) fn remove(&mut self, group: u32) {
        self.write(&format!("-{group}\n"));
    }

    fn write(&mut self, line: &str) {
        if let Some(pipe) = &mut self.child.stdin {
            // Without a guard the tests run as well; only an interrupt leaves processes behind.
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The guard's side: reads until the runner has ended.
///
/// # Errors
/// The groups that are left cannot be ended.
pub(crate) fn watch(input: impl BufRead) -> Result<()> {
    let left = left(input);
    if !left.is_empty() {
        let _ = writeln!(io::stderr(), "run-tests: interrupted; running tests that are ended: {}", left.len());
    }
    left.into_iter().try_for_each(kill)
}

/// The groups that were added and not removed.
fn left(input: impl BufRead) -> BTreeSet<u32> {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(io::Result::ok) {
        let Some((sign, group)) = line.split_at_checked(1).and_then(|(sign, group)| Some((sign, group.parse().ok()?))) else { continue };
        if sign == "+" {
            groups.insert(group)
        } else {
            groups.remove(&group)
        };
    }
    groups
}

/// Ends a process group at once; one that is gone is none.
///
/// # Errors
/// No shell starts.
pub(crate) fn kill(group: u32) -> Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", "kill -s KILL -- \"-$1\"", "kill", &group.to_string()]).stderr(Stdio::null());
    command.status().map(|_| ()).map_err(while_doing(format!("end the process group {group}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_were_not_removed_are_left() {
        assert_eq!(left("+7\n+8\n+9\n-8\n".as_bytes()), BTreeSet::from([7, 9]));
        assert_eq!(left("+7\n-7\nx\n+\n\n+1x\n".as_bytes()), BTreeSet::new());
    }
}
