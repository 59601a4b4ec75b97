//! How a request goes to a backend: the `http` block's defaults, and in the equivalent text every location.

use annotations::Config;
use model::{Profile, Route};
use ngx_value::Size;
use serde::Serialize;

use crate::RenderError;
use crate::print::Printed;

/// What `proxy.conf` prints.
#[derive(Serialize)]
pub(crate) struct ProxyView {
    /// Blanks before each line.
    pad: Printed,
    body_size: Printed,
    http_version: Printed,
    connect_timeout: u32,
    send_timeout: u32,
    read_timeout: u32,
    buffering: bool,
    buffer_size: Printed,
    buffers_number: u32,
    request_buffering: bool,
    next_upstream: Printed,
    next_upstream_timeout: u32,
    next_upstream_tries: u32,
}

/// What `headers.conf` prints: the headers of a request to a backend.
#[derive(Serialize)]
pub(crate) struct HeadersView {
    /// Blanks before each line.
    pad: Printed,
    host: Printed,
    forwarded_for: Printed,
    original_uri: bool,
    original_forwarded_for: Printed,
    original_forwarded_host: Printed,
    /// `X-Forwarded-Prefix`.
    prefix: Option<Printed>,
}

impl ProxyView {
    /// The defaults of the `http` block.
    pub(crate) fn http(config: &Config) -> Result<Self, RenderError> {
        Self::new(config, HTTP, &Profile::default(), timeouts(config))
    }

    /// The same for one route, complete.
    pub(crate) fn location(config: &Config, profile: &Profile, route: &Route) -> Result<Self, RenderError> {
        let body_size = route.body_limit_bytes.map(Size::new).or(profile.body_size);
        let profile = &Profile { body_size, ..profile.clone() };
        Self::new(config, LOCATION, profile, route.timeouts.unwrap_or(timeouts(config)))
    }

    fn new(config: &Config, pad: &'static str, profile: &Profile, timeouts: [u32; 3]) -> Result<Self, RenderError> {
        let [connect_timeout, send_timeout, read_timeout] = timeouts;
        let next_upstream =
            if config.retry_non_idempotent { config.proxy_next_upstream.with_non_idempotent() } else { config.proxy_next_upstream.clone() };
        Ok(Self {
            pad: Printed::fixed(pad),
            body_size: Printed::word(profile.body_size.unwrap_or(config.proxy_body_size))?,
            http_version: Printed::word(config.proxy_http_version)?,
            connect_timeout,
            send_timeout,
            read_timeout,
            buffering: profile.buffering.unwrap_or(config.proxy_buffering),
            buffer_size: Printed::word(profile.buffer_size.unwrap_or(config.proxy_buffer_size))?,
            buffers_number: profile.buffers_number.unwrap_or(config.proxy_buffers_number),
            request_buffering: profile.request_buffering.unwrap_or(config.proxy_request_buffering),
            next_upstream: Printed::words(next_upstream.conditions())?,
            next_upstream_timeout: config.proxy_next_upstream_timeout.0,
            next_upstream_tries: config.proxy_next_upstream_tries,
        })
    }
}

impl HeadersView {
    /// The defaults of the `http` block.
    pub(crate) fn http(config: &Config) -> Result<Self, RenderError> {
        Self::new(config, HTTP, Printed::fixed("$narthex_vhost"))
    }

    /// The same in a named location, where a header of its own puts an end to inheriting.
    pub(crate) fn profile(config: &Config) -> Result<Self, RenderError> {
        Self::new(config, LOCATION, Printed::fixed("$narthex_vhost"))
    }

    /// The same for one route.
    pub(crate) fn location(config: &Config, route: &Route) -> Result<Self, RenderError> {
        let host = match &route.upstream_vhost {
            // Its variables are meant.
            Some(vhost) => Printed::quoted(vhost)?,
            None => Printed::fixed("$best_http_host"),
        };
        // As above.
        let prefix = route.forwarded_prefix.as_deref().map(Printed::quoted).transpose()?;
        Ok(Self { prefix, ..Self::new(config, LOCATION, host)? })
    }

    fn new(config: &Config, pad: &'static str, host: Printed) -> Result<Self, RenderError> {
        Ok(Self {
            pad: Printed::fixed(pad),
            host,
            forwarded_for: Printed::fixed(if full_forwarded_for(config) { "$full_x_forwarded_for" } else { "$remote_addr" }),
            original_uri: config.proxy_add_original_uri_header,
            original_forwarded_for: header_variable(config.forwarded_for_header.as_str())?,
            original_forwarded_host: header_variable(config.forwarded_host_header.as_str())?,
            prefix: None,
        })
    }
}

/// Indentation of the `http` block's directives.
const HTTP: &str = "    ";
/// Indentation of a location's.
const LOCATION: &str = "            ";

/// Connect, send and read timeout in seconds.
pub(crate) fn timeouts(config: &Config) -> [u32; 3] {
    [config.proxy_connect_timeout, config.proxy_send_timeout, config.proxy_read_timeout].map(|seconds| seconds.0)
}

/// Whether backends get the whole chain of addresses.
pub(crate) fn full_forwarded_for(config: &Config) -> bool {
    config.use_forwarded_headers && config.compute_full_forwarded_for
}

/// The variable that holds a header of the request.
fn header_variable(name: &str) -> Result<Printed, RenderError> {
    let name: String = name.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect();
    Printed::variable(&format!("http_{name}"))
}
