//! What the run prints: a line for each test, outputs of those that failed, a summary.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::error::{Result, while_doing};
use crate::test::{Done, Outcome, Test};

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

pub(crate) struct Report<'a, W: Write> {
    out: W,
    tests: &'a [Test<'a>],
    has_colours: bool,
    done: usize,
}

impl<'a, W: Write + IsTerminal> Report<'a, W> {
    /// A report with colours on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn new(out: W, tests: &'a [Test<'a>]) -> Self {
        let has_colours = out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { out, tests, has_colours, done: 0 }
    }
}

impl<W: Write> Report<'_, W> {
    /// A test that ended, with its output where it failed.
    pub(crate) fn done(&mut self, done: &Done) -> Result<()> {
        self.done += 1;
        let line = self.line(done);
        let text = match &done.outcome {
            Outcome::Passed => line.into_bytes(),
            Outcome::Failed { output, .. } => [line.as_bytes(), &framed(output)].concat(),
        };
        self.write(&text)
    }

    /// A test that takes long.
    pub(crate) fn still_running(&mut self, test: usize, age: Duration) -> Result<()> {
        let text = format!("{} {} runs for {} s\n", self.count(), self.tests[test], age.as_secs());
        self.write(self.coloured(YELLOW, &text).as_bytes())
    }

    /// The summary; the outputs of failed tests once more. Returns whether all passed.
    pub(crate) fn finish(&mut self, all: &[Done], took: Duration, slowest: usize, again: &str) -> Result<bool> {
        let failed: Vec<&Done> = all.iter().filter(|done| !done.has_passed()).collect();
        let mut text = Vec::new();
        for done in &failed {
            text.extend_from_slice(self.failure(done).as_bytes());
            if let Outcome::Failed { output, .. } = &done.outcome {
                text.extend_from_slice(&framed(output));
            }
        }
        text.extend_from_slice(self.slowest(all, slowest).as_bytes());
        let (colour, passed) = (if failed.is_empty() { GREEN } else { RED }, all.len() - failed.len());
        let summary = format!("{passed} passed, {} failed, in {:.1} s", failed.len(), took.as_secs_f64());
        text.extend_from_slice(format!("{}\n", self.coloured(colour, &summary)).as_bytes());
        if !failed.is_empty() {
            text.extend_from_slice(format!("these alone: {}\n", self.again(&failed, again)).as_bytes());
        }
        self.write(&text)?;
        Ok(failed.is_empty())
    }

    fn line(&self, done: &Done) -> String {
        match &done.outcome {
            Outcome::Passed => {
                format!("{} {:8.3} s {} {}\n", self.count(), done.took.as_secs_f64(), self.coloured(GREEN, "ok"), self.tests[done.test])
            }
            Outcome::Failed { .. } => format!("{} {:8.3} s {}", self.count(), done.took.as_secs_f64(), self.failure(done)),
        }
    }

    fn failure(&self, done: &Done) -> String {
        let Outcome::Failed { reason, .. } = &done.outcome else { return String::new() };
        format!("{} {}: {reason}\n", self.coloured(RED, "FAILED"), self.tests[done.test])
    }

    /// The tests that took longest, of more than so many.
    fn slowest(&self, all: &[Done], number: usize) -> String {
        if all.len() <= number {
            return String::new();
        }
        let mut all: Vec<&Done> = all.iter().collect();
        all.sort_by_key(|done| std::cmp::Reverse(done.took));
        all[..number].iter().fold("slowest:\n".to_owned(), |mut text, done| {
            writeln!(text, "{:8.1} s {}", done.took.as_secs_f64(), self.tests[done.test]).expect("a string takes all");
            text
        })
    }

    /// The command line that runs these tests.
    fn again(&self, failed: &[&Done], further: &str) -> String {
        let program = std::env::args().next().unwrap_or_else(|| "run-tests".into());
        let mut words = vec![program];
        words.extend((!further.is_empty()).then(|| further.to_owned()));
        let mut each = |option: Option<&str>, word: &dyn Fn(&Test<'_>) -> String| {
            let mut found: Vec<String> = failed.iter().map(|done| word(&self.tests[done.test])).collect();
            found.sort_unstable();
            found.dedup();
            words.extend(found.into_iter().flat_map(|word| option.map(str::to_owned).into_iter().chain([word])));
        };
        each(Some("--package"), &|test| test.binary.package.clone());
        each(Some("--binary"), &|test| test.binary.name.clone());
        each(None, &|test| test.name.clone());
        words.join(" ")
    }

    /// `[  12/1516]`.
    fn count(&self) -> String {
        let width = self.tests.len().to_string().len();
        format!("[{:width$}/{}]", self.done, self.tests.len())
    }

    fn coloured(&self, colour: &str, text: &str) -> String {
        if self.has_colours { format!("{colour}{text}{PLAIN}") } else { text.to_owned() }
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.out.write_all(text).and_then(|()| self.out.flush()).map_err(while_doing("write the report"))
    }
}

