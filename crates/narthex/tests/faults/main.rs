//! `narthex run` with a real NGINX while processes are killed, the disk is full and descriptors are gone.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bed;
mod random;
mod shares;
mod slow;
mod staged;
