//! The typed annotations of one Ingress.

use crate::groups::{
    Access, Affinity, BackendTls, BasicAuth, Canary, ClientTls, Cors, Errors, ExternalAuth, Fastcgi, Firewall, Hashing, Headers, Https,
    Limits, Mirror, Names, Observability, Path, Protocol, Proxy, Redirect, Snippets, Upstream,
};
use crate::rare::Rare;

/// What the annotations of one Ingress ask for, by group. `None`: not set, so the setting of the same name in [`crate::Config`] holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// Access control.
    pub access: Access,
    /// Cookie affinity.
    pub affinity: Rare<Affinity>,
    /// TLS to the backend.
    pub backend_tls: Rare<BackendTls>,
    /// Basic and digest authentication.
    pub basic_auth: Rare<BasicAuth>,
    /// Canary.
    pub canary: Rare<Canary>,
    /// TLS towards clients and client certificates.
    pub client_tls: Rare<ClientTls>,
    /// CORS.
    pub cors: Cors,
    /// Errors and the default backend.
    pub errors: Rare<Errors>,
    /// External authentication.
    pub external_auth: Rare<ExternalAuth>,
    /// FastCGI.
    pub fastcgi: Rare<Fastcgi>,
    /// Firewall.
    pub firewall: Rare<Firewall>,
    /// Consistent hashing.
    pub hashing: Rare<Hashing>,
    /// Headers of the answer.
    pub headers: Rare<Headers>,
    /// HTTPS.
    pub https: Https,
    /// Limits.
    pub limits: Limits,
    /// Mirroring.
    pub mirror: Rare<Mirror>,
    /// Names of a host.
    pub names: Rare<Names>,
    /// Logs and traces.
    pub observability: Rare<Observability>,
    /// Paths and rewriting.
    pub path: Path,
    /// Protocol to the backend.
    pub protocol: Protocol,
    /// Proxying.
    pub proxy: Proxy,
    /// Redirects.
    pub redirect: Redirect,
    /// Snippets.
    pub snippets: Rare<Snippets>,
    /// Choice of the endpoint.
    pub upstream: Upstream,
}
