//! The output of commands. A reader that has seen enough (`narthex plan ... | head`) is no failure: the exit code stays that of what was found.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;

/// A text as it stands, on standard output.
pub(crate) fn text(text: impl Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output can't be written to"),
    }
}

/// A line on standard output.
pub(crate) fn line(line: impl Display) -> anyhow::Result<()> {
    text(format_args!("{line}\n"))
}

/// A line on standard error for people. Where nothing can be written, nothing is lost that matters to what is done.
pub(crate) fn remark(remark: impl Display) {
    aside(format_args!("{remark}\n"));
}

/// The same without the end of the line.
pub(crate) fn aside(text: impl Display) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "{text}").and_then(|()| err.flush());
}
