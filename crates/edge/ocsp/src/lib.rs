//! Stapled OCSP responses: fetched in the background, checked, and handed to the builder, which sends them to NGINX with the certificates.
//!
//! No handshake waits for a responder. A response is used only if it is signed by the certificate's issuer, or by one that the issuer has named for
//! it, is about this very certificate, is valid now, and says that the certificate is good. It is asked for again long before it ends; a responder
//! that is slow, is away or answers anything else changes nothing until then, and workers send no response that has ended.
//!
//! The URL of a responder stands in a certificate, which tenants write: `fetch.rs` says where requests do not go. A namespace has few requests
//! under way at a time, and one whose responder fails is asked ever more rarely.

mod fetch;
mod queue;
mod room;
mod status;
mod target;
mod task;

pub use task::run;
