//! One location of a host, as Lua reads it.

mod access;
mod auth;
mod cors;
mod errors;
mod limits;
mod policy;
mod proxying;
mod redirect;
mod shared;
mod tracing;

use std::sync::Arc;

use super::wire::record;
use crate::profile::ProfileId;

pub use access::AddressLists;
pub use auth::{AuthCache, ExternalCheck, PasswordCheck};
pub use cors::Cors;
pub use errors::Errors;
pub use limits::Limits;
pub use policy::Policy;
pub use proxying::{Mirror, Replacements};
pub use redirect::Redirects;
pub(crate) use shared::Owned;
pub use tracing::Tracing;

/// A header: name and value, which is literal.
pub type Header = (Arc<str>, Arc<str>);

record! {
    /// One location.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Route {
        /// Namespace of the Ingress (`$namespace`).
        pub namespace: Arc<str> = internal,
        /// Name of the Ingress (`$ingress_name`).
        pub ingress: Arc<str> = internal,
        /// Path of the rule (`$location_path`).
        pub path: Arc<str> = required,
        /// Name of the Service (`$service_name`). Absent: the default backend.
        pub service: Arc<str>,
        /// Port as the rule names it (`$service_port`). The key of the backend is `<namespace>/<service>:<port>`.
        pub port: Arc<str>,
        /// Key of the backend; empty: the default backend.
        pub backend: Arc<str> = internal,
        /// The named location is `@` and this. Absent: `base`.
        pub profile: ProfileId,
        /// Replacement of the whole normalised URI, with captures (`$1`) of `path` as an unanchored, case-insensitive regular expression.
        pub rewrite_target: Option<Arc<str>>,
        /// The header `X-Forwarded-Prefix` to the backend, with captures of the rewrite; an empty one is none.
        pub x_forwarded_prefix: Option<Arc<str>>,
        /// What it has in common with the other routes of its Ingress; its fields can be read as if they were the route's own.
        pub policy: Arc<Policy> = internal,
    }
}

impl std::ops::Deref for Route {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.policy
    }
}

impl Default for ProfileId {
    fn default() -> Self {
        Self("base".into())
    }
}
