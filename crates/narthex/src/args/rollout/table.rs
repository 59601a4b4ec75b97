//! docs/rollout.md has a row for every flag, environment variable, annotation and metric, and every row names tests that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use rollout::{FIXED, Metrics, Names};

use crate::args::Cli;

/// The directories with the tests of `unit::`.
const UNITS: [&str; 4] = ["crates/tools/rollout/src", "crates/narthex/src", "crates/edge/cluster/src", "crates/edge/ops/src"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts between backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The rows of all tables whose last column is `test`: first cell and last cell.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let cells = |line: &'_ str| {
        line.strip_prefix("| ")
            .and_then(|line| line.strip_suffix(" |"))
            .and_then(|line| line.rsplit_once(" | ").map(|(rest, last)| (rest.to_owned(), last.to_owned())))
    };
    let mut tested = false;
    let mut rows = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((_, last)) = cells(line) else {
            tested &= line.starts_with("|---");
            continue;
        };
        if lines.peek().is_some_and(|next| next.starts_with("|---")) {
            tested = last == "test";
        } else if tested {
            let body = &line[2..line.len() - 2];
            let (first, _) = body.split_once(" | ").unwrap_or((body, ""));
            rows.push((first, &body[body.len() - last.len()..]));
        }
    }
    rows
}

/// Names of functions in all Rust files below a directory.
fn functions(directory: &Path, all: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = read_to_string(&path).unwrap();
            all.extend(source.split("fn ").skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.to_owned()));
        }
    }
}

/// The names of flags, variables, annotations and metrics that rows have.
fn names(rows: &[(&str, &str)]) -> BTreeSet<String> {
    let word = |text: &str| text.split([' ', '=', ':', '{', '[']).next().unwrap_or_default().to_owned();
    rows.iter().flat_map(|(first, _)| code(first)).map(word).collect()
}

/// The names that must have a row.
fn wanted() -> BTreeSet<String> {
    let mut cli = Cli::command();
    cli.build();
    let command = cli.find_subcommand("rollout").unwrap();
    let mut wanted = BTreeSet::new();
    for argument in command.get_arguments().filter(|argument| !["help", "version"].contains(&argument.get_id().as_str())) {
        let longs = argument.get_long().into_iter().chain(argument.get_all_aliases().into_iter().flatten());
        wanted.extend(longs.map(|long| format!("--{long}")));
    }
    let help = command.get_after_help().unwrap().to_string();
    let is_variable = |word: &&str| word.len() > 5 && word.contains('_') && word.bytes().all(|c| c.is_ascii_uppercase() || c == b'_');
    wanted.extend(help.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(is_variable).map(str::to_owned));
    wanted.extend(Names::default().all().into_iter().chain(FIXED).map(str::to_owned));
    wanted.extend(Metrics::new(true).registry().gather().iter().map(|family| family.name().to_owned()));
    wanted
}

#[test]
fn everything_has_a_row_and_every_row_has_tests() {
    let page = read_to_string(root().join("docs/rollout.md")).unwrap();
    let rows = rows(&page);
    let named = names(&rows);
    let missing: Vec<String> = wanted().into_iter().filter(|name| !named.contains(name)).collect();
    assert_eq!(missing, Vec::<String>::new(), "no row of docs/rollout.md names these");

    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for directory in UNITS {
        functions(&root().join(directory), known.entry("unit".into()).or_default());
    }
    let mut complaints = Vec::new();
    for (first, last) in &rows {
        let tests: Vec<(&str, &str)> = code(last).into_iter().filter_map(|text| text.split_once("::")).collect();
        if tests.is_empty() {
            complaints.push(format!("{first}: names no test"));
        }
        for (module, name) in tests {
            let all = known.entry(module.to_owned()).or_insert_with(|| {
                let source = read_to_string(root().join(format!("tests/e2e/tests/rollout/{module}.rs"))).unwrap_or_default();
                source.split("async fn ").skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.to_owned()).collect()
            });
            if !all.contains(name) {
                complaints.push(format!("{first}: there is no test {module}::{name}"));
            }
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
}

/// Flags without a value in the chart: unused in a cluster.
const OUTSIDE: [&str; 3] = ["kubeconfig", "apiserver-host", "certificate-authority"];

#[test]
fn the_chart_sets_every_flag() {
    let read = |name: &str| read_to_string(root().join("charts/narthex/templates/rollout").join(name)).unwrap();
    let (template, environment) = (read("_helpers.tpl"), read("deployment.yaml"));
    let mut cli = Cli::command();
    cli.build();
    let flags =
        cli.find_subcommand("rollout").unwrap().get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(|flag| flag.get_long());
    let is_set = |flag: &&str| {
        let variable = flag.to_ascii_uppercase().replace('-', "_");
        template.contains(&format!("--{flag}="))
            || template.contains(&format!("\"{flag}\" "))
            || environment.contains(&format!("name: {variable}\n"))
    };
    let missing: Vec<&str> = flags.filter(|flag| !is_set(flag) && !OUTSIDE.contains(flag) && !["help", "version"].contains(flag)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn a_row_is_read_with_its_name_and_its_tests() {
    let page =
        "| flag | meaning | test |\n|---|---|---|\n| `--a X\\|Y` (`--b`) | c | `d::e`, `f::g` |\n\n| x | y |\n|---|---|\n| `z` | |\n";
    assert_eq!(rows(page), [("`--a X\\|Y` (`--b`)", "`d::e`, `f::g`")]);
    assert_eq!(names(&rows(page)), BTreeSet::from(["--a".to_owned(), "--b".to_owned()]));
}
