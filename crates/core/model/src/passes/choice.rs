//! Choices: which backend gets which other one beside it.
//!
//! A choice belongs to the rule that has it, or, where a rule only adds one, to the location of the same host, path and kind of path. Its backend takes
//! requests of the backend that this location has, and so of all locations with that backend, as the predecessor's canaries do. So it is part of that
//! backend's record: one record changes with it, not each host with such a location. Of several choices beside a backend the oldest is used.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::key::BackendId;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{CATCH_ALL, Choice, Field, Origin, PathKind, Position, RuleSet};

/// A choice that is offered beside a backend. Ordered by precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    /// The object that offers it.
    pub(crate) origin: Origin,
    /// Its rule; none: its fallback.
    pub(crate) at: Option<Position>,
    /// The host where they met.
    pub(crate) host: Arc<str>,
    pub(crate) choice: Arc<Choice>,
}

impl Candidate {
    fn surprise(&self, detail: String) -> Problem {
        self.origin.problem(Field::Backend(self.at), ProblemKind::Surprise, detail)
    }
}

/// A location with a backend.
#[derive(Debug, Clone)]
pub(crate) struct Primary<'a> {
    pub(crate) path: &'a str,
    pub(crate) kind: PathKind,
    pub(crate) backend: &'a BackendId,
    /// The choice of its own rule.
    pub(crate) own: Option<Candidate>,
}

/// What the rules that only add choices, and those of the locations themselves, offer to a host: (primary, candidate), in no particular order. A rule
/// without a partner is a Problem.
pub(crate) fn pair(
    host: &Arc<str>,
    adding: &[&RuleSet],
    locations: &[Primary<'_>],
    problems: &mut Vec<Problem>,
) -> Vec<(BackendId, Candidate)> {
    let mut pairs = Vec::new();
    for (primary, own) in locations.iter().filter_map(|location| Some((location.backend, location.own.as_ref()?))) {
        if own.choice.backend == *primary {
            problems.push(own.surprise(alone(own, None, true, None)));
        } else {
            pairs.push((primary.clone(), own.clone()));
        }
    }
    let mut by_path: BTreeMap<(&str, PathKind), Vec<&Primary<'_>>> = BTreeMap::new();
    for location in locations.iter().filter(|_| !adding.is_empty()) {
        by_path.entry((location.path, location.kind)).or_default().push(location);
    }
    let all: Vec<&Primary<'_>> = locations.iter().collect();
    let offers = adding.iter().flat_map(|rules| offers(host, rules).into_iter().map(|offer| (protects(rules), offer)));
    for (guarded, (path, candidate)) in offers {
        let partners = path.map_or(&*all, |path| by_path.get(&path).map_or(&[], Vec::as_slice));
        let partners: Vec<&BackendId> = partners.iter().map(|location| location.backend).collect();
        let others: Vec<&BackendId> = partners.iter().copied().filter(|backend| **backend != candidate.choice.backend).collect();
        if others.is_empty() {
            let open = locations.iter().find(|location| *location.backend == candidate.choice.backend).filter(|_| guarded);
            problems.push(candidate.surprise(alone(&candidate, path.map(|(path, _)| path), !partners.is_empty(), open)));
        }
        pairs.extend(others.into_iter().map(|backend| (backend.clone(), candidate.clone())));
    }
    pairs
}

/// Whether an object has access control.
fn protects(rules: &RuleSet) -> bool {
    let spec = &rules.policy.spec;
    let listed = spec.access.allowlist_source_range.is_some() || spec.access.denylist_source_range.is_some();
    listed || spec.basic_auth.auth_type.is_some() || spec.external_auth.auth_url.is_some() || spec.client_tls.auth_tls_secret.is_some()
}

/// Why an offer adds to nothing. `open`: a location that has its backend, where the canary means to protect it.
fn alone(candidate: &Candidate, path: Option<&str>, is_itself: bool, open: Option<&Primary<'_>>) -> String {
    let (host, kind) = (&candidate.host, candidate.origin.object().kind);
    let what = path.map_or_else(|| format!("host {host:?}"), |path| format!("path {path:?} of host {host:?}"));
    let why = if is_itself {
        format!("{what} has this backend already, so it is no alternative; it is ignored")
    } else {
        format!("no other {kind} has a Service for {what} with this path type, so there is nothing to add to; it gets no request")
    };
    match open {
        Some(open) => format!("{why}; the rule for {:?} serves the same Service without what protects it here", open.path),
        None => why,
    }
}

/// What rules that only add offer to a host, each with its path; no path: for every location of the host.
fn offers<'a>(host: &Arc<str>, rules: &'a RuleSet) -> Vec<(Option<(&'a str, PathKind)>, Candidate)> {
    let candidate = |at, choice: &Arc<Choice>| Candidate { origin: rules.origin.clone(), at, host: host.clone(), choice: choice.clone() };
    let of_rules = rules.rules_of(host).filter_map(|rule| Some((&rule.matches, candidate(Some(rule.at), rule.backends.choice.as_ref()?))));
    let mut offers: Vec<_> = of_rules.map(|(matches, candidate)| (Some((&*matches.path, matches.kind)), candidate)).collect();
    if **host == *CATCH_ALL {
        offers.extend(rules.fallback.choice.iter().map(|choice| (None, candidate(None, choice))));
    }
    offers
}

/// What to say about those that are not used because an older one is.
pub(crate) fn ignored<'a>(primary: &BackendId, used: &Candidate, others: impl Iterator<Item = &'a Candidate>) -> Vec<Problem> {
    let different = others.filter(|other| other.origin != used.origin || other.choice.backend != used.choice.backend);
    let why = |other: &Candidate| {
        let first = if used.origin == other.origin { used.origin.object().to_string() } else { used.origin.before(&other.origin) };
        format!("{primary} has a canary already: {} of {first}; only that one is used, this one gets no request", used.choice.backend)
    };
    different.map(|other| other.surprise(why(other))).collect()
}
