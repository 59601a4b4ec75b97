//! What takes the place of what in headers of answers: `proxy_cookie_domain`, `proxy_cookie_path`, `proxy_redirect`.
//!
//! Plain text is in variables, which hold the global settings until Lua says otherwise; a regular expression must be text.
//! A text that no header can hold stands for `off`: an empty one would be found in every header, which NGINX then writes in its own words.

use model::profile::{Proxying, Replacement, is_regex};
use serde::Serialize;
use settings::Config;
use settings::groups::Proxy;

use crate::RenderError;
use crate::print::Printed;

const COOKIE_DOMAIN: &str = "$narthex_domain_from $narthex_domain_to";
const COOKIE_PATH: &str = "$narthex_path_from $narthex_path_to";
const LOCATION: &str = "$narthex_location_from $narthex_location_to";
/// What is found in no header: a line break. Lua says the same for a route (`proxying.lua`).
const NEVER: &str = r#""\n""#;

/// The arguments of each directive. None: it is inherited.
#[derive(Serialize)]
pub(crate) struct ReplacementsView {
    cookie_domain: Option<Printed>,
    cookie_path: Option<Printed>,
    location: Option<Printed>,
}

/// What the variables hold until Lua says otherwise: what is replaced, and by what.
#[derive(Serialize)]
pub(crate) struct ReplacementDefaults {
    cookie_domain: [Printed; 2],
    cookie_path: [Printed; 2],
    location: [Printed; 2],
}

/// The global settings.
struct Global<'a> {
    cookie_domain: [&'a str; 2],
    cookie_path: [&'a str; 2],
    location: [&'a str; 2],
}

impl<'a> Global<'a> {
    fn new(config: &'a Config, defaults: &'a Proxy) -> Self {
        // NGINX ignores a dot at the beginning, but sees it only in what is text.
        let cookie_domain = config.proxy.proxy_cookie_domain.pair().map(|text| text.strip_prefix('.').unwrap_or(text));
        Self { cookie_domain, cookie_path: config.proxy.proxy_cookie_path.pair(), location: defaults.location_rewrite(config).pair() }
    }
}

impl ReplacementDefaults {
    pub(crate) fn new(config: &Config) -> Result<Self, RenderError> {
        let defaults = Proxy::default();
        let Global { cookie_domain, cookie_path, location } = Global::new(config, &defaults);
        let plain = |pair: [&str; 2]| -> Result<[Printed; 2], RenderError> {
            let [from, to] = if is_regex(pair[0]) { [""; 2] } else { pair };
            let from = if from.is_empty() { Printed::fixed(NEVER) } else { Printed::argument(from)? };
            Ok([from, Printed::argument(to)?])
        };
        Ok(Self { cookie_domain: plain(cookie_domain)?, cookie_path: plain(cookie_path)?, location: plain(location)? })
    }
}

impl ReplacementsView {
    /// The `http` block: what no profile has otherwise.
    pub(crate) fn http(config: &Config) -> Result<Self, RenderError> {
        let defaults = Proxy::default();
        let Global { cookie_domain, cookie_path, location } = Global::new(config, &defaults);
        let view = |[from, to]: [&str; 2], variables: &'static str| match is_regex(from) {
            true => pair(from, to),
            false => Ok(Printed::fixed(variables)),
        };
        Ok(Self {
            cookie_domain: Some(view(cookie_domain, COOKIE_DOMAIN)?),
            cookie_path: Some(view(cookie_path, COOKIE_PATH)?),
            location: Some(view(location, LOCATION)?),
        })
    }

    /// What a profile has of its own.
    pub(crate) fn profile(proxying: &Proxying) -> Result<Self, RenderError> {
        let view = |replacement: &Option<Replacement>, variables: &'static str| {
            let arguments = |replacement: &Replacement| match replacement {
                Replacement::Live => Ok(Printed::fixed(variables)),
                Replacement::Regex { from, to } => pair(from, to),
            };
            replacement.as_ref().map(arguments).transpose()
        };
        Ok(Self {
            cookie_domain: view(&proxying.cookie_domain, COOKIE_DOMAIN)?,
            cookie_path: view(&proxying.cookie_path, COOKIE_PATH)?,
            location: view(&proxying.location, LOCATION)?,
        })
    }
}

/// As people write it.
fn pair(from: &str, to: &str) -> Result<Printed, RenderError> {
    if from.is_empty() { Ok(Printed::fixed("off")) } else { Printed::arguments([from, to]) }
}
