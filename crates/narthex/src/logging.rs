//! Logs to standard error.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::args::{LogArgs, LogFormat};

/// Messages of the API server's client that repeat ours: that something failed, without what, where the caller logs it with the cause; and for every
/// connection that the server's certificate is not verified, which `cluster::connect` says once.
const REPEATS: [&str; 2] = ["kube_client::client::builder=off", "kube_client::client::tls=error"];

/// Sets up logging once, at the start.
pub(crate) fn init(args: &LogArgs) -> anyhow::Result<()> {
    let terminal = std::io::stderr().is_terminal();
    let filter = EnvFilter::try_new(&args.log_level).with_context(|| format!("--log-level {:?}", args.log_level))?;
    let mut repeats = REPEATS.iter().filter(|_| !args.log_level.contains("kube"));
    let filter = repeats.try_fold(filter, |filter, directive| anyhow::Ok(filter.add_directive(directive.parse()?)))?;
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
