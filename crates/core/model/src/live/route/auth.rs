//! Authentication, as Lua reads it.

use std::sync::Arc;

use super::super::wire::record;

record! {
    /// A password that is asked for. Which counts of digest nonces were taken is in the shared dictionary `auth_nonces`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PasswordCheck {
        /// Key in the table of users.
        pub users: Arc<str> = required,
        /// What the browser shows.
        pub auth_realm: Arc<str>,
        /// RFC 7616 with MD5 instead of RFC 7617 (`auth-type: digest`).
        pub digest: bool,
    }
}

record! {
    /// Another service that is asked about each request. In all texts `$name` and `${name}` are variables.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ExternalCheck {
        /// Where it is.
        pub auth_url: Arc<str> = required,
        /// The upstream block that keeps connections to it.
        pub upstream: Option<Arc<str>>,
        /// The administrator names it, so it may be on this machine.
        pub trusted: bool,
        /// Host of the URL without the port.
        pub host: Arc<str> = required,
        /// Method of the request; the service also gets the original URI and scheme then. Absent: GET.
        pub auth_method: Option<Arc<str>>,
        /// Where clients are sent instead of a 401.
        pub auth_signin: Option<Arc<str>>,
        /// The parameter there that gets the original URL. Absent: the URL is used as it is.
        pub auth_signin_redirect_param: Option<Arc<str>>,
        /// Headers of the answer that replace those of the request to the backend, in lower case.
        pub auth_response_headers: Vec<Arc<str>>,
        /// `X-Auth-Request-Redirect`. Absent: the request's URI.
        pub auth_request_redirect: Option<Arc<str>>,
        /// Cookies of the answer go to the client whatever the status.
        pub auth_always_set_cookie: bool,
        /// Answers are kept.
        pub cache: Option<AuthCache>,
        /// The variable `auth_keepalive_share_vars`, which snippets read, where connections are kept. The request to the service always shares
        /// variables.
        pub auth_keepalive_share_vars: Option<bool>,
    }
}

record! {
    /// How answers of an authentication service are kept.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AuthCache {
        /// What tells requests apart, besides host and location.
        pub auth_cache_key: Arc<str> = required,
        /// Seconds, then the statuses that are kept so long (none: any). The first that fits decides. Empty: only what the answer allows itself.
        pub auth_cache_duration: Vec<Vec<u32>>,
    }
}
