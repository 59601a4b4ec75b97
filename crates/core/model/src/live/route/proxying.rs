//! What Lua needs of proxying besides timeouts.

use std::sync::Arc;

use super::super::wire::record;

record! {
    /// Plain text that takes the place of other text in headers of the answer: what is replaced, and by what; of an empty one nothing is replaced. At
    /// least one is set.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Replacements {
        /// `Domain` of cookies (`$narthex_domain_from`, `_to`).
        pub proxy_cookie_domain: Option<[String; 2]>,
        /// `Path` of cookies (`$narthex_path_from`, `_to`).
        pub proxy_cookie_path: Option<[String; 2]>,
        /// `Location` and `Refresh` (`$narthex_location_from`, `_to`): `proxy-redirect-from` and `proxy-redirect-to`.
        pub proxy_redirect: Option<[String; 2]>,
    }
}

record! {
    /// Where a copy of each request goes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Mirror {
        /// URL with a path; `$name` and `${name}` are variables (`$narthex_mirror_target`).
        pub mirror_target: Arc<str> = required,
        /// The Host header; may have variables (`$narthex_mirror_host`).
        pub mirror_host: Arc<str> = required,
    }
}
