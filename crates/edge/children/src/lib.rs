//! Commands that this process starts: each with its process group, ended as a whole; signals to processes known by pid and start time.

mod group;
mod signal;
mod spawn;

pub use signal::send;
pub use spawn::{Busy, Children, Own, late};
