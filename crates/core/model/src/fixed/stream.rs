//! TCP and UDP services: ports of the stream block.

use std::fmt;
use std::sync::Arc;

use crate::key::{BackendId, ObjectKey};
use crate::object::Protocol;
use crate::options::PemPair;

/// A port that clients connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamPort {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Its number, from 1.
    pub number: u16,
}

impl StreamPort {
    /// The key of its endpoints: `tcp-8080`, or `tls-8080` where TLS is decrypted. A server of the stream block reads those of its own kind only, so that
    /// until a reload has made it one that decrypts no connection reaches an endpoint.
    pub fn endpoints_key(self, decrypts: bool) -> Arc<str> {
        if decrypts { format!("tls-{}", self.number).into() } else { self.to_string().into() }
    }
}

impl fmt::Display for StreamPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.protocol.label(), self.number)
    }
}

/// What is behind such a port: an entry of the ConfigMap of TCP or UDP services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamService {
    /// The Service and its port, as written.
    pub backend: BackendId,
    /// Clients speak the PROXY protocol, version 1 or 2. TCP only.
    pub accepts_proxy: bool,
    /// Endpoints get the PROXY protocol, version 1. TCP only.
    pub sends_proxy: bool,
    /// What TLS is decrypted with; `None`: connections go on as they are. TCP only.
    pub certificate: Option<Arc<StreamCertificate>>,
}

/// A key pair that connections to a TCP service are decrypted with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamCertificate {
    /// Content address.
    pub id: Arc<str>,
    /// The Secret that it is from.
    pub secret: ObjectKey,
    /// Certificates and key.
    pub pair: PemPair,
}

impl StreamService {
    /// The name in logs (`$proxy_upstream_name`): `tcp-namespace-service-port`. For people only; it is ambiguous.
    pub fn log_name(&self, protocol: Protocol) -> String {
        format!("{}-{}", protocol.label(), self.backend.log_name())
    }
}
