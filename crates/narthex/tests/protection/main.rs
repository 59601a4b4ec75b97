//! `narthex run` with a real NGINX, and clients without credentials while everything changes: none of their requests reaches a backend that is
//! protected.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod backend;
mod bed;
mod guard;
mod sequences;
