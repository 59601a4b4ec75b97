//! Where annotations lead requests of NGINX's own: never to an address that no Pod has. Names and variables are looked at for each request, by Lua.

use std::net::IpAddr;

use ngx_value::{UrlTemplate, is_local_name};

use super::{Lookup, Resolution};
use crate::problem::ProblemKind;

/// Refuses a `mirror-target` that can't be used. An `auth-url` that can't closes the locations.
pub(super) fn check(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) {
    let refusal = |url: &Option<UrlTemplate>| url.as_ref().and_then(|url| refusal(lookup, url));
    if let Some(what) = refusal(&lookup.spec.external_auth.auth_url) {
        outcome.deny("auth-url", &what);
    }
    let mirror = refusal(&lookup.spec.mirror.mirror_target);
    if let Some(what) = &mirror {
        outcome.problem("mirror-target", ProblemKind::LocalEndpoint, format!("{what}; nothing is copied"));
    }
    outcome.mirror_refused = mirror.is_some();
}

fn refusal(lookup: &Lookup<'_>, url: &UrlTemplate) -> Option<String> {
    let local = &lookup.options.local;
    let host = url.host();
    let port = url.port().unwrap_or(if url.is_https() { 443 } else { 80 });
    let what = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => local.refusal(address, Some(port))?,
        Err(_) => (is_local_name(host) && !local.allowed).then_some("this machine")?,
    };
    Some(format!("{url:?}: {host} is {what}, expected one that a Pod can have (--allow-local-endpoints allows it)", url = url.as_str()))
}
