//! `narthex watch` and `narthex quit` against a real NGINX.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bed;
mod before;
mod child;
mod http;
mod load;
mod pid;
mod pod;
mod quit;
mod reads;
mod staging;
mod start;
mod watch;
