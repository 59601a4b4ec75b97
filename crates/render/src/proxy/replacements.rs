//! What takes the place of what in headers of answers: `proxy_cookie_domain`, `proxy_cookie_path`, `proxy_redirect`.

use annotations::Config;
use annotations::groups::{LocationRewrite, Proxy};
use model::Route;
use model::live::Replacements;
use model::profile::{Profile, Proxying, Replacement};
use ngx_value::{CookieDomainReplacement, CookiePathReplacement};
use serde::Serialize;

use crate::RenderError;
use crate::pass::PLAIN_UPSTREAM;
use crate::print::Printed;

/// The arguments of each directive. None: it is inherited.
#[derive(Serialize)]
pub(crate) struct ReplacementsView {
    cookie_domain: Option<Printed>,
    cookie_path: Option<Printed>,
    location: Option<Printed>,
}

impl ReplacementsView {
    /// The defaults of the `http` block.
    pub(crate) fn http(config: &Config) -> Result<Self, RenderError> {
        let cookie_domain = match &config.proxying.cookie_domain {
            CookieDomainReplacement::Off => Printed::fixed("off"),
            CookieDomainReplacement::Replace { from, to } => pair(from, to)?,
        };
        let cookie_path = match &config.proxying.cookie_path {
            CookiePathReplacement::Off => Printed::fixed("off"),
            CookiePathReplacement::Replace { from, to } => pair(from, to)?,
        };
        let location = match Proxy::default().location_rewrite(config) {
            LocationRewrite::Off => Printed::fixed("off"),
            LocationRewrite::Default => own_address()?,
            LocationRewrite::Replace { from, to } => pair(from.as_str(), to.as_str())?,
        };
        Ok(Self { cookie_domain: Some(cookie_domain), cookie_path: Some(cookie_path), location: Some(location) })
    }

    /// What a profile has of its own; plain text is in variables.
    pub(crate) fn profile(proxying: &Proxying) -> Result<Self, RenderError> {
        let view = |replacement: &Option<Replacement>, live: &'static str| {
            replacement.as_ref().map(|replacement| arguments(replacement, || Ok(Printed::fixed(live)))).transpose()
        };
        Ok(Self {
            cookie_domain: view(&proxying.cookie_domain, "$narthex_domain_from $narthex_domain_to")?,
            cookie_path: view(&proxying.cookie_path, "$narthex_path_from $narthex_path_to")?,
            location: view(&proxying.location, "$narthex_location_from $narthex_location_to")?,
        })
    }

    /// The same for one route, complete.
    pub(crate) fn location(config: &Config, profile: &Profile, route: &Route) -> Result<Self, RenderError> {
        let none = Replacements::default();
        let (proxying, live) = (&profile.proxying, route.replacements.as_deref().unwrap_or(&none));
        let view = |replacement: &Option<Replacement>, live: &Option<[String; 2]>, global: Option<Printed>| match replacement {
            None => Ok(global),
            Some(replacement) => {
                let plain = || live.as_ref().map_or(Ok(Printed::fixed("off")), |[from, to]| pair(from, to));
                arguments(replacement, plain).map(Some)
            }
        };
        let global = Self::http(config)?;
        Ok(Self {
            cookie_domain: view(&proxying.cookie_domain, &live.cookie_domain, global.cookie_domain)?,
            cookie_path: view(&proxying.cookie_path, &live.cookie_path, global.cookie_path)?,
            location: view(&proxying.location, &live.location, global.location)?,
        })
    }
}

fn arguments(replacement: &Replacement, live: impl FnOnce() -> Result<Printed, RenderError>) -> Result<Printed, RenderError> {
    match replacement {
        Replacement::Off => Ok(Printed::fixed("off")),
        Replacement::Default => own_address(),
        Replacement::Live => live(),
        Replacement::Regex { from, to } => pair(from, to),
    }
}

fn pair(from: &str, to: &str) -> Result<Printed, RenderError> {
    Printed::arguments([from, to])
}

/// What NGINX makes of `default`, which it takes only behind a `proxy_pass` without variables.
fn own_address() -> Result<Printed, RenderError> {
    Printed::arguments([&*format!("http://{PLAIN_UPSTREAM}/"), "/"])
}
