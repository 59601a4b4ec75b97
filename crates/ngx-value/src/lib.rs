//! Values that cannot hold a breakout, and the one place that escapes.
//!
//! Every type has `FromStr` with an error that says what was expected, and `Display` that parses back to the same value.
//! What an Ingress, a Secret or a ConfigMap says becomes one of these types or nothing.

mod size;
mod snippet;

pub use size::Size;
pub use snippet::Snippet;
