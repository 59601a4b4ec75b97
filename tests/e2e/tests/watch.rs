//! `narthex watch` against a real API server: Events on its Pod, and a Lease around the command before a reload.

mod watch {
    mod events;
    mod lease;
}
