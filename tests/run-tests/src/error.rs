//! Errors that end a run before its first test, or in the middle for want of a process or a disk.

use std::fmt;
use std::io;

/// A message for the caller.
#[derive(Debug)]
pub(crate) struct Error(String);

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds what failed to an error of the system.
pub(crate) fn while_doing(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    let what = what.into();
    move |error| Error(format!("cannot {what}: {error}"))
}
