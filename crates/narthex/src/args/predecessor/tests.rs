//! The table against the command line.

use std::collections::BTreeSet;

use clap::{CommandFactory, Parser};

use super::*;
use crate::args::{Cli, Command as Subcommand, RunArgs};

fn parse(flags: &[&str]) -> Result<RunArgs, clap::Error> {
    let cli = Cli::try_parse_from(["narthex", "run"].iter().chain(flags))?;
    match cli.command {
        Subcommand::Run(args) => Ok(*args),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn accepted(flags: &[&str]) -> RunArgs {
    parse(flags).unwrap_or_else(|error| panic!("{flags:?}: {error}"))
}

/// Values of a kind that ingress-nginx takes.
fn samples(kind: &str) -> &'static [&'static str] {
    match kind {
        "boolean" => &["1", "t", "T", "true", "True", "TRUE", "0", "f", "F", "false", "False", "FALSE"],
        "integer" => &["7", "65000"],
        "decimal" => &["1", "1.5", "1e-1"],
        "decimals" => &["1,2", "0.5,1e+06"],
        "duration" => &["0", "30s", "1m", "1h30m", "1.5h", "300ms"],
        "address" => &["127.0.0.1", "::1"],
        "key" => &["default/name", ""],
        "path" => &["/etc/file", ""],
        "names" => &["one,two", "one"],
        "text" => &["/word:8443", "word"],
        other => panic!("no kind {other:?}"),
    }
}

#[test]
fn the_table_has_every_flag_of_ingress_nginx_once() {
    let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!((ROWS.len(), names.len()), (87, 87));
    let silent: Vec<_> = ROWS.iter().filter(|row| row.reason().is_some_and(str::is_empty)).map(|row| &row.name).collect();
    assert!(silent.is_empty(), "without a reason: {silent:?}");
}

#[test]
fn every_flag_is_accepted_with_its_name_and_its_default() {
    let mut cli = Cli::command();
    cli.build();
    let run = cli.find_subcommand("run").unwrap();
    for row in ROWS.iter().filter(|row| row.name != "version") {
        let argument = run.get_arguments().find(|argument| argument.get_long() == Some(row.name));
        let argument = argument.unwrap_or_else(|| panic!("there is no --{}", row.name));
        let default = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",");
        let own_heading = argument.get_help_heading() == Some(HEADING);
        assert_eq!(row.reason().is_some(), own_heading, "--{}", row.name);
        assert_eq!(default == row.default, row.here != Here::Other, "default {default:?} of --{}", row.name);
    }
}

#[test]
fn every_flag_takes_the_values_that_ingress_nginx_takes() {
    for row in ROWS.iter().filter(|row| row.name != "version") {
        for sample in samples(row.kind) {
            accepted(&[&format!("--{}={sample}", row.name)]);
            if row.kind != "boolean" && !sample.is_empty() {
                accepted(&[&format!("--{}", row.name), sample]);
            }
        }
    }
}

#[test]
fn a_boolean_alone_is_true_and_the_next_word_is_not_its_value() {
    for row in ROWS.iter().filter(|row| row.kind == "boolean" && row.name != "version") {
        accepted(&[&format!("--{}", row.name)]);
        assert!(parse(&[&format!("--{}", row.name), "false"]).is_err(), "--{} false", row.name);
        assert!(parse(&[&format!("--{}=2", row.name)]).is_err(), "--{}=2", row.name);
    }
    assert!(accepted(&["--enable-metrics"]).model.metrics.enable_metrics);
    assert!(!accepted(&["--update-status=f"]).status.update_status);
}

#[test]
fn a_value_of_another_kind_is_refused() {
    for flag in ["--sync-period=soon", "--stream-port=x", "--profiler-address=x", "--bucket-factor=x", "--max-buckets=x", "--status-port=x"]
    {
        assert!(parse(&[flag]).is_err(), "{flag}");
    }
}

#[test]
fn only_what_was_given_is_announced() {
    assert!(accepted(&[]).idle.given.is_empty());
    let given = accepted(&["--sync-period=1m", "--maxmind-mirror=x", "--logtostderr", "--http-port=8080"]).idle.given;
    let names: Vec<&str> = given.iter().map(|row| row.name).collect();
    assert_eq!(names, ["sync-period", "logtostderr"], "the others are in effect");
}

#[test]
fn a_repeated_list_is_one_list() {
    let args = accepted(&["--exclude-socket-metrics=a,b", "--exclude-socket-metrics=c"]);
    assert_eq!(args.model.metrics.exclude_socket_metrics, ["a", "b", "c"]);
}
