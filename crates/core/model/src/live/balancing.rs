//! How a backend chooses, as Lua reads it: hashing, cookie affinity, and the alternative that a canary is.

use std::sync::Arc;

use super::wire::record;

record! {
    /// Consistent hashing.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HashRule {
        /// Text with `$name`, `${name}` and captures of the path; what does not exist is empty.
        pub upstream_hash_by: Arc<str> = required,
        /// Number of endpoints in a subset, at least 1. Absent: there are no subsets.
        pub upstream_hash_by_subset_size: Option<u32>,
    }
}

record! {
    /// Cookie affinity.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Stickiness {
        /// Name of the cookie.
        pub session_cookie_name: Arc<str> = required,
        /// Clients never move while their endpoint exists (`affinity-mode: persistent`).
        pub persistent: bool,
        /// A failed try leads to another endpoint and another cookie.
        pub session_cookie_change_on_failure: bool,
        /// `Expires`: seconds after now, may be negative.
        pub session_cookie_expires: Option<i32>,
        /// `Max-Age` in seconds, may be negative.
        pub session_cookie_max_age: Option<i32>,
        /// `Domain`.
        pub session_cookie_domain: Option<Arc<str>>,
        /// `Path`. Absent: the path of the rule.
        pub session_cookie_path: Option<Arc<str>>,
        /// `Secure` also without TLS.
        pub session_cookie_secure: bool,
        /// `SameSite`.
        pub session_cookie_samesite: Option<&'static str>,
        /// `SameSite=None` is left out for browsers that misunderstand it.
        pub session_cookie_conditional_samesite_none: bool,
    }
}

record! {
    /// The backend that takes some of another one's requests: the canary.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Alternative {
        /// Key in the table of backends.
        pub backend: Arc<str> = required,
        /// The affinity of the primary counts for it, too.
        pub sticky: bool,
        /// How many of `canary_weight_total` requests it gets, at random.
        pub canary_weight: u32,
        /// At least 100.
        pub canary_weight_total: u32 = 100,
        /// Name of the header that decides first.
        pub canary_by_header: Option<Arc<str>>,
        /// The header's value that means the canary, instead of `always` and `never`.
        pub canary_by_header_value: Option<Arc<str>>,
        /// A regular expression, found in values that mean the canary, instead of `always` and `never`.
        pub canary_by_header_pattern: Option<Arc<str>>,
        /// Any value of the header means the primary.
        pub header_means_primary: bool,
        /// Name of the cookie that decides next.
        pub canary_by_cookie: Option<Arc<str>>,
    }
}
