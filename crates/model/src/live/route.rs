//! One location of a host, as Lua reads it.

mod access;
mod auth;
mod cors;
mod errors;
mod limits;
mod proxying;
mod redirect;
mod tracing;

use std::sync::Arc;

use serde::Serialize;

use crate::profile::ProfileId;

pub use access::AddressLists;
pub use auth::{AuthCache, ExternalCheck, PasswordCheck};
pub use cors::Cors;
pub use errors::Errors;
pub use limits::Limits;
pub use proxying::{Mirror, Replacements};
pub use redirect::Redirects;
pub use tracing::Tracing;

/// A header: name and value, which is literal.
pub type Header = (Arc<str>, Arc<str>);

/// One location. Fields at their default are left out on the wire; `docs/live-protocol.md` lists the short names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Namespace of the Ingress (`$namespace`).
    #[serde(rename = "ns", skip_serializing_if = "str::is_empty")]
    pub namespace: Arc<str>,
    /// Name of the Ingress (`$ingress_name`).
    #[serde(rename = "ing", skip_serializing_if = "str::is_empty")]
    pub ingress: Arc<str>,
    /// Name of the Service (`$service_name`).
    #[serde(rename = "svc", skip_serializing_if = "str::is_empty")]
    pub service: Arc<str>,
    /// Port as the rule names it (`$service_port`).
    #[serde(rename = "port", skip_serializing_if = "str::is_empty")]
    pub port: Arc<str>,
    /// Path of the rule (`$location_path`).
    pub path: Arc<str>,
    /// Wire key of the backend; empty = the default backend.
    #[serde(rename = "be", skip_serializing_if = "str::is_empty")]
    pub backend: Arc<str>,
    /// Named location; `base` is left out.
    #[serde(rename = "prof", skip_serializing_if = "is_base")]
    pub profile: ProfileId,
    /// `rewrite-target`: the path as an unanchored case-insensitive regex, and the replacement with `$1`...
    #[serde(rename = "rw", skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<(Arc<str>, Arc<str>)>,
    /// `x-forwarded-prefix`: that header to the backend, with captures of the rewrite. Only with a rewrite.
    #[serde(rename = "xfp", skip_serializing_if = "Option::is_none")]
    pub forwarded_prefix: Option<Arc<str>>,
    /// What it says about redirects.
    #[serde(rename = "red", skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Arc<Redirects>>,
    /// CORS.
    #[serde(rename = "cors", skip_serializing_if = "Option::is_none")]
    pub cors: Option<Arc<Cors>>,
    /// `custom-headers`: headers of every answer, in order of their names. They replace the backend's.
    #[serde(rename = "hdr", skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// `ssl-redirect` where it differs from the global setting.
    #[serde(rename = "ssl", skip_serializing_if = "Option::is_none")]
    pub ssl_redirect: Option<bool>,
    /// `force-ssl-redirect` where it differs from the global setting.
    #[serde(rename = "fssl", skip_serializing_if = "Option::is_none")]
    pub force_ssl_redirect: Option<bool>,
    /// `preserve-trailing-slash` where it differs from the global setting.
    #[serde(rename = "keep", skip_serializing_if = "Option::is_none")]
    pub preserve_trailing_slash: Option<bool>,
    /// Body limit in bytes where it differs from the global setting; 0 = unlimited.
    #[serde(rename = "body", skip_serializing_if = "Option::is_none")]
    pub body_limit_bytes: Option<u64>,
    /// Connect, send and read timeout in seconds where one differs from the global settings (then all three).
    #[serde(rename = "to", skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<[u32; 3]>,
    /// `proxy-next-upstream-tries` where it differs from the global setting; 0 = no limit.
    #[serde(rename = "tries", skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    /// `connection-proxy-header`: the header `Connection` to the endpoint.
    #[serde(rename = "conn", skip_serializing_if = "Option::is_none")]
    pub connection: Option<annotations::groups::ConnectionHeader>,
    /// Plain text that takes the place of other text in headers of the answer.
    #[serde(rename = "repl", skip_serializing_if = "Option::is_none")]
    pub replacements: Option<Arc<Replacements>>,
    /// `mirror-target`: where a copy of the request goes.
    #[serde(rename = "mir", skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Arc<Mirror>>,
    /// `upstream-vhost`: the Host header; `$name` and `${name}` are variables.
    #[serde(rename = "vhost", skip_serializing_if = "Option::is_none")]
    pub upstream_vhost: Option<Arc<str>>,
    /// Errors that another backend answers.
    #[serde(rename = "errs", skip_serializing_if = "Option::is_none")]
    pub errors: Option<Arc<Errors>>,
    /// Limits of requests and connections.
    #[serde(rename = "lim", skip_serializing_if = "Option::is_none")]
    pub limits: Option<Arc<Limits>>,
    /// KiB of an answer in a second (0 = unlimited), and KiB before that begins, where one differs from the global settings (then both).
    #[serde(rename = "rate", skip_serializing_if = "Option::is_none")]
    pub bandwidth_kib: Option<[u32; 2]>,
    /// No access log for this route.
    #[serde(rename = "nolog", skip_serializing_if = "std::ops::Not::not")]
    pub no_access_log: bool,
    /// Its Ingress has cookie affinity, so a client that comes to a new endpoint gets a cookie.
    #[serde(rename = "stick", skip_serializing_if = "std::ops::Not::not")]
    pub issues_cookie: bool,
    /// Traces, where they are not what the settings say.
    #[serde(rename = "trace", skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Arc<Tracing>>,
    /// What rewriting does is logged.
    #[serde(rename = "rlog", skip_serializing_if = "std::ops::Not::not")]
    pub rewrite_log: bool,
    /// Answer 503: a protecting setting of the Ingress is unusable.
    #[serde(rename = "deny", skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Answer 403: the whole host must stay closed.
    #[serde(rename = "forbid", skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
    /// The server block that asks for the host's client certificates must be the one that serves, by its content address: in any other the answer is 503.
    #[serde(rename = "certs", skip_serializing_if = "Option::is_none")]
    pub verified: Option<Arc<str>>,
    /// A regular expression that must be found in the subject of the client's certificate (`auth-tls-match-cn`); others get 403.
    #[serde(rename = "cn", skip_serializing_if = "Option::is_none")]
    pub subject: Option<Arc<str>>,
    /// Backends get the client's certificate (`auth-tls-pass-certificate-to-upstream`).
    #[serde(rename = "cert", skip_serializing_if = "std::ops::Not::not")]
    pub passes_certificate: bool,
    /// What a FastCGI server is asked for where the path ends with a slash (`fastcgi-index`).
    #[serde(rename = "fidx", skip_serializing_if = "Option::is_none")]
    pub fastcgi_index: Option<Arc<str>>,
    /// Lists of addresses where they differ from the global ones.
    #[serde(rename = "acl", skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Arc<AddressLists>>,
    /// One consent of addresses, password and external authentication is enough (`satisfy: any`).
    #[serde(rename = "any", skip_serializing_if = "std::ops::Not::not")]
    pub satisfy_any: bool,
    /// A password is asked for.
    #[serde(rename = "pw", skip_serializing_if = "Option::is_none")]
    pub password: Option<Arc<PasswordCheck>>,
    /// Another service is asked; its profile has the text that asks.
    #[serde(rename = "auth", skip_serializing_if = "Option::is_none")]
    pub external_auth: Option<Arc<ExternalCheck>>,
}

pub(crate) fn is_base(id: &ProfileId) -> bool {
    id.is_default()
}

impl Default for ProfileId {
    fn default() -> Self {
        Self("base".into())
    }
}
