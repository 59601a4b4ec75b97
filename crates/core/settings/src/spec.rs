//! The typed annotations of one Ingress.

use crate::groups::{
    Access, Affinity, BackendTls, BasicAuth, Canary, ClientTls, Cors, Errors, ExternalAuth, Fastcgi, Firewall, Hashing, Headers, Https,
    Limits, Mirror, Names, Observability, Path, Protocol, Proxy, Redirect, Snippets, Upstream,
};

/// What the annotations of one Ingress ask for, by group. `None`: not set, so the setting of the same name in [`crate::Config`] holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// Access control.
    pub access: Access,
    /// Cookie affinity.
    pub affinity: Affinity,
    /// TLS to the backend.
    pub backend_tls: BackendTls,
    /// Basic and digest authentication.
    pub basic_auth: BasicAuth,
    /// Canary.
    pub canary: Canary,
    /// TLS towards clients and client certificates.
    pub client_tls: ClientTls,
    /// CORS.
    pub cors: Cors,
    /// Errors and the default backend.
    pub errors: Errors,
    /// External authentication.
    pub external_auth: ExternalAuth,
    /// FastCGI.
    pub fastcgi: Fastcgi,
    /// Firewall.
    pub firewall: Firewall,
    /// Consistent hashing.
    pub hashing: Hashing,
    /// Headers of the answer.
    pub headers: Headers,
    /// HTTPS.
    pub https: Https,
    /// Limits.
    pub limits: Limits,
    /// Mirroring.
    pub mirror: Mirror,
    /// Names of a host.
    pub names: Names,
    /// Logs and traces.
    pub observability: Observability,
    /// Paths and rewriting.
    pub path: Path,
    /// Protocol to the backend.
    pub protocol: Protocol,
    /// Proxying.
    pub proxy: Proxy,
    /// Redirects.
    pub redirect: Redirect,
    /// Snippets.
    pub snippets: Snippets,
    /// Choice of the endpoint.
    pub upstream: Upstream,
}
