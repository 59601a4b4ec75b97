//! A real NGINX: its life (start, reload, refusal, restart, adoption, end), and its control socket.

#![expect(clippy::unwrap_used, reason = "a test bed fails by panicking")]

mod bed;
mod lifecycle;
mod live;
