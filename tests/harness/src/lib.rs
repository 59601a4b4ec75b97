//! Properties of any input, as functions that panic where one is violated: for the fuzzer (`fuzz/`), and for `cargo test` on random input.
//!
//! Input is what tenants and clients choose: values, snippets, whole manifests, lines of access logs.

mod pipeline;
mod text;
mod values;

pub use pipeline::{annotations, logs, manifests};
pub use text::{lexer, snippets};
pub use values::values;

/// A property of any input.
pub type Target = fn(&[u8]);

/// All of them, by the names of the fuzz targets.
pub const TARGETS: &[(&str, Target)] =
    &[("values", values), ("lexer", lexer), ("snippets", snippets), ("annotations", annotations), ("manifests", manifests), ("logs", logs)];

/// The input as text. Every text can come from some bytes.
fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}
