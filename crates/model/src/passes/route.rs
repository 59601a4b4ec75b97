//! What the annotations of an Ingress, over the global settings, make of one of its locations.
//!
//! A module per group of annotations. Each puts what Lua or a variable can do into the [`Route`], which is live, and what NGINX takes only
//! as text into the [`Profile`].

mod access;
mod auth;
mod cors;
mod errors;
mod firewall;
mod headers;
mod https;
mod limits;
mod path;
mod proxy;
mod redirect;
mod tracing;
mod transport;

use std::sync::Arc;

use annotations::Config;

use super::ingress::Entry;
use crate::key::BackendId;
use crate::live::Route;
use crate::profile::Profile;

/// One location of an Ingress.
pub(crate) struct Location<'a> {
    /// The Ingress that defined it.
    pub(crate) entry: &'a Entry,
    /// The global settings.
    pub(crate) config: &'a Config,
    /// The path as the rule has it.
    pub(crate) path: &'a Arc<str>,
    /// The Service port it leads to; none: the default backend.
    pub(crate) backend: Option<&'a BackendId>,
    /// The oldest Ingress of the host with CAs for its backends: it decides for locations that have none of their own.
    pub(crate) host_tls: Option<&'a Entry>,
    /// Redirects and rewrites apply: not on a catch-all made by `spec.defaultBackend`.
    pub(crate) redirects: bool,
    /// The rewrite target where it is in effect.
    pub(crate) rewrite: Option<String>,
}

/// Applies every group.
pub(crate) fn annotate(location: &Location<'_>, route: &mut Route, profile: &mut Profile) {
    let spec = &location.entry.spec;
    route.denied = location.entry.denied;
    route.no_access_log = spec.observability.enable_access_log == Some(false);
    route.issues_cookie = location.backend.is_some() && spec.affinity.cookie.is_some();
    route.upstream_vhost = spec.protocol.upstream_vhost.as_ref().map(|vhost| vhost.to_string().into());
    path::apply(location, route);
    redirect::apply(location, route);
    access::apply(location, route);
    auth::apply(location, route, profile);
    https::apply(location, route);
    cors::apply(location, route);
    headers::apply(location, route);
    proxy::apply(location, route, profile);
    transport::apply(location, route, profile);
    limits::apply(location, route);
    errors::apply(location, route, profile);
    firewall::apply(location, profile);
    tracing::apply(location, route);
    profile.snippet = spec.snippets.configuration.clone();
    route.rewrite_log = spec.observability.rewrite_log;
    // Lua logs what it rewrites itself.
    profile.watching.rewrite_log = route.rewrite_log && location.has_snippet();
}

impl Location<'_> {
    /// Whether it has directives of people, which know nothing of what Lua does.
    fn has_snippet(&self) -> bool {
        self.entry.spec.snippets.configuration.is_some() || self.config.snippets.location.is_some()
    }
}

/// What differs from the global setting; equal values share the default profile and record.
fn differing<T: PartialEq>(value: Option<T>, global: T) -> Option<T> {
    value.filter(|value| *value != global)
}
