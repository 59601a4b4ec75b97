//! How a backend chooses: hashing and cookie affinity out of the annotations of those who use it, the alternative out of a canary's.

use std::sync::Arc;

use annotations::groups::{Affinity, AffinityMode, Canary, CanaryBehavior, HeaderRule, SameSite};

use super::canary::Candidate;
use super::ingress::Entry;
use crate::live::{Alternative, HashRule, Stickiness};

/// `upstream-hash-by` and what goes with it.
pub(crate) fn hash(user: &Entry) -> Option<HashRule> {
    let hashing = &user.spec.hashing;
    Some(HashRule { by: hashing.by.as_ref()?.as_str().into(), subset: hashing.subset_size() })
}

/// The affinity of a backend: the mode is that of the oldest Ingress with affinity, the cookie that of the youngest.
pub(crate) fn stickiness(oldest: &Affinity, youngest: &Affinity) -> Option<Stickiness> {
    let mode = oldest.cookie.as_ref()?.mode;
    let cookie = youngest.cookie.as_ref()?;
    Some(Stickiness {
        name: cookie.name.as_str().into(),
        persistent: mode == AffinityMode::Persistent,
        moves_on_failure: cookie.change_on_failure,
        expires_seconds: cookie.expires_seconds,
        max_age_seconds: cookie.max_age_seconds,
        domain: cookie.domain.as_ref().map(|domain| domain.as_str().into()),
        path: cookie.path.as_ref().map(|path| path.as_str().into()),
        secure: cookie.secure,
        same_site: cookie.same_site.map(SameSite::as_str),
        conditional_same_site_none: cookie.conditional_same_site_none,
    })
}

/// The alternative that a canary's rule makes. `sticky`: the backend that it is added to has affinity.
pub(crate) fn alternative(canary: &Entry, candidate: &Candidate, sticky: bool) -> Alternative {
    let Canary { enabled: _, weight, weight_total: _, header, cookie } = &canary.spec.canary;
    let mut alternative = Alternative {
        backend: candidate.backend.wire().into(),
        sticky: sticky && canary.spec.affinity.canary_behavior == CanaryBehavior::Sticky,
        weight: *weight,
        total: canary.spec.canary.total(),
        header: header.as_ref().map(|header| Arc::from(header.name.as_str())),
        value: None,
        pattern: None,
        header_means_primary: false,
        cookie: cookie.as_ref().map(|cookie| cookie.as_str().into()),
    };
    match header.as_ref().map(|header| &header.rule) {
        None | Some(HeaderRule::Words) => {}
        Some(HeaderRule::Value(value)) => alternative.value = Some(value.as_str().into()),
        Some(HeaderRule::Pattern(pattern)) => alternative.pattern = Some(pattern.as_str().into()),
        Some(HeaderRule::Primary) => alternative.header_means_primary = true,
    }
    alternative
}

#[cfg(test)]
mod tests;
