//! Fair shares of NGINX's memory and text, from snapshots to records.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod chains;
mod endpoints;
mod routes;
mod secrets;
mod world;
