//! For the tests of the groups: reads annotations, with snippets allowed.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::parse::{FindingKind, ParseVerdict, Parsed, Policy, parse};
use crate::spec::Spec;
use crate::table::*;

const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Reads annotations with snippets allowed and everything else by default.
pub(super) fn read(pairs: &[(&str, &str)]) -> Parsed {
    read_with(pairs, &Config { allow_snippet_annotations: true, annotations_risk_level: Risk::Critical, ..Config::default() })
}

/// Reads annotations with these settings.
pub(super) fn read_with(pairs: &[(&str, &str)], config: &Config) -> Parsed {
    let annotations: BTreeMap<String, String> =
        pairs.iter().map(|(name, value)| (format!("{PREFIX}/{name}"), (*value).to_owned())).collect();
    parse(&annotations, &Policy { prefix: PREFIX, validation: true, config })
}

/// The typed values of annotations about which there is nothing to say.
#[track_caller]
pub(super) fn good(pairs: &[(&str, &str)]) -> Spec {
    let parsed = read(pairs);
    assert_eq!((parsed.verdict, parsed.findings), (ParseVerdict::Accepted, Vec::new()), "{pairs:?}");
    parsed.spec
}

/// Annotations that lead to this verdict and these findings (name, kind, beginning of the detail), ordered by name.
#[track_caller]
pub(super) fn bad(pairs: &[(&str, &str)], verdict: ParseVerdict, findings: &[(&str, FindingKind, &str)]) -> Spec {
    let parsed = read(pairs);
    let name = |key: &str| key.rsplit('/').next().unwrap_or_default().to_owned();
    let found: Vec<(String, FindingKind, String)> =
        parsed.findings.into_iter().map(|finding| (name(&finding.key), finding.kind, finding.detail)).collect();
    let as_expected = found.len() == findings.len()
        && found
            .iter()
            .zip(findings)
            .all(|(found, (name, kind, detail))| found.0 == *name && found.1 == *kind && found.2.starts_with(detail));
    assert!(as_expected && parsed.verdict == verdict, "{pairs:?}: {:?} {found:#?}", parsed.verdict);
    parsed.spec
}
