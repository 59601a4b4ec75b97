//! Processes of tests: started, watched, ended.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::environment;
use crate::error::{Result, while_doing};
use crate::guard::{self, Guard};
use crate::report::Report;
use crate::schedule::{Next, Schedule};
use crate::test::{Binary, Done, Outcome, Test};

/// The environment variable with the number of a test among those that run, from 0.
const SLOT: &str = "NARTHEX_TEST_SLOT";
/// A test that runs for so long is named, and again after each further such time.
const REMINDER: Duration = Duration::from_secs(60);
/// A process that ends well and did not write this has run no test.
const PASSED: &[u8] = b"test result: ok. 1 passed";

pub(crate) struct Options {
    /// Tests at once.
    pub(crate) jobs: usize,
    pub(crate) capture: bool,
    /// For files of outputs.
    pub(crate) state: PathBuf,
}

/// A test in a slot.
struct Running {
    test: usize,
    group: u32,
    began: Instant,
    longest: Duration,
    is_overdue: bool,
    reminders: u32,
    output: Option<File>,
}

impl Running {
    /// The next moment at which there is something to do about it.
    fn due(&self) -> Instant {
        let reminder = self.began + REMINDER * (self.reminders + 1);
        if self.is_overdue { reminder } else { reminder.min(self.began + self.longest) }
    }
}

/// The end of the process in a slot.
struct Ended {
    slot: usize,
    status: io::Result<ExitStatus>,
    at: Instant,
}

/// Runs all tests of a schedule.
///
/// # Errors
/// The report can't be written, or the guard does not start. A test whose process does not start has failed.
pub(crate) fn run<W: Write>(
    tests: &[Test<'_>],
    mut schedule: Schedule,
    options: &Options,
    report: &mut Report<'_, W>,
) -> Result<Vec<Done>> {
    let mut guard = Guard::start()?;
    let (sender, receiver) = mpsc::sync_channel(options.jobs);
    let mut slots: Vec<Option<Running>> = (0..options.jobs).map(|_| None).collect();
    let mut all = Vec::with_capacity(tests.len());
    thread::scope(|scope| {
        let mut turn = || -> Result<bool> {
            while let Some(slot) = slots.iter().position(Option::is_none)
                && let Some(next) = schedule.next(slots.iter().flatten().count())
            {
                match start(&tests[next.test], slot, options) {
                    Ok((mut child, output)) => {
                        guard.add(child.id());
                        slots[slot] = Some(Running::new(next, child.id(), output));
                        let sender = sender.clone();
                        scope.spawn(move || {
                            let status = child.wait();
                            // The receiver is there as long as this thread.
                            let _ = sender.send(Ended { slot, status, at: Instant::now() });
                        });
                    }
                    Err(error) => {
                        let outcome = Outcome::Failed { reason: error.to_string(), output: Vec::new() };
                        let done = Done { test: next.test, took: Duration::ZERO, outcome };
                        report.done(&done)?;
                        all.push(done);
                    }
                }
            }
            let Some(due) = slots.iter().flatten().map(Running::due).min() else { return Ok(false) };
            match receiver.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(ended) => {
                    let Some(running) = slots[ended.slot].take() else { return Ok(true) };
                    guard.remove(running.group);
                    let done = running.ended(ended);
                    if !done.has_passed() {
                        // What it started may still be there.
                        guard::kill(running.group)?;
                    }
                    report.done(&done)?;
                    all.push(done);
                }
                // This function has a sender: the channel is open.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    for running in slots.iter_mut().flatten() {
                        running.remind(report)?;
                    }
                }
            }
            Ok(true)
        };
        let result = loop {
            match turn() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // After an error the threads above wait for these.
        for running in slots.iter().flatten() {
            guard::kill(running.group)?;
        }
        result
    })?;
    Ok(all)
}

impl Running {
    fn new(next: Next, group: u32, output: Option<File>) -> Self {
        let Next { test, longest } = next;
        Self { test, group, began: Instant::now(), longest, is_overdue: false, reminders: 0, output }
    }

