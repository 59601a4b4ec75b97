//! CORS of a location.

use std::sync::Arc;

use super::super::wire::record;
use super::Header;

record! {
    /// Origins whose pages may read the answers, and what they get.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Cors {
        /// Origins in lower case, `https://example.com` or `https://*.example.com`, where the star is one label, in order. Absent: any. Empty: none.
        pub cors_allow_origin: Option<Vec<Arc<str>>>,
        /// Names and values of headers of an answer besides `Access-Control-Allow-Origin`.
        pub headers: Vec<Header> = required,
    }
}
