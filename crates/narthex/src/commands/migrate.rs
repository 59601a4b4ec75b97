//! `narthex migrate values FILE`.

mod open_maps;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use manifests::Plain;
use migrate::values::{Chart, Review, at, review, shown, yaml};
use serde_json::Value;

use crate::args::{MigrateArgs, MigrateSubject, MigrateValuesArgs, ValuesFormat};
use crate::output;

/// The chart of this version, and what is known of ingress-nginx's.
const SCHEMA: &str = include_str!("../../../../charts/narthex/values.schema.json");
const VALUES: &str = include_str!("../../../../charts/narthex/values.yaml");
const IDLE: &str = include_str!("../../../../charts/narthex/values.idle.yaml");
const DEFAULTS: &str = include_str!("migrate/defaults.yaml");

/// Prints the review; the exit code says whether the chart takes the file.
pub(crate) fn migrate(args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    let MigrateSubject::Values(args) = &args.subject;
    match read(args) {
        Ok((name, plain)) => print(args, &name, &plain),
        Err(error) => {
            output::remark(format_args!("narthex: {}", cluster::chain(error.as_ref())));
            Ok(ExitCode::from(crate::USAGE))
        }
    }
}

fn read(args: &MigrateValuesArgs) -> anyhow::Result<(String, Plain)> {
    let name = if args.file == Path::new("-") { "standard input".to_owned() } else { args.file.display().to_string() };
    let mut text = String::new();
    let read = match args.file == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text),
        false => std::fs::File::open(&args.file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.with_context(|| format!("{name} can't be read"))?;
    let plain = Plain::read(&text).map_err(|error| anyhow!("{name} is no YAML of values: {error}"))?;
    Ok((name, plain))
}

fn print(args: &MigrateValuesArgs, name: &str, plain: &Plain) -> anyhow::Result<ExitCode> {
    let chart = chart()?;
    let prefix: Vec<String> = args.below.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
    let none = Value::Null;
    let values = at(&plain.value, &prefix).unwrap_or(&none);
    let mut review = review(&chart, values);
    review.add(open_maps::findings(values));
    review.add(open_maps::repeated(plain, &prefix, values));
    let line = |path: &Vec<String>| plain.line(&[prefix.clone(), path.clone()].concat());
    match args.output {
        ValuesFormat::Text => output::text(review.text(name, line))?,
        ValuesFormat::Json => output::line(format_args!("{:#}", review.json(line)))?,
        ValuesFormat::Yaml if review.is_good() => output::text(yaml(&review.values))?,
        ValuesFormat::Yaml => refusals(name, &review),
    }
    Ok(if review.is_good() { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

/// The reasons why there is no shorter file, on standard error.
fn refusals(name: &str, review: &Review) {
    for one in &review.refused {
        output::remark(format_args!("narthex: {name}: {}: {}; {}", one.path.join("."), shown(&one.value), one.expected));
    }
}

/// The chart that this version has been built with.
fn chart() -> anyhow::Result<Chart> {
    let parse =
        |name: &str, text: &str| Plain::read(text).map(|plain| plain.value).map_err(|error| anyhow!("{name} of this version: {error}"));
    Ok(Chart {
        schema: parse("values.schema.json", SCHEMA)?,
        values: parse("values.yaml", VALUES)?,
        idle: parse("values.idle.yaml", IDLE)?,
        defaults: parse("the list of defaults", DEFAULTS)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_understood_and_takes_the_defaults_of_the_chart() {
        let chart = chart().unwrap();
        assert!(migrate::values::schema::unknown_keywords(&chart.schema).is_empty());
        let mut own = review(&chart, &chart.values);
        own.add(open_maps::findings(&chart.values));
        assert_eq!((own.refused, own.idle.len(), own.differing.len()), (Vec::new(), 0, 0));
        assert_eq!(own.values, serde_json::json!({}));
    }
}
