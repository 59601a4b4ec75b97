//! TCP and UDP services: ports of the stream block.

use std::fmt;

use crate::key::BackendId;
use crate::object::Protocol;

/// A port that clients connect to. Its text, `tcp-8080`, is the key of its endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamPort {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Its number, from 1.
    pub number: u16,
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
}

impl StreamService {
    /// The name in logs (`$proxy_upstream_name`): `tcp-namespace-service-port`. For people only; it is ambiguous.
    pub fn log_name(&self, protocol: Protocol) -> String {
        format!("{}-{}", protocol.label(), self.backend.log_name())
    }
}
