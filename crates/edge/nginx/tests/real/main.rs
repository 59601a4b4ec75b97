//! A real NGINX: its life (start, reload, refusal, restart, adoption, end), and its control socket; the life of one whose
//! processes are another's ([`nginx::DataPlaneServer`]).

#![expect(clippy::unwrap_used, reason = "a test bed fails by panicking")]
#![expect(clippy::duplicate_mod, reason = "what holds for an NGINX in this container does for one in another")]

mod bed;
mod data_plane;
mod live;

#[path = "."]
mod here {
    use crate::bed::Bed;
    #[path = "lifecycle.rs"]
    mod lifecycle;
}

/// The same by the socket of a data plane.
#[path = "."]
mod split {
    use crate::bed::SplitBed as Bed;
    #[path = "lifecycle.rs"]
    mod lifecycle;
}
