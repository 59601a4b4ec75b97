//! Canaries: which backend gets which alternative.
//!
//! A rule of a canary belongs to the location of the same host, path and path type, and its backend becomes an alternative of the one
//! that this location has. So all locations with that backend are split. Of several alternatives the oldest is used.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ingress::{CATCH_ALL, Entry, Order};
use crate::key::{BackendId, ObjectRef};
use crate::problem::{Problem, ProblemKind};

/// A backend that a canary offers as an alternative. Ordered by precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    /// The canary Ingress.
    pub(crate) order: Order,
    /// Its rule and path; none: `spec.defaultBackend`.
    pub(crate) at: Option<(u32, u32)>,
    /// The host where they met.
    pub(crate) host: Arc<str>,
    /// The canary's backend.
    pub(crate) backend: BackendId,
}

impl Candidate {
    fn field(&self) -> String {
        match self.at {
            Some((rule, path)) => format!("spec.rules[{rule}].http.paths[{path}].backend"),
            None => "spec.defaultBackend".into(),
        }
    }

    fn surprise(&self, detail: String) -> Problem {
        Problem { object: ObjectRef::ingress(self.order.key()), field: self.field(), kind: ProblemKind::Surprise, detail }
    }
}

/// A location that can have an alternative.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Primary<'a> {
    pub(crate) path: &'a str,
    pub(crate) exact: bool,
    pub(crate) backend: &'a BackendId,
}

/// Pairs the canaries of a host with its locations: (primary, candidate), in no particular order. A rule without a partner is a Problem.
pub(crate) fn pair(
    host: &Arc<str>,
    canaries: &[&Entry],
    locations: &[Primary<'_>],
    problems: &mut Vec<Problem>,
) -> Vec<(BackendId, Candidate)> {
    let mut pairs = Vec::new();
    let mut by_path: BTreeMap<(&str, bool), Vec<Primary<'_>>> = BTreeMap::new();
    for location in locations.iter().filter(|_| !canaries.is_empty()) {
        by_path.entry((location.path, location.exact)).or_default().push(*location);
    }
    let offers = canaries.iter().flat_map(|canary| offers(host, canary).into_iter().map(|offer| (protects(canary), offer)));
    for (guarded, (path, candidate)) in offers {
        let partners = path.map_or(locations, |path| by_path.get(&path).map_or(&[], Vec::as_slice));
        let partners: Vec<&BackendId> = partners.iter().map(|location| location.backend).collect();
        let others: Vec<&BackendId> = partners.iter().copied().filter(|backend| **backend != candidate.backend).collect();
        if others.is_empty() {
            let open = locations.iter().find(|location| *location.backend == candidate.backend).filter(|_| guarded);
            problems.push(candidate.surprise(alone(host, path.map(|(path, _)| path), !partners.is_empty(), open)));
        }
        pairs.extend(others.into_iter().map(|backend| (backend.clone(), candidate.clone())));
    }
    pairs
}

/// Whether an Ingress says who may pass.
fn protects(entry: &Entry) -> bool {
    let spec = &entry.spec;
    let listed = spec.access.allowlist_source_range.is_some() || spec.access.denylist_source_range.is_some();
    listed || spec.basic_auth.auth_type.is_some() || spec.external_auth.auth_url.is_some() || spec.client_tls.auth_tls_secret.is_some()
}

/// Why an offer adds to nothing. `open`: a location that has its backend, where the canary means to protect it.
fn alone(host: &str, path: Option<&str>, is_itself: bool, open: Option<&Primary<'_>>) -> String {
    let what = path.map_or_else(|| format!("host {host:?}"), |path| format!("path {path:?} of host {host:?}"));
    let why = if is_itself {
        format!("{what} has this backend already, so it is no alternative; it is ignored")
    } else {
        format!("no other Ingress has a Service for {what} with this path type, so there is nothing to add to; it gets no request")
    };
    match open {
        Some(open) => format!("{why}; the rule for {:?} serves the same Service without what protects it here", open.path),
        None => why,
    }
}

/// What a canary offers to a host, each with its path and whether it is exact; no path: for every location of the host.
fn offers<'a>(host: &Arc<str>, canary: &'a Entry) -> Vec<(Option<(&'a str, bool)>, Candidate)> {
    let candidate = |at, backend: &BackendId| Candidate { order: canary.order.clone(), at, host: host.clone(), backend: backend.clone() };
    let of_rules = canary.rules.iter().filter(|rule| rule.host == *host).flat_map(|rule| &rule.paths);
    let mut offers: Vec<_> = of_rules.map(|path| (Some((&*path.path, path.exact)), candidate(Some(path.at), &path.backend))).collect();
    if **host == *CATCH_ALL {
        offers.extend(canary.default_backend.iter().map(|backend| (None, candidate(None, backend))));
    }
    offers
}

/// What to say about those that are not used because an older one is.
pub(crate) fn ignored<'a>(primary: &BackendId, used: &Candidate, others: impl Iterator<Item = &'a Candidate>) -> Vec<Problem> {
    let different = others.filter(|other| other.order != used.order || other.backend != used.backend);
    let why = |other: &Candidate| {
        let first = if used.order == other.order { format!("Ingress {}", used.order.key()) } else { used.order.before(&other.order) };
        format!("{primary} has a canary already: {} of {first}; only that one is used, this one gets no request", used.backend)
    };
    different.map(|other| other.surprise(why(other))).collect()
}
