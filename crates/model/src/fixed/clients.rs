//! Client certificates: what a host asks of clients.

use std::fmt;
use std::sync::Arc;

use annotations::VerifyClient;
use sha2::{Digest, Sha256};

/// What a host asks of clients: directives of its server block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientVerification {
    /// Whose certificates count.
    pub trusted: Arc<TrustedClients>,
    /// `ssl_verify_client`.
    pub verify: VerifyClient,
    /// `ssl_verify_depth`, at least 1.
    pub depth: u16,
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
        let id: String = digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { id: id.into(), ca, revoked }
    }
}

impl fmt::Debug for TrustedClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustedClients({})", self.id)
    }
}
