//! Binaries and the tests in them.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// An executable with tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Binary {
    pub(crate) package: String,
    /// The file in `tests/`, or the program; of unit tests of a library the package.
    pub(crate) name: String,
    /// The package's: tests run in it.
    pub(crate) directory: PathBuf,
    pub(crate) executable: PathBuf,
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.package == self.name {
            true => f.write_str(&self.package),
            false => write!(f, "{}/{}", self.package, self.name),
        }
    }
}

/// A test in a binary. Shown as `package/binary module::name`, which is unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test<'a> {
    pub(crate) binary: &'a Binary,
    pub(crate) name: String,
}

impl fmt::Display for Test<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.binary, self.name)
    }
}

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The reason, and the output where it was captured.
    Failed {
        reason: String,
        output: Vec<u8>,
    },
}

/// A test that ended.
#[derive(Debug)]
pub(crate) struct Done {
    /// Index among the tests of the run.
    pub(crate) test: usize,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

impl Done {
    pub(crate) fn has_passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }
}

#[cfg(test)]
pub(crate) fn binary(package: &str, name: &str) -> Binary {
    let (directory, executable) = (format!("/src/{package}").into(), format!("/target/debug/deps/{name}-1").into());
    Binary { package: package.into(), name: name.into(), directory, executable }
}
