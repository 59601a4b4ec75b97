//! How a backend chooses: hashing and cookie affinity out of the annotations of those who use it, the alternative out of a canary's.

use std::sync::Arc;

use settings::groups::{Affinity, AffinityMode, Canary, CanaryBehavior, HeaderRule, SameSite};

use super::canary::Candidate;
use super::ingress::Entry;
use crate::live::{Alternative, HashRule, Stickiness};

/// `upstream-hash-by` and what goes with it.
pub(crate) fn hash(user: &Entry) -> Option<HashRule> {
    let hashing = &user.spec.hashing;
    Some(HashRule {
        upstream_hash_by: hashing.upstream_hash_by.as_ref()?.as_str().into(),
        upstream_hash_by_subset_size: hashing.subset_size(),
    })
}

/// The affinity of a backend: the mode is that of the oldest Ingress with affinity, the cookie that of the youngest.
pub(crate) fn stickiness(oldest: &Affinity, youngest: &Affinity) -> Option<Stickiness> {
    let mode = oldest.cookie.as_ref()?.affinity_mode;
    let cookie = youngest.cookie.as_ref()?;
    Some(Stickiness {
        session_cookie_name: cookie.session_cookie_name.as_str().into(),
        persistent: mode == AffinityMode::Persistent,
        session_cookie_change_on_failure: cookie.session_cookie_change_on_failure,
        session_cookie_expires: cookie.session_cookie_expires,
        session_cookie_max_age: cookie.session_cookie_max_age,
        session_cookie_domain: cookie.session_cookie_domain.as_ref().map(|domain| domain.as_str().into()),
        session_cookie_path: cookie.session_cookie_path.as_ref().map(|path| path.as_str().into()),
        session_cookie_secure: cookie.session_cookie_secure,
        session_cookie_samesite: cookie.session_cookie_samesite.map(SameSite::as_str),
        session_cookie_conditional_samesite_none: cookie.session_cookie_conditional_samesite_none,
    })
}

/// The alternative that a canary's rule makes. `sticky`: the backend that it is added to has affinity.
pub(crate) fn alternative(canary: &Entry, candidate: &Candidate, sticky: bool) -> Alternative {
    let Canary { canary: _, canary_weight, canary_weight_total: _, canary_by_header, canary_by_cookie } = &canary.spec.canary;
    let mut alternative = Alternative {
        backend: candidate.backend.wire().into(),
        sticky: sticky && canary.spec.affinity.affinity_canary_behavior == CanaryBehavior::Sticky,
        canary_weight: *canary_weight,
        canary_weight_total: canary.spec.canary.total(),
        canary_by_header: canary_by_header.as_ref().map(|header| Arc::from(header.name.as_str())),
        canary_by_header_value: None,
        canary_by_header_pattern: None,
        header_means_primary: false,
        canary_by_cookie: canary_by_cookie.as_ref().map(|cookie| cookie.as_str().into()),
    };
    match canary_by_header.as_ref().map(|header| &header.rule) {
        None | Some(HeaderRule::Words) => {}
        Some(HeaderRule::Value(value)) => alternative.canary_by_header_value = Some(value.as_str().into()),
        Some(HeaderRule::Pattern(pattern)) => alternative.canary_by_header_pattern = Some(pattern.as_str().into()),
        Some(HeaderRule::Primary) => alternative.header_means_primary = true,
    }
    alternative
}

#[cfg(test)]
mod tests;
