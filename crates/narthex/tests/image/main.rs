//! The image of `make image`, in containers as a kubelet makes them. `make image-test` runs these; no other target does.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod container;
mod content;
mod serving;
mod split;
