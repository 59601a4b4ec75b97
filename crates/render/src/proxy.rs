//! How a request goes to a backend: the `http` block's defaults, and in the equivalent text every location.

mod replacements;

use annotations::Config;
use annotations::groups::Proxy;
use model::{Globals, Profile, Route, Shell};
use ngx_value::{HeaderName, HeaderTemplate, Size};
use serde::Serialize;

use crate::RenderError;
use crate::clients;
use crate::print::Printed;

pub(crate) use replacements::{ReplacementDefaults, ReplacementsView};

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
    busy_buffers_size: Option<Printed>,
    max_temp_file_size: Printed,
    /// Only where it is not that of the `http` block.
    client_body_buffer_size: Option<Printed>,
    request_buffering: bool,
    next_upstream: Printed,
    next_upstream_timeout: u32,
    next_upstream_tries: u32,
    replacements: ReplacementsView,
}

/// What `headers.conf` prints: the headers of a request to a backend.
#[derive(Serialize)]
pub(crate) struct HeadersView {
    /// Blanks before each line.
    pad: Printed,
    /// `proxy_set_header`, or `grpc_set_header`.
    directive: Printed,
    /// Headers about the connection itself, which HTTP/2 forbids. The value of `Connection`.
    connection: Option<Printed>,
    host: Printed,
    forwarded_for: Printed,
    original_uri: bool,
    original_forwarded_for: Printed,
    original_forwarded_host: Printed,
    /// `X-Forwarded-Prefix`.
    prefix: Option<Printed>,
    /// Headers about the client's certificate: the value of the one that holds it.
    certificate: Option<Printed>,
    /// `proxy-set-headers`.
    more: Vec<HeaderView>,
}

/// A header with variables.
#[derive(Serialize)]
pub(crate) struct HeaderView {
    name: Printed,
    value: Printed,
}

impl HeaderView {
    pub(crate) fn all(headers: &[(HeaderName, HeaderTemplate)]) -> Result<Vec<Self>, RenderError> {
        headers.iter().map(|(name, value)| Ok(Self { name: Printed::word(name)?, value: Printed::quoted(value.as_str())? })).collect()
    }
}

impl ProxyView {
    /// The defaults of the `http` block.
    pub(crate) fn http(config: &Config) -> Result<Self, RenderError> {
        // Lua says how often to try: NGINX's own number would cap it.
        Self::new(config, HTTP, &Profile::default(), timeouts(config), 0, ReplacementsView::http(config)?)
    }

    /// The same for one route, complete.
    pub(crate) fn location(config: &Config, profile: &Profile, route: &Route) -> Result<Self, RenderError> {
        let mut profile = profile.clone();
        profile.directives.proxy_body_size = route.proxy_body_size.map(Size::new).or(profile.directives.proxy_body_size);
        let profile = &profile;
        let tries = route.proxy_next_upstream_tries.unwrap_or(config.proxy.proxy_next_upstream_tries);
        Self::new(config, LOCATION, profile, own_timeouts(config, route), tries, ReplacementsView::location(config, profile, route)?)
    }

    fn new(
        config: &Config,
        pad: &'static str,
        profile: &Profile,
        timeouts: [u32; 3],
        next_upstream_tries: u32,
        replacements: ReplacementsView,
    ) -> Result<Self, RenderError> {
        let [connect_timeout, send_timeout, read_timeout] = timeouts;
        let (directives, proxying, defaults) = (&profile.directives, &profile.proxying, Proxy::default());
        let next_upstream = proxying.next_upstream.clone().unwrap_or_else(|| defaults.next_upstream(config));
        let buffers = proxying.buffers.unwrap_or_else(|| defaults.buffers(config));
        Ok(Self {
            pad: Printed::fixed(pad),
            body_size: Printed::word(directives.proxy_body_size.unwrap_or(config.proxy.proxy_body_size))?,
            http_version: Printed::word(directives.proxy_http_version.unwrap_or(config.proxy.proxy_http_version))?,
            connect_timeout,
            send_timeout,
            read_timeout,
            buffering: directives.proxy_buffering.unwrap_or(config.proxy.proxy_buffering),
            buffer_size: Printed::word(buffers.size)?,
            buffers_number: buffers.number,
            busy_buffers_size: buffers.busy.map(Printed::word).transpose()?,
            max_temp_file_size: Printed::word(buffers.max_temp_file)?,
            client_body_buffer_size: directives.client_body_buffer_size.map(Printed::word).transpose()?,
            request_buffering: directives.proxy_request_buffering.unwrap_or(config.proxy.proxy_request_buffering),
            next_upstream: Printed::words(next_upstream.conditions())?,
            next_upstream_timeout: directives.proxy_next_upstream_timeout.unwrap_or(config.proxy.proxy_next_upstream_timeout).0,
            next_upstream_tries,
            replacements,
        })
    }
}

