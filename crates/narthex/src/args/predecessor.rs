//! The flags of ingress-nginx that have no effect here: all are accepted, in their own grammar, and each says at the start why it does nothing.
//!
//! `predecessor.txt` has a row for every flag that ingress-nginx has; its test holds it against the command line, and
//! `docs/reference/flags.md` is made of it.

use std::sync::LazyLock;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use tracing::{info, warn};

use super::values::{boolean, signed_duration};

/// All rows: name, kind, default, and what the flag does here.
const TABLE: &str = include_str!("predecessor.txt");
const HEADING: &str = "Of ingress-nginx, without effect";

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| TABLE.lines().filter(|line| !line.starts_with('#')).map(Row::of_line).collect());

/// A flag of ingress-nginx.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// Without dashes.
    name: &'static str,
    kind: &'static str,
    /// Empty: none.
    default: &'static str,
    here: Here,
}

/// The meaning of a flag here.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Here {
    /// That of ingress-nginx.
    Same,
    /// The same, with another default.
    Other,
    /// No effect, as nothing needs it.
    None(&'static str),
    /// No effect, as what it asks for is missing.
    Missing(&'static str),
}

impl Row {
    fn of_line(line: &'static str) -> Self {
        let mut cells = line.splitn(4, '|').map(str::trim);
        let mut cell = || cells.next().unwrap_or_default();
        let (name, kind, default, here) = (cell(), cell(), cell(), cell());
        let here = match here.split_once(": ") {
            Some(("none", why)) => Here::None(why),
            Some(("missing", why)) => Here::Missing(why),
            Some(_) => Here::Other,
            None => Here::Same,
        };
        Self { name, kind, default, here }
    }

    /// Why it has no effect.
    fn reason(&self) -> Option<&'static str> {
        match self.here {
            Here::None(why) | Here::Missing(why) => Some(why),
            Here::Same | Here::Other => None,
        }
    }

    /// The argument of a flag without effect: its value is checked and dropped.
    fn argument(&self) -> Arg {
        let argument = Arg::new(self.name).long(self.name).help_heading(HEADING).help(self.reason().unwrap_or_default());
        let argument = match self.default {
            "" => argument,
            default => argument.default_value(default),
        };
        let kind = self.kind;
        match kind {
            "boolean" => argument.num_args(0..=1).require_equals(true).default_missing_value("true").value_parser(boolean()),
            _ => argument.value_name(value_name(kind)).allow_hyphen_values(true).value_parser(move |text: &str| check(kind, text)),
        }
        .action(ArgAction::Set)
    }
}

fn value_name(kind: &str) -> &'static str {
    match kind {
        "integer" | "decimal" => "NUMBER",
        "decimals" => "NUMBERS",
        "duration" => "TIME",
        "address" => "ADDRESS",
        "key" => "NAMESPACE/NAME",
        "path" => "PATH",
        "names" => "NAMES",
        _ => "TEXT",
    }
}

/// Checks a value by its kind.
fn check(kind: &'static str, text: &str) -> Result<(), String> {
    let expected = |valid: bool| if valid { Ok(()) } else { Err(format!("{text:?} is not of the kind {kind}")) };
    match kind {
        "integer" => expected(text.parse::<i64>().is_ok()),
        "decimal" => expected(text.parse::<f64>().is_ok()),
        "decimals" => expected(text.split(',').all(|number| number.parse::<f64>().is_ok())),
        "duration" => signed_duration(text).map(drop),
        "address" => expected(text.parse::<std::net::IpAddr>().is_ok()),
        "key" => expected(text.is_empty() || model::ObjectKey::parse(text).is_some()),
        _ => Ok(()),
    }
}

/// The flags without effect that were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdleArgs {
    given: Vec<&'static Row>,
}

impl IdleArgs {
    /// Says of each that was given why it has no effect; a warning where something is missing.
    pub(crate) fn announce(&self) {
        for row in &self.given {
            let flag = format!("--{}", row.name);
            match row.here {
                Here::Missing(why) => warn!(flag, "without effect: {why}"),
                _ => info!(flag, "without effect: {}", row.reason().unwrap_or_default()),
            }
        }
    }
}

impl IdleArgs {
    /// The flags that ask for what is missing, with dashes, and why they have no effect.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (String, &'static str)> {
        self.given.iter().filter_map(|row| match row.here {
            Here::Missing(why) => Some((format!("--{}", row.name), why)),
            _ => None,
        })
    }
}

/// Why a flag has no effect; `None`: it has one.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    ROWS.iter().find(|row| row.name == name)?.reason()
}

/// All flags without effect, in the order of the table.
fn idle() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| row.reason().is_some())
}

impl Args for IdleArgs {
    fn augment_args(command: Command) -> Command {
        idle().fold(command, |command, row| command.arg(row.argument()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for IdleArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = idle().filter(|row| matches.value_source(row.name) == Some(ValueSource::CommandLine)).collect();
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
