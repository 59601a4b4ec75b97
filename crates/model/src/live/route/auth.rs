//! Authentication, as Lua reads it.

use std::sync::Arc;

use serde::Serialize;

/// A password is asked for (`pw`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PasswordCheck {
    /// Key in the table of users.
    pub users: Arc<str>,
    /// What the browser shows; may be empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub realm: Arc<str>,
    /// RFC 7616 with MD5 instead of RFC 7617.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub digest: bool,
}

/// Another service is asked about each request (`auth`). In all texts `$name` and `${name}` are variables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExternalCheck {
    /// Where it is.
    pub url: Arc<str>,
    /// The upstream block that keeps connections to it.
    #[serde(rename = "up", skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Arc<str>>,
    /// The administrator names it, so it may be on this machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// Host of the URL without the port.
    pub host: Arc<str>,
    /// Method of the request; the service is also told the original URI and scheme then. `None`: GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Arc<str>>,
    /// Where clients are sent instead of a 401.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signin: Option<Arc<str>>,
    /// The parameter there that gets the original URL; `None`: the URL is used as it is.
    #[serde(rename = "param", skip_serializing_if = "Option::is_none")]
    pub signin_parameter: Option<Arc<str>>,
    /// Headers of the answer that replace those of the request to the backend, in lower case.
    #[serde(rename = "headers", skip_serializing_if = "Vec::is_empty")]
    pub response_headers: Vec<Arc<str>>,
    /// `X-Auth-Request-Redirect`; `None`: the request's URI.
    #[serde(rename = "redirect", skip_serializing_if = "Option::is_none")]
    pub request_redirect: Option<Arc<str>>,
    /// Cookies of the answer go to the client whatever the status.
    #[serde(rename = "cookies", skip_serializing_if = "std::ops::Not::not")]
    pub always_set_cookie: bool,
    /// Answers are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<AuthCache>,
    /// What the variable `auth_keepalive_share_vars` tells snippets, where connections are kept. The request to the service always
    /// shares variables.
    #[serde(rename = "share", skip_serializing_if = "Option::is_none")]
    pub shares_variables: Option<bool>,
}

/// How answers of an authentication service are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AuthCache {
    /// What tells requests apart, besides host and location.
    pub key: Arc<str>,
    /// Seconds, then the statuses that are kept so long (none: any). The first that fits decides. Empty: only what the answer allows itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Vec<u32>>,
}
