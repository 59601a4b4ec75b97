//! Findings about objects, those of one kind and one severity together.

use std::collections::BTreeMap;

use inspect::{Problem, Severity};

use super::{Facts, Finding, Level};

/// The beginning of what a finding says about a part that NGINX does not have.
const LACKS: &str = "NGINX lacks ";
/// That of a setting that is written in the right way and does not work.
const REFUSES: &str = "NGINX refuses ";
/// What is said of it then.
const REFUSED: &str = "NGINX refuses a setting: its last accepted value is used, else the default";

/// What the findings of a kind have in common.
struct Kind {
    /// As [`Problem::kind`].
    name: &'static str,
    /// Of one object, and of several behind their number.
    one: &'static str,
    many: &'static str,
}

const fn kind(name: &'static str, one: &'static str, many: &'static str) -> Kind {
    Kind { name, one, many }
}

/// The most serious first.
const KINDS: &[Kind] = &[
    kind(
        "Quarantined",
        "NGINX refuses what an Ingress asks for: it is quarantined",
        "Ingresses are quarantined: NGINX refuses what they ask for",
    ),
    kind("Configuration", "a setting can't be used", "settings can't be used"),
    kind("Refused", "an Ingress is refused", "Ingresses are refused"),
    kind("NoRoom", "an object has no room in the share of its namespace", "objects have no room in the shares of their namespaces"),
    kind(
        "AnnotationParsingFailed",
        "a path is closed: an annotation that protects it can't be used",
        "paths are closed: annotations that protect them can't be used",
    ),
    kind("NoEndpoints", "a Service has no endpoints: its requests get 503", "Services have no endpoints: their requests get 503"),
    kind(
        "ServiceMissing",
        "a Service that an Ingress names does not exist: its requests get 503",
        "Services that Ingresses name do not exist: their requests get 503",
    ),
    kind(
        "PortMissing",
        "a Service lacks the port that an Ingress names: its requests get 503",
        "Services lack the ports that Ingresses name: their requests get 503",
    ),
    kind("Certificate", "a certificate can't be used, or not for long", "certificates can't be used, or not for long"),
    kind("Conflict", "an object has what an older one has: the older one wins", "objects have what older ones have: the older ones win"),
    kind("ExternalName", "a name of another machine can't be used", "names of other machines can't be used"),
    kind("LocalEndpoint", "an endpoint is this machine, which no Pod can be", "endpoints are this machine, which no Pod can be"),
    kind(
        "Unclaimed",
        "an Ingress names no class that exists: no controller serves it",
        "Ingresses name no class that exists: no controller serves them",
    ),
    kind("Unreadable", "an object can't be read: its last version is used", "objects can't be read: their last versions are used"),
    kind("InvalidValue", "a value can't be used: its default is", "values can't be used: their defaults are"),
    kind("UnknownAnnotation", "an annotation does not exist", "annotations do not exist"),
    kind("Surprise", "something works in a way that surprises", "things work in a way that surprises"),
];

/// A finding for each part that NGINX lacks, for settings that it refuses, and for each kind and severity.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut groups: BTreeMap<(usize, Severity, &str), Vec<&Problem>> = BTreeMap::new();
    for problem in &facts.problems {
        let order = KINDS.iter().position(|kind| kind.name == problem.kind).unwrap_or(KINDS.len());
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
    let what = match (cause, KINDS.iter().find(|kind| kind.name == problems[0].kind), problems) {
        ("", Some(kind), [_]) => kind.one.to_owned(),
        ("", Some(kind), _) => format!("{} {}", problems.len(), kind.many),
        ("", None, _) => problems[0].detail.clone(),
        (cause, ..) => cause.to_owned(),
    };
    Finding::new(level, what, problems.iter().map(|problem| evidence(problem)).collect(), problems[0].fix.clone())
}

fn evidence(problem: &Problem) -> String {
    let field = if problem.field.is_empty() { String::new() } else { format!("{}: ", problem.field) };
    format!("{}: {field}{}", problem.object, problem.detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_model_is_known() {
        for kind in model::ProblemKind::ALL {
            assert!(KINDS.iter().any(|known| known.name == kind.label()), "{kind:?}");
        }
        assert_eq!(KINDS.len(), model::ProblemKind::ALL.len());
    }
}
