//! Single cases on the wire: what clients, backends and logs see.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "wire/copies.rs"]
mod copies;
#[path = "wire/counted.rs"]
mod counted;
#[path = "wire/missing.rs"]
mod missing;
#[path = "wire/redirected.rs"]
mod redirected;
#[path = "wire/rewritten.rs"]
mod rewritten;
#[path = "wire/server_name.rs"]
mod server_name;
