//! `run-tests`: builds the tests of the workspace and runs each in a process of its own, several at once.
//!
//! `cargo test` runs one binary after the other, and the tests of a binary in one process: a test that hangs, aborts or changes the process ends the
//! others, and one long binary keeps one processor busy. Here every test has a process group, a time limit, a slot
//! (`NARTHEX_TEST_SLOT`, see `testkit::ports`) and an output of its own.
//!
//! Pure: `args` (command line), `json` and `cargo` (what cargo built), `table` (the same as a file), `selection`, `limits` and `schedule`
//! (order), `durations`, `report`. Effects: `environment`, `list` (names in a binary), `run` (processes), `guard` (their end when this process ends),
//! `signals` (those that it was started to ignore).

mod args;
mod cargo;
mod durations;
mod environment;
mod error;
mod guard;
mod json;
mod limits;
mod list;
mod report;
mod run;
mod schedule;
mod selection;
mod signals;
mod table;
mod test;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use args::{Args, Parsed};
use error::{Error, Result, while_doing};
use report::Report;
use test::{Binary, Test};

/// Exit code when a test failed.
const FAILED: u8 = 1;
/// Exit code when no test was run.
const NOTHING_RUN: u8 = 2;

fn main() -> ExitCode {
    start().unwrap_or_else(|error| {
        // A closed standard error leaves the exit code.
        let _ = writeln!(io::stderr(), "run-tests: {error}");
        ExitCode::from(NOTHING_RUN)
    })
}

fn start() -> Result<ExitCode> {
    match args::parse(std::env::args().skip(1))? {
        Parsed::Help => {
            io::stdout().write_all(args::HELP.as_bytes()).map_err(while_doing("write the help"))?;
            Ok(ExitCode::SUCCESS)
        }
        Parsed::Guard => guard::watch(io::stdin().lock()).map(|()| ExitCode::SUCCESS),
        Parsed::Run(args) => {
            signals::restore()?;
            tests(&args)
        }
    }
}

fn tests(args: &Args) -> Result<ExitCode> {
    let binaries = match &args.from {
        Some(path) => table::read(&std::fs::read_to_string(path).map_err(while_doing(format!("read {}", path.display())))?)?,
        None => cargo::build(&args.targets)?,
    };
    if let Some(path) = &args.save {
        std::fs::write(path, table::write(&binaries)?).map_err(while_doing(format!("write {}", path.display())))?;
        return Ok(ExitCode::SUCCESS);
    }
    args.selection.check_binaries(&binaries)?;
    let selected: Vec<&Binary> = binaries.iter().filter(|binary| args.selection.has_binary(binary)).collect();
    let mut tests = list::tests(&selected, args.jobs)?;
    args.selection.check_names(&tests)?;
    tests.retain(|test| args.selection.has_name(&test.name));
    if tests.is_empty() {
        return Err(Error::new("no test is selected"));
    }
    if args.list {
        return list(&tests).map(|()| ExitCode::SUCCESS);
    }
    run(args, &tests)
}

fn list(tests: &[Test<'_>]) -> Result<()> {
    let mut out = io::stdout().lock();
    tests.iter().try_for_each(|test| writeln!(out, "{test}")).map_err(while_doing("write the list"))
}

fn run(args: &Args, tests: &[Test<'_>]) -> Result<ExitCode> {
    let state = args.state.clone().map_or_else(state_directory, Ok)?;
    std::fs::create_dir_all(&state).map_err(while_doing(format!("make {}", state.display())))?;
    let record = state.join("durations");
    let schedule = schedule::Schedule::of(tests, &read_durations(&record)?, args.limit);
    let options = run::Options { jobs: args.jobs, capture: args.capture, state };
    let began = Instant::now();
    let mut report = Report::new(io::stdout().lock(), tests);
    let done = run::run(tests, schedule, &options, &mut report)?;
    let passed = report.finish(&done, began.elapsed(), args.slowest, &args.again())?;
    // Read again: another run may have written it meanwhile.
    let mut durations = read_durations(&record)?;
    durations.extend(done.iter().filter(|done| done.has_passed()).map(|done| (tests[done.test].to_string(), done.took)));
    let part = record.with_extension(std::process::id().to_string());
    std::fs::write(&part, durations::write(&durations)).map_err(while_doing(format!("write {}", part.display())))?;
    std::fs::rename(&part, &record).map_err(while_doing(format!("rename {}", part.display())))?;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// The durations so far; none without a file.
fn read_durations(path: &Path) -> Result<durations::Durations> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(durations::read(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(durations::Durations::new()),
        Err(error) => Err(while_doing(format!("read {}", path.display()))(error)),
    }
}

/// `run-tests` in the target directory, in which this program is `debug/run-tests`.
fn state_directory() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(while_doing("find the target directory"))?;
    own.ancestors().nth(2).map(|target| target.join("run-tests")).ok_or_else(|| Error::new("no target directory: give --state"))
}
