//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::selection::Selection;

pub(crate) const HELP: &str = "\
Build the tests of the workspace and run each in a process of its own, several at once.

Usage: run-tests [OPTIONS] [TEXT]...

  TEXT               Tests whose name contains one of the texts [all]

Selection; each may be repeated, and one that matches nothing is an error:
  --package P        Tests of this package
  --not-package P    All but those of this package
  --binary B         Tests of this binary: a file in tests/, or a package or program for its unit tests
  --not-binary B     All but those of this binary
  --not TEXT         All but those whose name contains the text
  --list             Print the selected tests and run none

Run:
  --jobs N           Tests at once, 1 to 120 [4]
  --limit SECONDS    Longest time of each test [a table, mostly 300, of the package e2e 240]
  --no-capture       Output as it comes, one test at a time; else that of failed tests alone
  --slowest N        Number of slow tests that are named at the end [10]

Build:
  --test T           Build this test target alone, also one that is left out otherwise; may be repeated
  --save FILE        Write the list of the binaries and run none
  --from FILE        Run the binaries of such a list; cargo is not needed
  --state DIRECTORY  Durations of former runs, by which long tests begin first [run-tests in the target directory]

Exit code: 0 when all tests passed, 1 when one failed, 2 when none was run.

Examples:
  run-tests --package model                      everything of a package
  run-tests --package render --binary golden     one of its files
  run-tests tls:: --not slow                     by name, in all packages
  scripts/e2e.sh cases::can::                    end-to-end tests: they need a bed
";

/// Most tests at once: the slots of `testkit::ports`.
const MOST_JOBS: usize = 120;

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Run(Box<Args>),
    Help,
    /// The process that outlives this one: see `guard`.
    Guard,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) selection: Selection,
    pub(crate) list: bool,
    pub(crate) jobs: usize,
    pub(crate) limit: Option<Duration>,
    pub(crate) capture: bool,
    pub(crate) slowest: usize,
    pub(crate) targets: Vec<String>,
    pub(crate) save: Option<PathBuf>,
    pub(crate) from: Option<PathBuf>,
    pub(crate) state: Option<PathBuf>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            list: false,
            jobs: 4,
            limit: None,
            capture: true,
            slowest: 10,
            targets: Vec::new(),
            save: None,
            from: None,
            state: None,
        }
    }
}

impl Args {
    /// The words that run the same binaries, for a selection of other tests.
    pub(crate) fn again(&self) -> String {
        let mut words = Vec::new();
        for target in &self.targets {
            words.extend(["--test".to_owned(), target.clone()]);
        }
        for (name, path) in [("--from", &self.from), ("--state", &self.state)] {
            words.extend(path.iter().flat_map(|path| [name.to_owned(), path.display().to_string()]));
        }
        words.join(" ")
    }
}

/// Reads the arguments after the name of the program.
///
/// # Errors
/// An unknown option, or a value that is missing or wrong.
pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Parsed> {
    let mut args = Args::default();
    let mut words = words;
    while let Some(word) = words.next() {
        let (name, mut given) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            given
                .take()
                .or_else(|| words.next().filter(|word| !word.starts_with("--")))
                .ok_or_else(|| Error::new(format!("{name} needs a value")))
        };
        match name {
            "--help" | "-h" => return Ok(Parsed::Help),
            "--guard" => return Ok(Parsed::Guard),
            "--package" | "-p" => args.selection.packages.any_of.push(value()?),
            "--not-package" => args.selection.packages.none_of.push(value()?),
            "--binary" => args.selection.binaries.any_of.push(value()?),
            "--not-binary" => args.selection.binaries.none_of.push(value()?),
            "--not" => args.selection.names.none_of.push(value()?),
            "--list" => args.list = true,
            "--jobs" | "-j" => args.jobs = number(name, &value()?, MOST_JOBS)?,
            "--limit" => args.limit = Some(Duration::from_secs(number(name, &value()?, 1_000_000)? as u64)),
            "--no-capture" => args.capture = false,
            "--slowest" => args.slowest = number(name, &value()?, usize::MAX)?,
            "--test" => args.targets.push(value()?),
            "--save" => args.save = Some(value()?.into()),
            "--from" => args.from = Some(value()?.into()),
            "--state" => args.state = Some(value()?.into()),
            _ if name.starts_with('-') => return Err(Error::new(format!("unknown option {name}: see --help"))),
            _ => args.selection.names.any_of.push(word.clone()),
        }
        if given.is_some() {
            return Err(Error::new(format!("{name} takes no value")));
        }
    }
    if args.from.is_some() && (args.save.is_some() || !args.targets.is_empty()) {
        return Err(Error::new("with --from nothing is built: leave --save and --test out"));
    }
    if !args.capture {
        args.jobs = 1;
    }
    Ok(Parsed::Run(Box::new(args)))
}

fn number(name: &str, text: &str, most: usize) -> Result<usize> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| Error::new(format!("{name} {text}: expected a number from 1 to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Parsed> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[track_caller]
    fn args(line: &str) -> Args {
        match parsed(line).unwrap() {
            Parsed::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_and_texts_are_read() {
        assert_eq!(args(""), Args::default());
        let read = args("--package model -p render --not-package=e2e --binary golden --not-binary x one --not two three");
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(read.selection.packages.any_of, texts(&["model", "render"]));
        assert_eq!(read.selection.packages.none_of, texts(&["e2e"]));
        assert_eq!(read.selection.binaries.any_of, texts(&["golden"]));
        assert_eq!(read.selection.binaries.none_of, texts(&["x"]));
        assert_eq!((read.selection.names.any_of, read.selection.names.none_of), (texts(&["one", "three"]), texts(&["two"])));
        let read = args("--jobs 8 --limit=9 --slowest 3 --test image --save f --state s --list");
        assert_eq!((read.jobs, read.limit, read.slowest, read.list), (8, Some(Duration::from_secs(9)), 3, true));
        assert_eq!((read.targets, read.save, read.state), (texts(&["image"]), Some("f".into()), Some("s".into())));
        assert_eq!(args("--jobs 8 --no-capture").jobs, 1);
        assert_eq!(parsed("--package model --help").unwrap(), Parsed::Help);
        assert_eq!(parsed("--guard").unwrap(), Parsed::Guard);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, expected) in [
            ("--packages model", "unknown option --packages: see --help"),
            ("--package", "--package needs a value"),
            ("--save --list", "--save needs a value"),
            ("--list=yes", "--list takes no value"),
            ("--jobs 0", "--jobs 0: expected a number from 1 to 120"),
            ("--jobs many", "--jobs many: expected a number from 1 to 120"),
            ("--from f --test image", "with --from nothing is built: leave --save and --test out"),
        ] {
            assert_eq!(parsed(line).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_further_run_has_the_same_binaries() {
        assert_eq!(args("--package model").again(), "");
        assert_eq!(args("--test image").again(), "--test image");
        assert_eq!(args("--from f --state s").again(), "--from f --state s");
    }

    #[test]
    fn every_option_has_a_line_of_help() {
        for option in [
            "--package",
            "--not-package",
            "--binary",
            "--not-binary",
            "--not",
            "--list",
            "--jobs",
            "--limit",
            "--no-capture",
            "--slowest",
            "--test",
            "--save",
            "--from",
            "--state",
        ] {
            assert!(HELP.lines().any(|line| line.trim_start().starts_with(&format!("{option} "))), "{option}");
        }
    }
}
