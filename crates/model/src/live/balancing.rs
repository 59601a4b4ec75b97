//! How a backend chooses, as Lua reads it: hashing, cookie affinity, and the alternative that a canary is.

use std::sync::Arc;

use serde::Serialize;

/// Consistent hashing (`upstream-hash-by`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HashRule {
    /// Text with `$name`, `${name}` and captures; what does not exist is empty.
    pub by: Arc<str>,
    /// Number of endpoints in a subset, at least 1; none: there are no subsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subset: Option<u32>,
}

/// Cookie affinity. Fields at their default are left out on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stickiness {
    /// Name of the cookie.
    pub name: Arc<str>,
    /// Clients never move while their endpoint exists.
    #[serde(rename = "persist", skip_serializing_if = "std::ops::Not::not")]
    pub persistent: bool,
    /// A failed try leads to another endpoint and another cookie.
    #[serde(rename = "move", skip_serializing_if = "std::ops::Not::not")]
    pub moves_on_failure: bool,
    /// `Expires`: seconds after now, may be negative.
    #[serde(rename = "expires", skip_serializing_if = "Option::is_none")]
    pub expires_seconds: Option<i32>,
    /// `Max-Age` in seconds, may be negative.
    #[serde(rename = "age", skip_serializing_if = "Option::is_none")]
    pub max_age_seconds: Option<i32>,
    /// `Domain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<Arc<str>>,
    /// `Path`; none: the path of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Arc<str>>,
    /// `Secure` also without TLS.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secure: bool,
    /// `SameSite`.
    #[serde(rename = "site", skip_serializing_if = "Option::is_none")]
    pub same_site: Option<&'static str>,
    /// `SameSite=None` is left out for browsers that misunderstand it.
    #[serde(rename = "cond", skip_serializing_if = "std::ops::Not::not")]
    pub conditional_same_site_none: bool,
}

/// The backend that takes some of another one's requests: the canary. Fields at their default are left out on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// Wire key of the backend.
    #[serde(rename = "be")]
    pub backend: Arc<str>,
    /// The affinity of the primary holds for it, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sticky: bool,
    /// How many of `total` requests it gets, by chance.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight: u32,
    /// At least 100; 100 is left out.
    #[serde(skip_serializing_if = "is_hundred")]
    pub total: u32,
    /// Name of the header that decides first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Arc<str>>,
    /// The header's value that means the canary, instead of `always` and `never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Arc<str>>,
    /// A regular expression, found in values that mean the canary, instead of `always` and `never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Arc<str>>,
    /// Any value of the header means the primary.
    #[serde(rename = "primary", skip_serializing_if = "std::ops::Not::not")]
    pub header_means_primary: bool,
    /// Name of the cookie that decides next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie: Option<Arc<str>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_hundred(number: &u32) -> bool {
    *number == 100
}
