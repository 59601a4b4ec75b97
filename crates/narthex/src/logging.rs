//! Logs to standard error.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::args::{LogArgs, LogFormat};

/// The client of the API server says that something failed, without what; the caller logs it with the cause.
const REPEATS: &str = "kube_client::client::builder=off";

/// Sets up logging once, at the start.
pub(crate) fn init(args: &LogArgs) -> anyhow::Result<()> {
    let terminal = std::io::stderr().is_terminal();
    let filter = EnvFilter::try_new(&args.log_level).with_context(|| format!("--log-level {:?}", args.log_level))?;
    let filter = if args.log_level.contains("kube") { filter } else { filter.add_directive(REPEATS.parse()?) };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(terminal).with_target(false);
    // When the log's reader is gone (a closed pipe), reporting that to the same pipe would panic.
    let builder = builder.log_internal_errors(false);
    match args.log_format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Auto if !terminal => builder.json().flatten_event(true).init(),
        LogFormat::Text | LogFormat::Auto => builder.init(),
    }
    Ok(())
}
