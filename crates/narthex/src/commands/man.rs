//! `narthex man`: manual pages, one for each command.

#[cfg(test)]
mod reference;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::{Cli, Plugin};
use crate::output;

/// Prints the page of `narthex`, or writes all of them into a directory, which is made.
pub(crate) fn man(dir: Option<&Path>) -> anyhow::Result<ExitCode> {
    let Some(dir) = dir else {
        output::text(page(&Cli::command())?)?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(dir).with_context(|| format!("can't make {}", dir.display()))?;
    for (name, text) in pages()? {
        let path = dir.join(name);
        fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// File names and texts.
fn pages() -> anyhow::Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for (root, name) in [(Cli::command(), "narthex"), (Plugin::command(), "kubectl-narthex")] {
        let mut root = root;
        root.build();
        collect(&root, name, &mut pages)?;
    }
    Ok(pages)
}

fn collect(command: &Command, name: &str, pages: &mut Vec<(String, String)>) -> anyhow::Result<()> {
    pages.push((format!("{name}.1"), page(command)?));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect(sub, &format!("{name}-{}", sub.get_name()), pages)?;
    }
    Ok(())
}

fn page(command: &Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text)?;
    Ok(String::from_utf8(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages().unwrap();
        for name in
            ["narthex.1", "narthex-run.1", "narthex-get.1", "narthex-explain-request.1", "kubectl-narthex.1", "kubectl-narthex-doctor.1"]
        {
            let page = pages.iter().find(|(found, _)| found == name).unwrap_or_else(|| panic!("{name}"));
            assert!(page.1.contains(".SH SYNOPSIS") && page.1.contains(".SH DESCRIPTION"), "{name}");
        }
        assert!(!pages.iter().any(|(name, _)| name.contains("within")));
    }
}
