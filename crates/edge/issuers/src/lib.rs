//! What issuers of certificates offer by HTTP: OCSP responses, which are stapled, and certificates that a chain lacks. Fetched in the background, checked,
//! renewed, and handed to the builder as a part of the snapshots.
//!
//! No handshake waits for an issuer. An answer is used only if what it claims is signed by who must have signed it, and is valid now. It is asked for again
//! long before it ends; an issuer that is slow, is away or answers anything else changes nothing until then.
//!
//! URLs stand in certificates, which tenants write: `client.rs` says where requests do not go. A namespace has few requests under way at a time, and one
//! whose issuers fail is asked for ever more rarely.

pub mod chain;
mod client;
mod keeper;
pub mod ocsp;
mod queue;
