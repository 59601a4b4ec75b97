//! `narthex settings`: the effective value of each key and flag, and where it comes from.

mod diff;
mod flags;
mod keys;

use std::process::ExitCode;

use model::{BuildOptions, Builder, Built, ObjectKey, ObjectRef, Snapshot};
use serde::Serialize;

use crate::args::{Format, LogArgs, SettingsArgs};
use crate::offline;
use crate::output;
use flags::FlagRow;
use keys::KeyRow;

/// The ConfigMap where `--configmap` names none: for two files that are compared.
const UNNAMED: (&str, &str) = ("default", "settings");

/// Prints the settings, or what a change of them would do.
pub(crate) fn settings(args: &SettingsArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    let missing = offline::missing(args.run.nginx.nginx_binary.as_deref())?;
    let is_directory = args.run.source.manifests.is_some();
    let options = offline::settings(&args.run.model)?;
    let mut options = BuildOptions { missing, implied_class: is_directory && options.implied_class, ..options };
    if let Some([old, new]) = args.diff.as_deref() {
        options.configmap.get_or_insert(ObjectKey::new(UNNAMED.0, UNNAMED.1));
        let world = if is_directory { world(args, log, &options)? } else { Snapshot::default() };
        return diff::print(&world, &options, (old, new), args.format);
    }
    let world = world(args, log, &options)?;
    let built = Builder::new(options.clone()).build(&world);
    let all =
        Settings { keys: keys::rows(&world, &options, &built), flags: flags::rows("settings")?, others: keys::others(&options, &built) };
    let is_sound = all.others.is_empty() && all.keys.iter().all(|row| row.problems.is_empty());
    let shown = if args.all { all } else { all.other_than_default() };
    match args.format {
        Format::Json => output::line(serde_json::to_string_pretty(&shown)?)?,
        Format::Text => output::text(shown.text())?,
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

/// The flags of the running controller, with their values.
pub(crate) fn flags_of_run() -> Vec<inspect::Setting> {
    flags::rows("run").unwrap_or_default().into_iter().map(flags::FlagRow::setting).collect()
}

/// What the source holds now, with the databases of this machine.
fn world(args: &SettingsArgs, log: &LogArgs, options: &BuildOptions) -> anyhow::Result<Snapshot> {
    let snapshot = match &args.run.source.manifests {
        Some(dir) => manifests::load(dir)?.with_refused().snapshot,
        None => {
            crate::logging::init(log)?;
            crate::commands::run::runtime()?.block_on(offline::snapshot(&args.run.source.api, options))?
        }
    };
    Ok(Snapshot { databases: geoip::present(&options.geoip), ..snapshot })
}

/// Everything that can be set.
#[derive(Serialize)]
struct Settings {
    keys: Vec<KeyRow>,
    flags: Vec<FlagRow>,
    /// What is wrong with the ConfigMap besides the values of keys: names that are no keys.
    others: Vec<String>,
}

impl Settings {
    fn other_than_default(self) -> Self {
        let Self { keys, flags, others } = self;
        Self {
            keys: keys.into_iter().filter(KeyRow::is_notable).collect(),
            flags: flags.into_iter().filter(FlagRow::is_given).collect(),
            others,
        }
    }

    fn text(&self) -> String {
        let mut text = table(["KEY", "VALUE", "FROM", "DEFAULT"], self.keys.iter().map(KeyRow::cells));
        text += "\n";
        text += &table(["FLAG", "VALUE", "FROM", "DEFAULT"], self.flags.iter().map(FlagRow::cells));
        if !self.others.is_empty() {
            text += "\nOf the ConfigMap:\n";
            self.others.iter().for_each(|problem| text += &format!("  {problem}\n"));
        }
        text
    }
}

/// The problems of a build with its ConfigMap: the key, and what is wrong.
fn problems(options: &BuildOptions, built: &Built) -> impl Iterator<Item = (String, String)> + use<> {
    let object = options.configmap.as_ref().map(|key| ObjectRef::namespaced("ConfigMap", key));
    let found = built.problems().into_iter().filter(move |problem| Some(&problem.object) == object.as_ref());
    found.map(|problem| {
        let key = problem.field.strip_prefix("data[\"").and_then(|rest| rest.strip_suffix("\"]")).unwrap_or_default();
        (key.to_ascii_lowercase(), problem.detail)
    })
}

/// A row: cells, and lines about it.
type Cells = ([String; 4], Vec<String>);

/// Longest cell.
const WIDEST: usize = 44;

fn table(head: [&str; 4], rows: impl Iterator<Item = Cells>) -> String {
    let rows: Vec<Cells> = rows.map(|(cells, remarks)| (cells.map(|cell| shortened(&cell)), remarks)).collect();
    let mut widths = head.map(str::len);
    for (cells, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; 4]| {
        let cells: String = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  ")).collect();
        format!("{}\n", cells.trim_end())
    };
    let mut text = line(head);
    for (cells, remarks) in &rows {
        text += &line(cells.each_ref().map(String::as_str));
        remarks.iter().for_each(|remark| text += &format!("  {remark}\n"));
    }
    text
}

/// One line of a value; an empty one as a dash.
fn shortened(text: &str) -> String {
    let line = text.trim_end().replace('\n', " ");
    match line.char_indices().nth(WIDEST) {
        _ if line.is_empty() => "-".to_owned(),
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_columns_and_remarks_below_their_rows() {
        let row = |name: &str, value: &str, remarks: &[&str]| {
            let cells = [name, value, "default", "75"].map(str::to_owned);
            (cells, remarks.iter().map(|remark| (*remark).to_owned()).collect())
        };
        let rows = [row("keep-alive", "", &["an odd value"]), row("a", &"x".repeat(60), &[])];
        let expected = format!(
            "KEY         VALUE{}  FROM     DEFAULT\nkeep-alive  -{}  default  75\n  an odd value\na           {}...  default  75\n",
            " ".repeat(42),
            " ".repeat(46),
            "x".repeat(44)
        );
        assert_eq!(table(["KEY", "VALUE", "FROM", "DEFAULT"], rows.into_iter()), expected);
    }
}
