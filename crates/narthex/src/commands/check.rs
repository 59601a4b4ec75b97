//! `narthex check DIR`.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::bail;
use model::BuildOptions;
use serde_json::json;

use crate::args::{CheckArgs, Format};
use crate::offline::{self, Directory};
use crate::output;

/// Prints every finding; the exit code says whether there is one.
pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    if !args.dir.is_dir() {
        bail!("{} is not a directory", args.dir.display());
    }
    let missing = offline::missing(args.nginx_binary.as_deref())?;
    let directory = Directory::build_all(&args.dir, BuildOptions { missing, ..offline::settings(&args.model)? })?;
    let problems = directory.problems();
    match args.format {
        Format::Json => {
            let list: Vec<_> = problems
                .iter()
                .map(|(place, problem)| {
                    json!({
                        "file": place.as_ref().map(|(file, _)| file),
                        "line": place.as_ref().map(|(_, line)| line),
                        "object": problem.object,
                        "field": problem.field,
                        "kind": problem.kind.label(),
                        "detail": problem.detail,
                    })
                })
                .collect();
            output::line(serde_json::to_string_pretty(&list)?)?;
        }
        Format::Text => {
            let (bold, plain) = if std::io::stdout().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
            for (place, problem) in &problems {
                let place = place.as_ref().map(|(file, line)| format!("{bold}{file}:{line}{plain}: ")).unwrap_or_default();
                output::line(format_args!("{place}{}: {problem}", problem.kind.label()))?;
            }
            // Refused ones count: that they are refused is what was found out.
            let ingresses = directory.loaded.snapshot.ingresses.len();
            let plural = if ingresses == 1 { "" } else { "es" };
            let found = match problems.len() {
                0 => "no problems".to_owned(),
                1 => "1 problem".to_owned(),
                count => format!("{count} problems"),
            };
            output::line(format_args!("{ingresses} Ingress{plural} checked, {found}"))?;
        }
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}
