//! The one error of all value types.

use std::borrow::Cow;

/// The reason why a text is not a value of the wanted type: what was expected. The caller adds the text, where it stood and what happens instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct Invalid {
    /// A noun phrase: `a size such as 8k or 1m`.
    pub expected: Cow<'static, str>,
}

impl Invalid {
    /// An error with a fixed text.
    pub const fn new(expected: &'static str) -> Self {
        Self { expected: Cow::Borrowed(expected) }
    }

    /// An error with a text made for the occasion.
    pub const fn because(expected: String) -> Self {
        Self { expected: Cow::Owned(expected) }
    }
}
