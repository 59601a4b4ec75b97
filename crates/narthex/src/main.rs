//! The `narthex` command.
fn main() {}
