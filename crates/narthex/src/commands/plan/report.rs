//! A plan with what is to be said of it, in three forms.

use std::fmt::Write;

use model::{Delta, Plan, Problem, Table};
use serde_json::{Value, json};

use super::change::Change;
use super::{Both, as_json, as_text};

/// A plan and its findings.
pub(super) struct Report<'a> {
    plan: &'a Plan,
    both: &'a Both<'a>,
    change: &'a Change,
    added: Vec<Problem>,
    ended: Vec<Problem>,
}

impl<'a> Report<'a> {
    pub(super) fn new(plan: &'a Plan, both: &'a Both<'a>, change: &'a Change) -> Self {
        let (added, ended) = change.findings();
        Self { plan, both, change, added, ended }
    }

    /// What is said besides the plan: a title, and a line for each entry. Empty lists are left out.
    fn lists(&self) -> Vec<(&'static str, Vec<String>)> {
        let texts = |problems: &[Problem]| problems.iter().map(ToString::to_string).collect();
        let risky = self.change.risky.iter().map(|(ingress, name, risk)| format!("Ingress {ingress}: {name} ({risk})")).collect();
        let refused: Vec<String> = self.change.refused().map(ToString::to_string).collect();
        let lists = [
            ("the admission webhook refuses", refused),
            ("new findings", texts(&self.added)),
            ("findings that end", texts(&self.ended)),
            ("annotations of a high risk", risky),
        ];
        lists.into_iter().filter(|(_, lines)| !lines.is_empty()).collect()
    }

    pub(super) fn text(&self) -> String {
        let mut text = as_text(self.plan, self.both);
        for (title, lines) in self.lists() {
            let _ = writeln!(text, "{title}:");
            lines.iter().for_each(|line| _ = writeln!(text, "  {line}"));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let mut json = as_json(self.plan, self.both);
        let risky: Vec<Value> = self
            .change
            .risky
            .iter()
            .map(|(ingress, name, risk)| json!({ "ingress": ingress.to_string(), "annotation": name, "risk": risk }))
            .collect();
        let refused: Vec<&Problem> = self.change.refused().collect();
        let more = [
            ("hosts", json!(self.hosts())),
            ("refused", json!(refused)),
            ("newFindings", json!(self.added)),
            ("endedFindings", json!(self.ended)),
            ("riskyAnnotations", json!(risky)),
        ];
        if let Some(object) = json.as_object_mut() {
            object.extend(more.map(|(name, value)| (name.to_owned(), value)));
        }
        json
    }

    pub(super) fn markdown(&self) -> String {
        let title = match self.plan {
            Plan::Nothing => "**No change** of the configuration",
            Plan::Live(_) => "**Live**: no reload",
            Plan::Reload { .. } => "**Reload** of NGINX",
        };
        let mut text = format!("### Plan: {title}\n");
        let mut list = |title: &str, lines: &[String]| {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{title}:\n");
                lines.iter().for_each(|line| _ = writeln!(text, "- {}", escaped(line)));
            }
        };
        if let Plan::Reload { reasons, .. } = self.plan {
            list("Reasons", &reasons.iter().map(|reason| reason.explain(&self.both.behind(reason))).collect::<Vec<_>>());
        }
        list("Hosts that change", &self.hosts());
        for (title, lines) in self.lists() {
            let (first, rest) = title.split_at(1);
            list(&format!("{}{rest}", first.to_uppercase()), &lines);
        }
        text
    }

    /// Hosts whose routes or certificates change.
    fn hosts(&self) -> Vec<String> {
        let delta: &[_] = match self.plan {
            Plan::Nothing => &[],
            Plan::Live(live) | Plan::Reload { live, .. } => live,
        };
        let mut hosts: Vec<String> = changes_of_hosts(delta).collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }
}

fn changes_of_hosts(delta: &<Delta as std::ops::Deref>::Target) -> impl Iterator<Item = String> {
    delta.iter().filter(|op| matches!(op.table, Table::Host | Table::Server) && &*op.key != "~").map(|op| op.key.to_string())
}

/// A text in which nothing is Markdown: objects hold what their authors write.
fn escaped(text: &str) -> String {
    let special =
        |c: char| matches!(c, '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '(' | ')' | '#' | '|' | '!' | '&' | '@');
    text.chars()
        .flat_map(|c| match c {
            c if c.is_control() => vec![' '],
            c if special(c) => vec!['\\', c],
            c => vec![c],
        })
        .collect()
}
