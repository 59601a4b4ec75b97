//! Buffers, retries, and headers of answers.

use std::sync::Arc;

use settings::Effective;
use settings::groups::Proxy;

use super::Location;
use crate::live::{Policy, Replacements};
use crate::profile::{Profile, Replacement};

/// What must fit together with the ConfigMap is compared as a whole.
pub(super) fn apply(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    let (proxy, config) = (&location.given.spec.proxy, location.config);
    let (defaults, proxying) = (Proxy::default(), &mut profile.proxying);
    proxying.buffers = Some(proxy.buffers(config)).filter(|buffers| *buffers != defaults.buffers(config));
    proxying.next_upstream = Some(proxy.next_upstream(config)).filter(|conditions| *conditions != defaults.next_upstream(config));
    replacements(location, policy, profile);
}

/// Cookies and redirects of endpoints: what is plain text goes over the wire.
fn replacements(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    let (proxy, config) = (&location.given.spec.proxy, location.config);
    let mut live = Replacements::default();
    let proxying = &mut profile.proxying;
    let global = &config.proxy;
    if let Some(domain) = Effective::new(&proxy.proxy_cookie_domain, &global.proxy_cookie_domain).differing() {
        // NGINX ignores a dot at the beginning, but sees it only in what is text.
        let bare = domain.pair().map(|text| text.strip_prefix('.').unwrap_or(text));
        (proxying.cookie_domain, live.proxy_cookie_domain) = Replacement::new(bare, global.proxy_cookie_domain.pair()[0]);
    }
    if let Some(path) = Effective::new(&proxy.proxy_cookie_path, &global.proxy_cookie_path).differing() {
        (proxying.cookie_path, live.proxy_cookie_path) = Replacement::new(path.pair(), global.proxy_cookie_path.pair()[0]);
    }
    let defaults = Proxy::default();
    let (rewrite, global) = (proxy.location_rewrite(config), defaults.location_rewrite(config));
    if rewrite != global {
        (proxying.location, live.proxy_redirect) = Replacement::new(rewrite.pair(), global.pair()[0]);
    }
    policy.replacements = (live != Replacements::default()).then(|| Arc::new(live));
}
