//! Flags.

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory};
use inspect::{Origin, Setting, SettingScope};
use serde::Serialize;

use super::Cells;
use crate::args::{Cli, flag_reason};

/// Flags whose values are not shown.
const SECRET: [&str; 1] = ["maxmind-license-key"];
/// Those of this command alone, and of every command.
const OWN: [&str; 7] = ["diff", "all", "format", "help", "version", "log-format", "log-level"];

/// A flag with its value.
#[derive(Serialize)]
pub(super) struct FlagRow {
    flag: String,
    value: String,
    default: String,
    /// `default`, `flag` or `environment`.
    from: &'static str,
    /// Why it has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    inert: Option<&'static str>,
}

impl FlagRow {
    pub(super) fn is_given(&self) -> bool {
        self.from != "default"
    }

    /// The same for the inspection API.
    pub(super) fn setting(self) -> Setting {
        let Self { flag: name, value, default, from, .. } = self;
        let from = if from == "default" { Origin::Default } else { Origin::Flag };
        Setting { name, value, default, from, scope: SettingScope::Start, annotations: 0, problem: None }
    }

    pub(super) fn cells(&self) -> Cells {
        let remarks = self.inert.filter(|_| self.is_given()).map(|why| format!("without effect: {why}"));
        ([self.flag.clone(), self.value.clone(), self.from.to_owned(), self.default.clone()], remarks.into_iter().collect())
    }
}

/// All flags of `run`, in the order of its help, as `command` was given them.
///
/// # Errors
/// The command line is none of ours; it was parsed once before.
pub(super) fn rows(of: &str) -> anyhow::Result<Vec<FlagRow>> {
    let words = crate::entry::command_line(std::env::args_os());
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(words).context("the command line")?;
    let own = matches.subcommand_matches(of).context("the command line is that of another command")?;
    let arguments = command.find_subcommand(of).context("there is the command")?.get_arguments();
    let named = arguments.filter_map(|argument| Some((argument.get_long()?, argument)));
    Ok(named.filter(|(name, _)| !OWN.contains(name)).map(|(name, argument)| row(name, argument, own)).collect())
}

fn row(name: &str, argument: &Arg, matches: &ArgMatches) -> FlagRow {
    let id = argument.get_id().as_str();
    let joined = |values: Vec<String>| values.join(",");
    let value = matches.get_raw(id).map(|values| joined(values.map(|value| value.to_string_lossy().into_owned()).collect()));
    let default = joined(argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect());
    let from = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => "flag",
        Some(ValueSource::EnvVariable) => "environment",
        _ => "default",
    };
    let value = if SECRET.contains(&name) && from != "default" { "(not shown)".to_owned() } else { value.unwrap_or_default() };
    FlagRow { flag: format!("--{name}"), value, default, from, inert: flag_reason(name) }
}
