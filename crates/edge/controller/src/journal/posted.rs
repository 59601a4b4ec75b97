//! What a post of records was about, in words.

use std::collections::BTreeMap;

use model::{Live, Op, Table};

use super::{NAMED, counted, listed};

/// What a post was about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(super) text: String,
    /// The first of the records.
    pub(super) objects: Vec<String>,
    pub(super) total: usize,
    /// Number of records by the kind of change.
    pub(super) records: BTreeMap<String, u64>,
}

impl Summary {
    /// Of these changes, which turn `before` into a part of `after`. Cost: their number; only the first are looked at.
    pub(crate) fn of(ops: &[Op], before: &Live, after: &Live) -> Self {
        let mut tables: BTreeMap<Table, usize> = BTreeMap::new();
        ops.iter().for_each(|op| *tables.entry(op.table).or_default() += 1);
        let mut records = BTreeMap::new();
        for (table, number) in &tables {
            *records.entry(table.row().change.to_owned()).or_default() += *number as u64;
        }
        let text = match ops {
            [op] => of_one(op, before, after),
            _ => {
                let parts: Vec<String> = tables.iter().map(|(table, number)| counted(*number, table.row().noun)).collect();
                format!("{} changed", listed(&parts))
            }
        };
        Self { text, objects: ops.iter().take(NAMED).map(object).collect(), total: ops.len(), records }
    }
}

/// The name of a record, as an object.
fn object(op: &Op) -> String {
    let kind = match op.table {
        Table::Certificate => "Certificate",
        Table::Users => "Users",
        Table::Staple => "Staple",
        Table::Server => "TLS",
        Table::Backend => "Backend",
        Table::Host => "Host",
        Table::StreamService => "Port",
        Table::Passthrough => "Passthrough",
    };
    format!("{kind} {}", op.key)
}

fn of_one(op: &Op, before: &Live, after: &Live) -> String {
    let (key, noun) = (&op.key, op.table.row().noun);
    let numbers = |live: &Live| match op.table {
        Table::Backend => live.backends.get(key).map(|record| record.endpoints.len()),
        Table::Host => live.hosts.get(key).map(|record| record.routes.len()),
        _ => None,
    };
    let parts = if op.table == Table::Backend { "endpoint" } else { "path" };
    match (&op.value, op.old_crc, numbers(before), numbers(after)) {
        (None, ..) => format!("{noun} {key} is gone"),
        (Some(_), 0, _, Some(number)) => format!("{noun} {key} is new, with {}", counted(number, parts)),
        (Some(_), 0, ..) => format!("{noun} {key} is new"),
        (Some(_), _, Some(old), Some(new)) if old != new => format!("{noun} {key} has {} instead of {old}", counted(new, parts)),
        (Some(_), _, Some(_), Some(_)) => format!("{parts}s of {noun} {key} changed"),
        (Some(_), ..) => format!("{noun} {key} changed"),
    }
}
