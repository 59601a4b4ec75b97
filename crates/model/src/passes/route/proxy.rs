//! Sizes, buffers and timeouts of proxying.

use super::{Location, differing};
use crate::live::Route;
use crate::profile::Profile;

pub(super) fn apply(location: &Location<'_>, route: &mut Route, profile: &mut Profile) {
    let config = location.config;
    let proxy = &location.entry.spec.proxy;

    let global = [config.proxy_connect_timeout, config.proxy_send_timeout, config.proxy_read_timeout];
    let own = [proxy.connect_timeout, proxy.send_timeout, proxy.read_timeout];
    let timeouts = [0, 1, 2].map(|i| own[i].unwrap_or(global[i]));
    route.timeouts = (timeouts != global).then(|| timeouts.map(|seconds| seconds.0));

    profile.body_size = differing(proxy.body_size, config.proxy_body_size);
    route.body_limit_bytes = profile.body_size.map(|size| size.bytes);
    profile.buffering = differing(proxy.buffering, config.proxy_buffering);
    profile.buffer_size = differing(proxy.buffer_size, config.proxy_buffer_size);
    profile.buffers_number = differing(proxy.buffers_number, config.proxy_buffers_number);
    profile.request_buffering = differing(proxy.request_buffering, config.proxy_request_buffering);
}