/// An output as a block of its own; nothing where there is none.
fn framed(output: &[u8]) -> Vec<u8> {
    if output.is_empty() {
        return Vec::new();
    }
    let end: &[u8] = if output.ends_with(b"\n") { b"" } else { b"\n" };
    [b"---- output\n", output, end, b"---- end\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::{Binary, binary};

    const SECOND: Duration = Duration::from_secs(1);

    fn failed(test: usize, output: &str) -> Done {
        let outcome = Outcome::Failed { reason: "exit status: 101".into(), output: output.into() };
        Done { test, took: SECOND / 2, outcome }
    }

    /// Everything that a run prints.
    fn printed(tests: &[Test<'_>], all: &[Done], slowest: usize) -> (String, bool) {
        let mut report = Report { out: Vec::new(), tests, has_colours: false, done: 0 };
        all.iter().for_each(|done| report.done(done).unwrap());
        let passed = report.finish(all, 3 * SECOND, slowest, "--from f").unwrap();
        (String::from_utf8(report.out).unwrap(), passed)
    }

    fn tests<'a>(binaries: &'a [Binary], names: &[&str]) -> Vec<Test<'a>> {
        binaries.iter().zip(names).map(|(binary, name)| Test { binary, name: (*name).into() }).collect()
    }

    #[test]
    fn passed_tests_have_a_line_and_slow_ones_another() {
        let binaries = [binary("model", "model"), binary("e2e", "cases")];
        let tests = tests(&binaries, &["a::b", "c"]);
        let passed = |test, took| Done { test, took, outcome: Outcome::Passed };
        let (text, all_passed) = printed(&tests, &[passed(1, SECOND), passed(0, 2 * SECOND)], 1);
        let expected = "[1/2]    1.000 s ok e2e/cases c\n[2/2]    2.000 s ok model a::b\n\
            slowest:\n     2.0 s model a::b\n2 passed, 0 failed, in 3.0 s\n";
        assert_eq!((text.as_str(), all_passed), (expected, true));
    }

    #[test]
    fn failed_tests_have_their_output_twice_and_a_command_that_repeats_them() {
        let binaries = [binary("model", "model"), binary("e2e", "cases"), binary("e2e", "cases")];
        let tests = tests(&binaries, &["a::b", "c", "d"]);
        let (text, all_passed) = printed(&tests, &[failed(0, "panic"), failed(1, "other\n"), failed(2, "")], 10);
        assert!(!all_passed);
        let block = "FAILED model a::b: exit status: 101\n---- output\npanic\n---- end\n";
        assert!(text.starts_with(&format!("[1/3]    0.500 s {block}[2/3]")), "{text}");
        assert_eq!(text.matches(block).count(), 2);
        assert!(!text.contains("slowest"));
        assert!(text.contains("\n0 passed, 3 failed, in 3.0 s\n"));
        assert!(text.ends_with(" --from f --package e2e --package model --binary cases --binary model a::b c d\n"), "{text}");
    }

    #[test]
    fn long_tests_are_named_while_they_run() {
        let binaries = [binary("model", "model")];
        let tests = tests(&binaries, &["a"]);
        let mut report = Report { out: Vec::new(), tests: &tests, has_colours: true, done: 0 };
        report.still_running(0, 61 * SECOND).unwrap();
        assert_eq!(String::from_utf8(report.out).unwrap(), "\x1b[33m[0/1] model a runs for 61 s\n\x1b[0m");
    }
}
