//! Commands that end, as people run them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod check;
mod conf;
mod explain;
mod narthex;
mod pages;
mod pipe;
mod plan;
mod settings;
