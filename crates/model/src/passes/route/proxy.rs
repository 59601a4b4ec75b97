//! Sizes, buffers, timeouts, retries, and headers of answers.

use std::sync::Arc;

use annotations::groups::Proxy;
use ngx_value::Seconds;

use super::{Location, differing};
use crate::live::{Policy, Replacements};
use crate::profile::{Profile, Replacement};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    let config = location.config;
    let proxy = &location.entry.spec.proxy;

    let timeout = |own, global| differing(own, global).map(|seconds: Seconds| seconds.0);
    policy.proxy_connect_timeout = timeout(proxy.connect_timeout, config.proxy_connect_timeout);
    policy.proxy_send_timeout = timeout(proxy.send_timeout, config.proxy_send_timeout);
    policy.proxy_read_timeout = timeout(proxy.read_timeout, config.proxy_read_timeout);
    policy.proxy_next_upstream_tries = differing(proxy.next_upstream_tries, config.proxy_next_upstream_tries);
    policy.connection_proxy_header = location.entry.spec.protocol.connection_header;

    profile.body_size = differing(proxy.body_size, config.proxy_body_size);
    policy.proxy_body_size = profile.body_size.map(|size| size.bytes);
    profile.buffering = differing(proxy.buffering, config.proxy_buffering);
    profile.request_buffering = differing(proxy.request_buffering, config.proxy_request_buffering);
    let defaults = Proxy::default();
    let proxying = &mut profile.proxying;
    proxying.buffers = differing(Some(proxy.buffers(config)), defaults.buffers(config));
    proxying.client_body_buffer_size = differing(location.entry.spec.limits.body_buffer, config.client_body_buffer_size);
    proxying.http_version = differing(proxy.http_version, config.proxy_http_version);
    proxying.next_upstream = differing(Some(proxy.next_upstream(config)), defaults.next_upstream(config));
    proxying.next_upstream_timeout = differing(proxy.next_upstream_timeout, config.proxy_next_upstream_timeout);
    replacements(location, policy, profile);
}

/// Cookies and redirects of endpoints: what is plain text goes over the wire.
fn replacements(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    let (proxy, config) = (&location.entry.spec.proxy, location.config);
    let mut live = Replacements::default();
    let proxying = &mut profile.proxying;
    let global = &config.proxying.cookie_domain;
    if let Some(domain) = proxy.cookie_domain.as_ref().filter(|domain| *domain != global) {
        // NGINX ignores a dot at the beginning, but sees it only in what is text.
        let bare = domain.pair().map(|text| text.strip_prefix('.').unwrap_or(text));
        (proxying.cookie_domain, live.proxy_cookie_domain) = Replacement::new(bare, global.pair()[0]);
    }
    let global = &config.proxying.cookie_path;
    if let Some(path) = proxy.cookie_path.as_ref().filter(|path| *path != global) {
        (proxying.cookie_path, live.proxy_cookie_path) = Replacement::new(path.pair(), global.pair()[0]);
    }
    let defaults = Proxy::default();
    let (rewrite, global) = (proxy.location_rewrite(config), defaults.location_rewrite(config));
    if rewrite != global {
        (proxying.location, live.proxy_redirect) = Replacement::new(rewrite.pair(), global.pair()[0]);
    }
    policy.replacements = (live != Replacements::default()).then(|| Arc::new(live));
}
