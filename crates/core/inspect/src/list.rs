//! A part of a list.

use serde::{Deserialize, Serialize};

/// The items of a list that match, from an offset on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct List<T> {
    /// Number of items that match.
    pub total: usize,
    /// Number of the first of them, from 0.
    pub offset: usize,
    /// A part of them.
    pub items: Vec<T>,
}

/// The body of an answer whose status is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// One sentence, for the operator.
    pub error: String,
}