impl HeadersView {
    /// The defaults of the `http` block.
    pub(crate) fn http(globals: &Globals) -> Result<Self, RenderError> {
        Self::new(globals, HTTP, Printed::fixed("$narthex_vhost"), Some(Printed::fixed(CONNECTION)))
    }

    /// The same in a named location, where a header of its own puts an end to inheriting.
    pub(crate) fn profile(globals: &Globals) -> Result<Self, RenderError> {
        Self::new(globals, LOCATION, Printed::fixed("$narthex_vhost"), Some(Printed::fixed(CONNECTION)))
    }

    /// The same for gRPC.
    pub(crate) fn grpc(globals: &Globals) -> Result<Self, RenderError> {
        Self::new(globals, LOCATION, Printed::fixed("$narthex_vhost"), None)
    }

    /// The same for one route.
    pub(crate) fn location(globals: &Globals, profile: &Profile, route: &Route) -> Result<Self, RenderError> {
        let connection = Printed::fixed(route.connection_proxy_header.map_or(CONNECTION, |connection| connection.as_str()));
        let host = match &route.upstream_vhost {
            // Its variables are meant.
            Some(vhost) => Printed::quoted(vhost)?,
            None => Printed::fixed("$best_http_host"),
        };
        // As above.
        let prefix = route.x_forwarded_prefix.as_deref().map(Printed::quoted).transpose()?;
        let connection = Some(connection).filter(|_| !crate::pass::is_grpc(&profile.transport));
        Ok(Self { prefix, ..Self::new(globals, LOCATION, host, connection)? })
    }

    /// With what the server of a host adds to them.
    #[must_use]
    pub(crate) fn of_server(self, shell: Option<&Shell>) -> Self {
        Self { certificate: clients::certificate_header(shell), ..self }
    }

    /// The same for one route.
    #[must_use]
    pub(crate) fn of_route(self, shell: Option<&Shell>, route: &Route) -> Self {
        Self { certificate: clients::certificate_header_of(shell, route), ..self }
    }

    /// gRPC without `connection`.
    fn new(globals: &Globals, pad: &'static str, host: Printed, connection: Option<Printed>) -> Result<Self, RenderError> {
        let config = &globals.config;
        Ok(Self {
            pad: Printed::fixed(pad),
            directive: Printed::fixed(if connection.is_some() { "proxy_set_header" } else { "grpc_set_header" }),
            connection,
            host,
            forwarded_for: Printed::fixed(if full_forwarded_for(config) { "$full_x_forwarded_for" } else { "$remote_addr" }),
            original_uri: config.proxy_add_original_uri_header,
            original_forwarded_for: header_variable(config.forwarded_for_header.as_str())?,
            original_forwarded_host: header_variable(config.forwarded_host_header.as_str())?,
            prefix: None,
            certificate: None,
            more: HeaderView::all(&globals.headers.request)?,
        })
    }
}

/// Indentation of the `http` block's directives.
const HTTP: &str = "    ";
/// Indentation of a location's.
pub(crate) const LOCATION: &str = "            ";
/// `upgrade` where the client asks for it, otherwise what keeps connections open; Lua may set it.
const CONNECTION: &str = "$connection_upgrade";

/// Connect, send and read timeout in seconds.
pub(crate) fn timeouts(config: &Config) -> [u32; 3] {
    [config.proxy.proxy_connect_timeout, config.proxy.proxy_send_timeout, config.proxy.proxy_read_timeout].map(|seconds| seconds.0)
}

/// The same for one route.
pub(crate) fn own_timeouts(config: &Config, route: &Route) -> [u32; 3] {
    let [connect, send, read] = timeouts(config);
    [route.proxy_connect_timeout.unwrap_or(connect), route.proxy_send_timeout.unwrap_or(send), route.proxy_read_timeout.unwrap_or(read)]
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
