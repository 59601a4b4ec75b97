//! `narthex version`.

use std::process::ExitCode;

use controller::metrics::Build;
use serde_json::json;

use crate::args::{Format, VersionArgs};
use crate::output;

/// Version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the program comes from. Who builds it says so: `scripts/release.sh` has the commit of its work tree.
pub(crate) fn build() -> Build {
    Build {
        version: VERSION.to_owned(),
        commit: option_env!("NARTHEX_COMMIT").unwrap_or_default().to_owned(),
        repository: option_env!("NARTHEX_REPOSITORY").unwrap_or_default().to_owned(),
    }
}

/// Prints the versions of Narthex and of the NGINX that it would run.
pub(crate) fn version(args: &VersionArgs) -> anyhow::Result<ExitCode> {
    let nginx = crate::commands::run::runtime()?.block_on(nginx::detect(args.nginx_binary.as_deref()));
    let number = nginx.as_ref().map(|found| format!("{}.{}.{}", found.version.0, found.version.1, found.version.2));
    match args.format {
        Format::Text => {
            output::line(format_args!("narthex {VERSION}"))?;
            match number {
                Ok(number) => output::line(format_args!("nginx {number}"))?,
                Err(error) => output::line(format_args!("nginx: {error}"))?,
            }
        }
        Format::Json => output::line(json!({ "narthex": VERSION, "nginx": number.ok() }))?,
    }
    Ok(ExitCode::SUCCESS)
}
