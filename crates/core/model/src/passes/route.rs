//! What the policy of a rule, over the global settings, makes of its location.
//!
//! What is one setting is declared by the field that it becomes: of the [`Policy`], which is live, where Lua or a variable can do it, of
//! [`Directives`] where NGINX takes it only as text. What depends on more has a module per group of annotations.

mod access;
mod auth;
mod cors;
mod errors;
mod firewall;
mod https;
mod limits;
mod proxy;
mod redirect;
mod tracing;
mod transport;

use settings::Config;

use crate::live::Policy;
use crate::live::wire::FromSettings;
use crate::profile::{Directives, Profile};
use crate::rule;

pub(crate) use transport::backend_tls;

/// Locations that have everything in common but path and Service.
pub(crate) struct Location<'a> {
    /// The policy of their rules.
    pub(crate) given: &'a rule::Policy,
    /// The global settings.
    pub(crate) config: &'a Config,
    /// They lead to a Service and not to the default backend.
    pub(crate) has_backend: bool,
    /// Redirects and rewrites apply: not on a catch-all made by `spec.defaultBackend`.
    pub(crate) redirects: bool,
    /// The settings except their paths from authentication.
    pub(crate) exempt: bool,
}

/// Applies every group. What depends on the Service is not in the profile yet: [`backend_tls`].
pub(crate) fn annotate(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    let spec = &location.given.spec;
    *policy = Policy::of(spec, location.config);
    profile.directives = Directives::of(spec, location.config);
    policy.denied = location.given.denied;
    policy.enable_access_log = spec.observability.enable_access_log != Some(false);
    policy.issues_cookie = location.has_backend && spec.affinity.cookie.is_some();
    policy.custom_headers = location.given.resolved.headers.clone();
    redirect::apply(location, policy);
    access::apply(location, policy);
    auth::apply(location, policy, profile);
    https::apply(location, policy);
    cors::apply(location, policy);
    proxy::apply(location, policy, profile);
    transport::apply(location, policy, profile);
    limits::apply(location, policy);
    errors::apply(location, policy, profile);
    firewall::apply(location, profile);
    tracing::apply(location, policy);
    profile.snippet = spec.snippets.configuration_snippet.clone();
    // Lua logs what it rewrites itself.
    profile.rewrite_log = policy.enable_rewrite_log && location.has_snippet();
}

impl Location<'_> {
    /// Whether it has directives of people, which know nothing of what Lua does.
    fn has_snippet(&self) -> bool {
        self.given.spec.snippets.configuration_snippet.is_some() || self.config.snippets.location_snippet.is_some()
    }
}
