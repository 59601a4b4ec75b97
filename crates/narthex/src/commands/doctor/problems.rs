//! Findings about objects, those of one kind and one severity together.

use std::collections::BTreeMap;

use inspect::{KINDS, Problem, Severity};

use super::{Facts, Finding, Level};

/// The beginning of what a finding says about a part that NGINX does not have.
const LACKS: &str = "NGINX lacks ";
/// That of a setting that is written in the right way and does not work.
const REFUSES: &str = "NGINX refuses ";
/// What is said of it then.
const REFUSED: &str = "NGINX refuses a setting: its last accepted value is used, else the default";

/// A finding for each part that NGINX lacks, for settings that it refuses, and for each kind and severity.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut groups: BTreeMap<(usize, Severity, &str), Vec<&Problem>> = BTreeMap::new();
    for problem in &facts.problems {
        let order = KINDS.iter().position(|facts| facts.kind.label() == problem.kind).unwrap_or(KINDS.len());
        let key = match by_nginx(problem) {
            "" => (order + 1, problem.severity, ""),
            cause => (0, Severity::Error, cause),
        };
        groups.entry(key).or_default().push(problem);
    }
    groups.into_iter().map(|((_, severity, cause), problems)| finding(severity, cause, &problems)).collect()
}

/// The cause that NGINX is, whatever object asks for it; empty where it is none.
fn by_nginx(problem: &Problem) -> &str {
    match problem.detail.find(LACKS) {
        Some(at) => lacking(&problem.detail[at..]),
        None if problem.kind == "Configuration" && problem.detail.contains(REFUSES) => REFUSED,
        None => "",
    }
}

/// What NGINX lacks, up to the consequence.
fn lacking(detail: &str) -> &str {
    detail.split([';', ':']).next().unwrap_or(detail)
}

fn finding(severity: Severity, cause: &str, problems: &[&Problem]) -> Finding {
    let level = match severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
    };
    let what = match (cause, KINDS.iter().find(|facts| facts.kind.label() == problems[0].kind), problems) {
        ("", Some(facts), [_]) => facts.one.to_owned(),
        ("", Some(facts), _) => format!("{} {}", problems.len(), facts.many),
        ("", None, _) => problems[0].detail.clone(),
        (cause, ..) => cause.to_owned(),
    };
    Finding::new(level, what, problems.iter().map(|problem| evidence(problem)).collect(), problems[0].fix.clone())
}

fn evidence(problem: &Problem) -> String {
    let field = if problem.field.is_empty() { String::new() } else { format!("{}: ", problem.field) };
    format!("{}: {field}{}", problem.object, problem.detail)
}
