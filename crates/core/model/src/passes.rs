//! The passes of the build, one concept each. All are total: whatever is wrong becomes a `Problem` with a defined fallback.

pub(crate) mod accept;
pub(crate) mod backend;
pub(crate) mod balancing;
pub(crate) mod canary;
pub(crate) mod certificate;
pub(crate) mod endpoints;
pub(crate) mod globals;
pub(crate) mod host;
pub(crate) mod ingress;
pub(crate) mod inspect;
pub(crate) mod paths;
pub(crate) mod resolve;
pub(crate) mod route;
pub(crate) mod variables;
pub(crate) mod weigh;
