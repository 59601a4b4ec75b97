//! `narthex run --manifests` with real files and a real NGINX.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod asked;
mod bed;
mod container;
mod endurance;
mod fair;
mod follow;
mod kept;
mod life;
mod split;
mod tunnels;
