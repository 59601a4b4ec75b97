//! Checks and generators of this repository: `cargo xtask docs [--check]`, `cargo xtask tidy`, and the two halves of `make docs-site`.

mod chart;
mod coverage;
mod docs;
mod effects;
mod links;
mod markdown;
mod metrics;
mod predecessor;
mod site;
mod tidy;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

const USAGE: &str = "usage: cargo xtask docs [--check]   write, or check, docs/reference from the tables
       cargo xtask tidy             check dependencies of pure crates, modules, file sizes, generated pages and links
       cargo xtask site DIR         write the sources of the documentation site, for mdBook
       cargo xtask site-links DIR   check the links of the site that mdBook made";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["docs"] => root().and_then(|root| docs::write(&root)).map(|()| Vec::new()),
        ["docs", "--check"] => root().and_then(|root| docs::check(&root)),
        ["tidy"] => root().and_then(|root| tidy::check(&root)),
        ["site", out] => root().and_then(|root| site::stage(&root, Path::new(out))).map(|()| Vec::new()),
        ["site-links", site] => site::check(Path::new(site)),
        _ => {
            say(USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            say(&complaints.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command-line tool")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// The directory of the workspace.
fn root() -> Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(Path::to_owned).context("xtask lies below the workspace")
}
