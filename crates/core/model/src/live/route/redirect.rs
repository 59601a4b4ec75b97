//! Redirects of a location.

use std::sync::Arc;

use super::super::wire::record;

record! {
    /// What a location says about redirects.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Redirects {
        /// Answer every request with this status and URL: `permanent-redirect`, `temporal-redirect`. The URL may be relative.
        pub answer: Option<(u16, Arc<str>)>,
        /// Status of the redirect to HTTPS, where it differs from the global setting.
        pub http_redirect_code: Option<u16> = (https over https),
        /// Redirects to the same host name only the path, where the global setting says otherwise.
        pub relative_redirects: bool,
        /// Redirects carry the port, where that differs from the global setting.
        pub use_port_in_redirects: Option<bool> = (https over https),
    }
}
