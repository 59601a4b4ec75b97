//! Client certificates: what a host asks of clients.

use std::fmt;
use std::sync::Arc;

use settings::VerifyClient;
use sha2::{Digest, Sha256};

/// What a host asks of clients: directives of its server block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientVerification {
    /// Content address of host, CA and mode, 16 hexadecimal digits. The host's routes name it, so that what another server block verified is not taken
    /// for it.
    pub id: Arc<str>,
    /// Whose certificates count.
    pub trusted: Arc<TrustedClients>,
    /// `ssl_verify_client`.
    pub verify: VerifyClient,
    /// `ssl_verify_depth`, at least 1.
    pub depth: u16,
}

impl ClientVerification {
    pub(crate) fn new(host: &str, trusted: Arc<TrustedClients>, verify: VerifyClient, depth: u16) -> Self {
        let mut digest = Sha256::new();
        digest.update(host.len().to_le_bytes());
        digest.update(host);
        digest.update(trusted.id.as_bytes());
        digest.update([verify as u8]);
        digest.update(depth.to_le_bytes());
        let id = const_hex::encode(&digest.finalize()[..8]);
        Self { id: id.into(), trusted, verify, depth }
    }
}

/// A CA and what it revoked, as PEM text. Equal content, equal address.
#[derive(Clone, PartialEq, Eq)]
pub struct TrustedClients {
    /// Content address, 32 hexadecimal digits: a part of file names.
    pub id: Arc<str>,
    /// Certificates.
    pub ca: String,
    /// Lists of revoked certificates.
    pub revoked: Option<String>,
}

impl TrustedClients {
    pub(crate) fn new(ca: String, revoked: Option<String>) -> Self {
        let mut digest = Sha256::new();
        for text in [Some(&ca), revoked.as_ref()].into_iter().flatten() {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        }
        let id = const_hex::encode(&digest.finalize()[..16]);
        Self { id: id.into(), ca, revoked }
    }
}

impl fmt::Debug for TrustedClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustedClients({})", self.id)
    }
}
