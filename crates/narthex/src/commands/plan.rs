//! `narthex plan OLD NEW`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use model::plan::plan as difference;
use model::{Delta, Op, Plan, Reason, Table};
use serde_json::json;

use crate::args::{Format, PlanArgs};
use crate::offline::{self, Directory};

/// Prints what going from one directory to the other would do.
pub(crate) fn plan(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    // The same certificate on both sides: a generated one is no difference.
    let settings = offline::settings(&args.model)?;
    let old = Directory::build(&args.old, settings.clone())?;
    let new = Directory::build(&args.new, settings)?;
    let plan = difference(&old.built.model, &new.built.model);
    match args.format {
        Format::Json => println!("{}", serde_json::to_string_pretty(&as_json(&plan))?),
        Format::Text => print!("{}", as_text(&plan)),
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(plan: &Plan) -> String {
    match plan {
        Plan::Nothing => "nothing: both come to the same configuration\n".into(),
        Plan::Live(delta) => format!("live: {}, no reload\n{}", counts(delta), changes(delta)),
        Plan::Reload { reasons, live } => {
            let reasons: String = reasons.iter().map(|reason| format!("  because {reason}\n")).collect();
            let live = if live.is_empty() { String::new() } else { format!("and live: {}\n{}", counts(live), changes(live)) };
            format!("reload:\n{reasons}{live}")
        }
    }
}

fn name(table: Table) -> &'static str {
    match table {
        Table::Certificate => "key pair",
        Table::Users => "list of users",
        Table::Server => "TLS name",
        Table::Backend => "backend",
        Table::Host => "host",
        Table::Signpost => "TLS passthrough",
    }
}

fn verb(op: &Op) -> &'static str {
    match (&op.value, op.old_crc) {
        (None, _) => "removed",
        (Some(_), 0) => "added",
        (Some(_), _) => "changed",
    }
}

fn counts(delta: &Delta) -> String {
    let mut counts: BTreeMap<(Table, &str), usize> = BTreeMap::new();
    for op in delta {
        *counts.entry((op.table, verb(op))).or_default() += 1;
    }
    let parts: Vec<String> = counts
        .into_iter()
        .map(|((table, verb), count)| format!("{count} {}{} {verb}", name(table), if count == 1 { "" } else { "s" }))
        .collect();
    parts.join(", ")
}

fn changes(delta: &Delta) -> String {
    delta.iter().map(|op| format!("  {} {} {}\n", name(op.table), op.key, verb(op))).collect()
}

fn as_json(plan: &Plan) -> serde_json::Value {
    let ops = |delta: &Delta| -> Vec<serde_json::Value> {
        delta.iter().map(|op| json!({ "kind": op.table.label(), "key": op.key, "change": verb(op) })).collect()
    };
    let reason = |reason: &Reason| json!({ "reason": reason.label(), "detail": reason.to_string() });
    match plan {
        Plan::Nothing => json!({ "plan": "nothing" }),
        Plan::Live(delta) => json!({ "plan": "live", "live": ops(delta) }),
        Plan::Reload { reasons, live } => {
            json!({ "plan": "reload", "reasons": reasons.iter().map(reason).collect::<Vec<_>>(), "live": ops(live) })
        }
    }
}
