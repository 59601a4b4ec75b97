//! `narthex quit`: NGINX finishes its requests and ends.

use std::process::ExitCode;

use nginx_watch::{QuitOptions, QuitOutcome, quit as end};

use crate::args::{Format, LogArgs, QuitArgs};
use crate::output;

/// Tells it, and says how it ended.
pub(crate) fn quit(args: &QuitArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    crate::logging::init(log)?;
    let options = QuitOptions { locator: args.target.locator(), delay: args.delay, wait: args.wait.then_some(args.timeout) };
    let outcome = super::run::runtime()?.block_on(end(&options))?;
    match (args.output, &outcome) {
        (Format::Json, outcome) => output::line(serde_json::to_string(outcome)?)?,
        (Format::Text, QuitOutcome::Gone { took_ms }) => output::line(format_args!("gone after {took_ms} ms"))?,
        (Format::Text, QuitOutcome::Signalled { pid }) => output::line(format_args!("process {pid} was signalled; it is not waited for"))?,
        (Format::Text, QuitOutcome::Late { pids }) => {
            let pids: Vec<String> = pids.iter().map(i32::to_string).collect();
            output::line(format_args!("after {:?} still there: {}", args.timeout, pids.join(", ")))?;
        }
    }
    Ok(if matches!(outcome, QuitOutcome::Late { .. }) { ExitCode::from(crate::FAILED) } else { ExitCode::SUCCESS })
}
