//! Named locations: what of a route must be text.

mod proxying;

use std::sync::{Arc, LazyLock};

use model::{Fixed, HostServer, Profile, ProfileId};
use ngx_value::Snippet;
use serde::Serialize;
use settings::Config;

use self::proxying::ProxyingView;
use crate::auth::AuthView;
use crate::directive::DirectiveView;
use crate::firewall::FirewallView;
use crate::mirror::MirrorView;
use crate::pass::{self, PassView};
use crate::print::Printed;
use crate::server::intercepts;
use crate::{Paths, RenderError};

/// What `profile.conf` prints. What is not set is inherited from the `http` block.
#[derive(Serialize)]
pub(crate) struct ProfileView {
    name: Printed,
    directives: Vec<DirectiveView>,
    proxying: ProxyingView,
    mirror: Option<MirrorView>,
    pass: PassView,
    firewall: Option<FirewallView>,
    rewrite_log: bool,
    /// The directive that hands over errors of endpoints.
    intercept_errors: Option<Printed>,
    custom_http_errors: Vec<u16>,
    auth: Option<AuthView>,
    snippet: Option<Printed>,
    /// A backend without endpoints is answered for here.
    answers: bool,
}

impl ProfileView {
    /// With what the server of a host adds.
    #[must_use]
    pub(crate) fn of_server(self, host_server: Option<&HostServer>) -> Self {
        Self { auth: self.auth.map(|auth| auth.of_server(host_server)), ..self }
    }

    pub(crate) fn new(config: &Config, paths: &Paths, id: &str, profile: &Profile) -> Result<Self, RenderError> {
        // Destructured so that a new field can't be forgotten.
        let Profile { directives, proxying, transport: _, mirror, error_pages, firewall, rewrite_log, external_auth, snippet } = profile;
        Ok(Self {
            name: Printed::inner(id)?,
            directives: DirectiveView::all(directives.text())?,
            proxying: ProxyingView::new(proxying)?,
            mirror: mirror.map(MirrorView::new),
            pass: PassView::new(config, paths, profile)?,
            firewall: firewall.as_ref().map(|firewall| FirewallView::new(firewall, paths)).transpose()?,
            rewrite_log: *rewrite_log,
            intercept_errors: intercept(config, profile),
            custom_http_errors: error_pages.as_ref().map(|errors| errors.statuses.clone()).unwrap_or_default(),
            auth: external_auth.as_ref().map(|auth| AuthView::new(config, id, auth)).transpose()?,
            snippet: snippet.as_ref().map(Printed::raw),
            answers: answers(config, profile),
        })
    }
}

/// Whether the location has directives of people, which hold also where the backend has no endpoint. NGINX takes the hook for it only once.
pub(crate) fn answers(config: &Config, profile: &Profile) -> bool {
    let mut snippets = [&profile.snippet, &config.snippets.location_snippet].into_iter().flatten().peekable();
    let may_have_hook = |snippet: &Snippet| ["rewrite_by_lua", "include"].into_iter().any(|name| snippet.as_str().contains(name));
    snippets.peek().is_some() && !snippets.any(may_have_hook)
}

/// How errors of endpoints are handed over, where the server does not say it: that speaks of `proxy_pass` only.
fn intercept(config: &Config, profile: &Profile) -> Option<Printed> {
    let own = profile.error_pages.as_ref().map(|errors| !errors.only_own);
    let directive = pass::intercept_directive(&profile.transport);
    let plain = directive == pass::INTERCEPT_PLAIN;
    let on = own.unwrap_or(!plain && intercepts(config));
    on.then(|| Printed::fixed(directive))
}

/// The profiles in order, the default one among them in any case: routes that Lua has no better one for go there.
pub(crate) fn complete(fixed: &Fixed) -> impl Iterator<Item = (&str, &Profile)> {
    let missing = !fixed.profiles.contains_key(&ProfileId::default());
    let profiles = fixed.profiles.iter().map(|(id, profile): (&ProfileId, &Arc<Profile>)| (&*id.0, &**profile));
    missing.then(|| base(fixed)).into_iter().chain(profiles)
}

fn base(fixed: &Fixed) -> (&'static str, &Profile) {
    static DEFAULT: LazyLock<Profile> = LazyLock::new(Profile::default);
    ("base", fixed.profiles.get(&ProfileId::default()).map_or(&*DEFAULT, |profile| &**profile))
}

/// The profiles whose locations a server has: all in the default one, in that of a host server those of its host's routes.
pub(crate) fn of_server<'a>(fixed: &'a Fixed, host_server: Option<&'a HostServer>) -> Vec<(&'a str, &'a Profile)> {
    let Some(host_server) = host_server else { return complete(fixed).collect() };
    let own = host_server.profiles.iter().filter(|id| **id != ProfileId::default());
    let own = own.filter_map(|id| Some((&*id.0, &**fixed.profiles.get(id)?)));
    std::iter::once(base(fixed)).chain(own).collect()
}
