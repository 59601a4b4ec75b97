//! Text to values: a file is cut into documents ([`split`]), a document becomes a tree of values that know where they stand ([`node`]),
//! and such a tree becomes a Kubernetes type ([`decode`]).

pub(crate) mod decode;
pub(crate) mod json;
pub(crate) mod node;
mod scalar;
pub(crate) mod split;
mod yaml;
