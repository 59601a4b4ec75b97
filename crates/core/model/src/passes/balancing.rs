//! How a backend chooses: hashing and cookie affinity out of the policies of those who use it, the alternative out of a choice of its rules.

use settings::groups::{Affinity, AffinityMode, SameSite};

use crate::live::{Alternative, HashRule, Stickiness};
use crate::rule::{Choice, Condition, HeaderMeaning, Policy};

/// `upstream-hash-by` and what goes with it.
pub(crate) fn hash(policy: &Policy) -> Option<HashRule> {
    let hashing = &policy.spec.hashing;
    Some(HashRule {
        upstream_hash_by: hashing.upstream_hash_by.as_ref()?.as_str().into(),
        upstream_hash_by_subset_size: hashing.subset_size(),
    })
}

/// The affinity of a backend: the mode is that of the oldest object with affinity, the cookie that of the youngest.
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

/// The record of a choice. `sticky`: the backend that it is added to has affinity.
pub(crate) fn alternative(choice: &Choice, sticky: bool) -> Alternative {
    let Condition { weight, total, header, cookie, keeps_affinity } = &*choice.condition;
    let mut alternative = Alternative {
        backend: choice.backend.wire().into(),
        sticky: sticky && *keeps_affinity,
        canary_weight: *weight,
        canary_weight_total: *total,
        canary_by_header: header.as_ref().map(|header| header.name.clone()),
        canary_by_header_value: None,
        canary_by_header_pattern: None,
        header_means_primary: false,
        canary_by_cookie: cookie.clone(),
    };
    match header.as_ref().map(|header| &header.meaning) {
        None | Some(HeaderMeaning::Words) => {}
        Some(HeaderMeaning::Value(value)) => alternative.canary_by_header_value = Some(value.clone()),
        Some(HeaderMeaning::Pattern(pattern)) => alternative.canary_by_header_pattern = Some(pattern.clone()),
        Some(HeaderMeaning::Primary) => alternative.header_means_primary = true,
    }
    alternative
}

#[cfg(test)]
mod tests;