    /// Ends what takes too long, and names what takes long.
    fn remind<W: Write>(&mut self, report: &mut Report<'_, W>) -> Result<()> {
        let age = self.began.elapsed();
        if !self.is_overdue && age >= self.longest {
            self.is_overdue = true;
            guard::kill(self.group)?;
        }
        if age >= REMINDER * (self.reminders + 1) {
            self.reminders += 1;
            report.still_running(self.test, age)?;
        }
        Ok(())
    }

    fn ended(&self, ended: Ended) -> Done {
        let took = ended.at.saturating_duration_since(self.began);
        let output = self.output.as_ref().map(whole).unwrap_or(Ok(Vec::new()));
        let reason = match (&ended.status, &output) {
            _ if self.is_overdue => Some(format!("ended after its limit of {} s", self.longest.as_secs())),
            (Err(error), _) => Some(format!("cannot wait for it: {error}")),
            (_, Err(error)) => Some(format!("cannot read its output: {error}")),
            (Ok(status), _) if !status.success() => Some(status.to_string()),
            (Ok(_), Ok(output)) if self.output.is_some() && !contains(output, PASSED) => {
                Some("its process ended without running it".into())
            }
            _ => None,
        };
        let outcome = reason.map_or(Outcome::Passed, |reason| Outcome::Failed { reason, output: output.unwrap_or_default() });
        Done { test: self.test, took, outcome }
    }
}

fn contains(output: &[u8], part: &[u8]) -> bool {
    output.windows(part.len()).any(|window| window == part)
}

/// Starts the process of a test, in a group of its own.
fn start(test: &Test<'_>, slot: usize, options: &Options) -> Result<(std::process::Child, Option<File>)> {
    let mut command = command(test.binary);
    command.args(["--exact", &test.name, "--nocapture"]).env(SLOT, slot.to_string()).process_group(0);
    let output =
        options.capture.then(|| output_file(&options.state, slot)).transpose().map_err(while_doing("make a file for its output"))?;
    if let Some(file) = &output {
        let clone = || file.try_clone().map_err(while_doing("share the file for its output"));
        command.stdout(clone()?).stderr(clone()?);
    }
    let child = command.spawn().map_err(while_doing(format!("start {}", test.binary.executable.display())))?;
    Ok((child, output))
}

/// A binary in its directory, with the environment of `cargo test`.
pub(crate) fn command(binary: &Binary) -> Command {
    let mut command = Command::new(&binary.executable);
    command.current_dir(&binary.directory).stdin(Stdio::null());
    environment::without_ours(&mut command).env("CARGO_MANIFEST_DIR", &binary.directory).env("CARGO_PKG_NAME", &binary.package);
    command
}

/// A file without a name. Not a pipe: a process that a test leaves behind would keep that open. Everything is appended, also by programs that open
/// `/dev/stderr`.
fn output_file(state: &Path, slot: usize) -> io::Result<File> {
    let path = state.join(format!("output-{}-{slot}", std::process::id()));
    let file = File::options().read(true).append(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// All of a file, wherever its writers are.
fn whole(file: &File) -> io::Result<Vec<u8>> {
    let mut text = vec![0; usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?];
    file.read_exact_at(&mut text, 0)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_due_at_its_limit_and_every_minute() {
        let seconds = Duration::from_secs;
        let mut running = Running::new(Next { test: 0, longest: seconds(90) }, 1, None);
        assert_eq!(running.due() - running.began, seconds(60));
        running.reminders = 1;
        assert_eq!(running.due() - running.began, seconds(90));
        running.is_overdue = true;
        assert_eq!(running.due() - running.began, seconds(120));
    }

    #[test]
    fn a_part_of_an_output_is_found() {
        assert!(contains(b"xx\ntest result: ok. 1 passed; 0 failed\n", PASSED));
        assert!(!contains(b"test result: ok. 0 passed; 0 failed\n", PASSED));
        assert!(!contains(b"", PASSED));
    }
}
