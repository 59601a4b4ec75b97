//! `narthex get`: what a running controller serves, and what is wrong with it.

mod form;
mod resources;

use std::process::ExitCode;

use inspect::List;
use jiff::Timestamp;
use serde_json::Value;

use crate::FAILED;
use crate::api::Api;
use crate::args::{GetArgs, OutputFormat};
use crate::output;
use crate::table::{Cell, Palette, Tone, table};
use crate::yaml;
pub(crate) use form::{bytes, duration, rate, share};
use resources::{RESOURCES, Resource, Table};

/// What was found.
struct Found {
    /// The whole answer; for a list its items.
    answer: Value,
    /// Its tables, and where their rows begin.
    tables: &'static [Table],
    /// Number of items that match and were not fetched.
    more: usize,
}

/// Prints it.
pub(crate) fn get(args: &GetArgs) -> anyhow::Result<ExitCode> {
    let api = Api::new(&args.running.work_dir()?);
    let resource = RESOURCES.iter().find(|resource| resource.of == args.resource);
    let Some(resource) = resource else { unreachable!("each has its tables, by a test") };
    let Some(found) = super::run::runtime()?.block_on(find(&api, resource, args))? else {
        output::remark(format_args!("narthex: {}", none(resource, args)));
        return Ok(ExitCode::from(FAILED));
    };
    match args.output {
        OutputFormat::Json => output::line(format_args!("{:#}", shown(&found)))?,
        OutputFormat::Yaml => output::text(yaml::document(shown(&found)))?,
        OutputFormat::Table | OutputFormat::Wide => {
            let now = Timestamp::now().as_duration().as_secs_f64();
            output::text(tables(&found, args.output == OutputFormat::Wide, now, Palette::of_stdout()))?;
        }
    }
    if found.more > 0 {
        output::remark(format_args!("narthex: note: {} more: --limit 0 prints all", found.more));
    }
    Ok(ExitCode::SUCCESS)
}

/// `None`: there is nothing.
async fn find(api: &Api, resource: &'static Resource, args: &GetArgs) -> anyhow::Result<Option<Found>> {
    if resource.name.is_empty() {
        let answer = api.get(resource.path, &Vec::new()).await?;
        return Ok(Some(Found { answer, tables: resource.tables, more: 0 }));
    }
    let mut query = Vec::new();
    query.extend(args.name.as_deref().map(|name| ("q", name)));
    query.extend(args.namespace.as_deref().map(|namespace| ("namespace", namespace)));
    query.extend(args.changed.then_some(("changed", "true")));
    let most = if args.limit == 0 { usize::MAX } else { args.limit };
    let mut list: List<Value> = api.list(resource.path, &query, most).await?;
    if let Some(name) = &args.name {
        let exact: Vec<usize> = (0..list.items.len()).filter(|at| is_named(&list.items[*at], resource, name)).collect();
        if !exact.is_empty() {
            list.items = exact.iter().map(|at| list.items[*at].take()).collect();
            list.total = list.items.len();
            if let ([_], false) = (exact.as_slice(), resource.detail.is_empty()) {
                let path = format!("{}/{}", resource.path, http_client::escape(name));
                return Ok(Some(Found { answer: api.get(&path, &Vec::new()).await?, tables: resource.detail, more: 0 }));
            }
        }
    }
    let more = list.total.saturating_sub(list.items.len());
    let is_empty = list.items.is_empty();
    let answer = serde_json::json!({ "items": list.items });
    Ok((!is_empty).then_some(Found { answer, tables: resource.tables, more }))
}

/// Whether this is the whole name of an item, with or without its namespace.
fn is_named(item: &Value, resource: &Resource, name: &str) -> bool {
    let parts: Vec<&str> = resource.name.iter().filter_map(|at| item.pointer(at)?.as_str()).collect();
    parts.join("/") == name || parts.last() == Some(&name)
}

fn none(resource: &Resource, args: &GetArgs) -> String {
    let name = args.name.as_ref().map(|name| format!(" with {name:?} in the name")).unwrap_or_default();
    let namespace = args.namespace.as_ref().map(|namespace| format!(" of the namespace {namespace:?}")).unwrap_or_default();
    format!("no {}{name}{namespace}", resource.path)
}

/// What programs get: a list without what is around it.
fn shown(found: &Found) -> &Value {
    found.answer.get("items").unwrap_or(&found.answer)
}

fn tables(found: &Found, wide: bool, now: f64, palette: Palette) -> String {
    let mut text = String::new();
    for part in found.tables.iter().filter(|table| wide || !table.wide) {
        let columns: Vec<_> = part.columns.iter().filter(|column| wide || !column.wide).collect();
        let found = rows(&found.answer, part.rows);
        if found.is_empty() {
            continue;
        }
        let cells = found.iter().map(|chain| columns.iter().map(|column| column.form.cell(value(chain, column.at), now)).collect());
        let cells: Vec<Vec<Cell>> = cells.collect();
        // A column without anything in it says nothing.
        let kept: Vec<usize> = (0..columns.len()).filter(|at| wide || cells.iter().any(|row| row[*at] != Cell::default())).collect();
        let titles: Vec<&str> = kept.iter().map(|at| columns[*at].title).collect();
        let cells: Vec<Vec<Cell>> = cells.into_iter().map(|row| kept.iter().map(|at| row[*at].clone()).collect()).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        if !part.title.is_empty() {
            text.push_str(&palette.paint(part.title, Tone::Quiet));
            text.push('\n');
        }
        text.push_str(&table(&titles, &cells, palette));
    }
    text
}

/// The values at a place in an answer, each behind what holds it.
fn rows<'a>(answer: &'a Value, place: &str) -> Vec<Vec<&'a Value>> {
    let mut chains = vec![vec![answer]];
    for step in place.split('/').skip(1) {
        chains = chains
            .into_iter()
            .flat_map(|chain| {
                let last = chain[chain.len() - 1];
                let next: Vec<&Value> = match (step, last) {
                    ("*", Value::Array(items)) => items.iter().collect(),
                    ("*", Value::Object(fields)) => fields.values().collect(),
                    (name, value) => value.get(name).into_iter().collect(),
                };
                next.into_iter().map(move |value| [chain.as_slice(), &[value]].concat())
            })
            .collect();
    }
    chains
}

/// The value of a column in a row.
fn value<'a>(chain: &[&'a Value], at: &str) -> &'a Value {
    let (row, at) = match at.strip_prefix("..") {
        // The list is between them.
        Some(at) => (chain.len().checked_sub(3), at),
        None => (chain.len().checked_sub(1), at),
    };
    row.and_then(|row| chain[row].pointer(at)).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests;
