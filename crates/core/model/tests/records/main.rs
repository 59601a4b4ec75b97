//! What annotations and settings come to: records, profiles, problems.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod access;
mod answers;
mod guarding;
mod last_versions;
mod live;
mod ownership;
mod proxying;
mod settings;
mod stream_certificates;
mod streams;
mod wire;
mod world;
