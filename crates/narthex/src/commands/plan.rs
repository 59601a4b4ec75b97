//! `narthex plan`: what a change would do.

mod change;
mod report;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use model::plan::plan as difference;
use model::{Built, Delta, ObjectKey, Op, Plan, Reason, Table};
use serde_json::json;

use crate::args::{LogArgs, PlanArgs, PlanFormat};
use crate::offline::{self, Directory};
use crate::output;
use change::Change;
use report::Report;

/// Exit codes of `--exit-code`.
const LIVE: u8 = 3;
const RELOAD: u8 = 4;
const REFUSED: u8 = 5;

/// Prints what a change would do.
pub(crate) fn plan(args: &PlanArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    // The same certificate on both sides: a generated one is no difference.
    let settings = offline::settings(&args.model)?;
    let change = match (&args.old, &args.new, &args.against) {
        (Some(old), Some(new), _) => between(old, new, settings)?,
        (_, _, Some(base)) => change::applied(args, base, settings, log)?,
        _ => bail!("expected OLD and NEW, or --against and --filename"),
    };
    let plan = difference(&change.old.model, &change.new.model);
    let both = Both { old: &change.old, new: &change.new };
    let report = Report::new(&plan, &both, &change);
    match args.format {
        PlanFormat::Json => output::line(serde_json::to_string_pretty(&report.json())?)?,
        PlanFormat::Text => output::text(report.text())?,
        PlanFormat::Markdown => output::text(report.markdown())?,
    }
    Ok(match plan {
        _ if !args.exit_code => ExitCode::SUCCESS,
        _ if change.refused().next().is_some() => ExitCode::from(REFUSED),
        Plan::Nothing => ExitCode::SUCCESS,
        Plan::Live(_) => ExitCode::from(LIVE),
        Plan::Reload { .. } => ExitCode::from(RELOAD),
    })
}

/// From one directory to another.
fn between(old: &Path, new: &Path, settings: model::BuildOptions) -> anyhow::Result<Change> {
    let (before, after) = (Directory::build(old, settings.clone())?, Directory::build(new, settings)?);
    let unread: Vec<String> = [(old, &before), (new, &after)].into_iter().flat_map(|(dir, read)| unread(dir, read)).collect();
    if !unread.is_empty() {
        bail!("what can't be read may change anything, so there is no plan:\n{}", unread.join("\n"));
    }
    Ok(Change::new(before.built, after.built, &before.loaded.snapshot, &after.loaded.snapshot))
}

/// The unreadable files below a directory, a line for each.
fn unread(dir: &Path, read: &Directory) -> Vec<String> {
    let line = |(place, problem): (Option<(String, u64)>, _)| match place {
        Some((file, line)) => format!("{}:{line}: {problem}", dir.join(file).display()),
        None => format!("{}: {problem}", dir.display()),
    };
    read.unread().into_iter().map(line).collect()
}

/// The two sides.
pub(crate) struct Both<'a> {
    pub(crate) old: &'a Built,
    pub(crate) new: &'a Built,
}

impl Both<'_> {
    /// The Ingresses behind a reason: those that ask for it, or else those that did.
    fn behind(&self, reason: &Reason) -> Vec<ObjectKey> {
        let origins = self.new.behind(reason);
        if origins.is_empty() { self.old.behind(reason) } else { origins }
    }
}

/// A plan in words.
pub(crate) fn as_text(plan: &Plan, both: &Both<'_>) -> String {
    match plan {
        Plan::Nothing => "nothing: both come to the same configuration\n".into(),
        Plan::Live(delta) => format!("live: {}, no reload\n{}", counts(delta), changes(delta)),
        Plan::Reload { reasons, live } => {
            let reasons: String = reasons.iter().map(|reason| format!("  because {}\n", reason.explain(&both.behind(reason)))).collect();
            let live = if live.is_empty() { String::new() } else { format!("and live: {}\n{}", counts(live), changes(live)) };
            format!("reload:\n{reasons}{live}")
        }
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
        .map(|((table, verb), count)| format!("{count} {}{} {verb}", table.row().noun, if count == 1 { "" } else { "s" }))
        .collect();
    parts.join(", ")
}

fn changes(delta: &Delta) -> String {
    delta.iter().map(|op| format!("  {} {} {}\n", op.table.row().noun, op.key, verb(op))).collect()
}

/// A plan as JSON.
pub(crate) fn as_json(plan: &Plan, both: &Both<'_>) -> serde_json::Value {
    let ops = |delta: &Delta| -> Vec<serde_json::Value> {
        delta.iter().map(|op| json!({ "kind": op.table.label(), "key": op.key, "change": verb(op) })).collect()
    };
    let reason = |reason: &Reason| {
        let ingresses: Vec<String> = both.behind(reason).iter().map(ToString::to_string).collect();
        json!({ "reason": reason.label(), "detail": reason.to_string(), "ingresses": ingresses })
    };
    match plan {
        Plan::Nothing => json!({ "plan": "nothing" }),
        Plan::Live(delta) => json!({ "plan": "live", "live": ops(delta) }),
        Plan::Reload { reasons, live } => {
            json!({ "plan": "reload", "reasons": reasons.iter().map(reason).collect::<Vec<_>>(), "live": ops(live) })
        }
    }
}
