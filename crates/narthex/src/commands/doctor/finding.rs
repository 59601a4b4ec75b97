//! Findings and the page that they are printed on.

use std::fmt::Write;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::FAILED;
use crate::table::{Palette, Tone, printable};

/// Exit code for errors; that of warnings is [`FAILED`].
const ERRORS: u8 = 3;
/// The most lines of evidence.
const LINES: usize = 5;

/// How bad a finding is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    /// Something is not served as it should be.
    Error,
    /// All is served; something will go wrong, or is not as its owner expects.
    Warning,
    /// It may be intended.
    Note,
}

impl Level {
    fn shown(self) -> (&'static str, Tone) {
        match self {
            Self::Error => ("ERROR", Tone::Bad),
            Self::Warning => ("WARNING", Tone::Warning),
            Self::Note => ("NOTE", Tone::Quiet),
        }
    }
}

/// A cause of trouble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    pub(crate) severity: Level,
    /// The cause: one sentence without a final period.
    pub(crate) what: String,
    /// By what it is known.
    pub(crate) evidence: Vec<String>,
    /// What to do.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(severity: Level, what: impl Into<String>, evidence: Vec<String>, remedy: impl Into<String>) -> Self {
        Self { severity, what: what.into(), evidence: few(evidence), remedy: remedy.into() }
    }

    /// The worst first; else in the order of the checks.
    pub(crate) fn sort(findings: &mut [Self]) {
        findings.sort_by_key(|finding| finding.severity);
    }
}

/// The first lines, and how many there are besides.
fn few(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(LINES);
    if more > 0 {
        lines.truncate(LINES);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// 0 where nothing is wrong, 1 for warnings, 3 for errors.
pub(crate) fn exit_code(findings: &[Finding]) -> ExitCode {
    match findings.iter().map(|finding| finding.severity).min() {
        Some(Level::Error) => ExitCode::from(ERRORS),
        Some(Level::Warning) => ExitCode::from(FAILED),
        Some(Level::Note) | None => ExitCode::SUCCESS,
    }
}

/// Everything on one page.
pub(crate) fn page(head: &str, findings: &[Finding], palette: Palette) -> String {
    let mut page = format!("{}\n", palette.paint(&printable(head), Tone::Strong));
    for Finding { severity, what, evidence, remedy } in findings {
        let (word, tone) = severity.shown();
        let _ = write!(page, "\n{}  {}\n", palette.paint(&format!("{word:<7}"), tone), palette.paint(&printable(what), Tone::Strong));
        for (at, text) in evidence.iter().enumerate() {
            let name = if at == 0 { "by" } else { "" };
            let _ = writeln!(page, "         {} {}", palette.paint(&format!("{name:<3}"), Tone::Quiet), printable(text));
        }
        let _ = writeln!(page, "         {} {}", palette.paint("do ", Tone::Quiet), printable(remedy));
    }
    let _ = writeln!(page, "\n{}", summary(findings, palette));
    page
}

fn summary(findings: &[Finding], palette: Palette) -> String {
    let count = |level: Level, word: &str| match findings.iter().filter(|finding| finding.severity == level).count() {
        0 => None,
        1 => Some(format!("1 {word}")),
        number => Some(format!("{number} {word}s")),
    };
    let parts = [count(Level::Error, "error"), count(Level::Warning, "warning"), count(Level::Note, "note")];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match findings.iter().map(|finding| finding.severity).min() {
        None => palette.paint("nothing is wrong", Tone::Good),
        Some(Level::Note) => format!("{}; {text}", palette.paint("nothing is wrong", Tone::Good)),
        Some(_) => text,
    }
}
