//! The passes of the build, one concept each. All are total: whatever is wrong becomes a `Problem` with a defined fallback.

pub(crate) mod backend;
pub(crate) mod balancing;
pub(crate) mod certificate;
pub(crate) mod choice;
pub(crate) mod endpoints;
pub(crate) mod globals;
pub(crate) mod host;
pub(crate) mod paths;
pub(crate) mod route;
pub(crate) mod stream;
pub(crate) mod weigh;
