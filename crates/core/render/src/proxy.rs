//! How a request goes to a backend: the `http` block's defaults.

mod replacements;

use model::{Globals, HostServer};
use ngx_value::{HeaderName, HeaderTemplate};
use serde::Serialize;
use settings::Config;
use settings::groups::Proxy;

use crate::RenderError;
use crate::clients;
use crate::print::Printed;

pub(crate) use replacements::{ReplacementDefaults, ReplacementsView};

/// What `proxy.conf` prints.
#[derive(Serialize)]
pub(crate) struct ProxyView {
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
    request_buffering: bool,
    next_upstream: Printed,
    next_upstream_timeout: u32,
    replacements: ReplacementsView,
}

/// What `headers.conf` prints: the headers of a request to a backend.
#[derive(Serialize)]
pub(crate) struct HeadersView {
    /// Spaces before each line.
    pad: Printed,
    /// `proxy_set_header`, or `grpc_set_header`.
    directive: Printed,
    /// Headers about the connection itself, which HTTP/2 forbids. The value of `Connection`.
    connection: Option<Printed>,
    forwarded_for: Printed,
    /// Whether backends are to know requests that came in early data.
    early_data: bool,
    original_uri: bool,
    original_forwarded_for: Printed,
    original_forwarded_host: Printed,
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
    pub(crate) fn new(config: &Config) -> Result<Self, RenderError> {
        let [connect_timeout, send_timeout, read_timeout] = timeouts(config);
        let defaults = Proxy::default();
        let buffers = defaults.buffers(config);
        Ok(Self {
            body_size: Printed::word(config.proxy.proxy_body_size)?,
            http_version: Printed::word(config.proxy.proxy_http_version)?,
            connect_timeout,
            send_timeout,
            read_timeout,
            buffering: config.proxy.proxy_buffering,
            buffer_size: Printed::word(buffers.size)?,
            buffers_number: buffers.number,
            busy_buffers_size: buffers.busy.map(Printed::word).transpose()?,
            max_temp_file_size: Printed::word(buffers.max_temp_file)?,
            request_buffering: config.proxy.proxy_request_buffering,
            next_upstream: Printed::words(defaults.next_upstream(config).conditions())?,
            next_upstream_timeout: config.proxy.proxy_next_upstream_timeout.0,
            replacements: ReplacementsView::http(config)?,
        })
    }
}

impl HeadersView {
    /// The defaults of the `http` block.
    pub(crate) fn http(globals: &Globals) -> Result<Self, RenderError> {
        Self::new(globals, "    ", Some(Printed::fixed(CONNECTION)))
    }

    /// The same in a named location, where a header of its own puts an end to inheriting.
    pub(crate) fn profile(globals: &Globals) -> Result<Self, RenderError> {
        Self::new(globals, LOCATION, Some(Printed::fixed(CONNECTION)))
    }

    /// The same for gRPC.
    pub(crate) fn grpc(globals: &Globals) -> Result<Self, RenderError> {
        Self::new(globals, LOCATION, None)
    }

    /// With what the server of a host adds to them.
    #[must_use]
    pub(crate) fn of_server(self, host_server: Option<&HostServer>) -> Self {
        Self { certificate: clients::certificate_header(host_server), ..self }
    }

    /// gRPC without `connection`.
    fn new(globals: &Globals, pad: &'static str, connection: Option<Printed>) -> Result<Self, RenderError> {
        let config = &globals.config;
        let request = match connection {
            Some(_) => globals.headers.request.clone(),
            None => globals.headers.for_grpc().cloned().collect(),
        };
        Ok(Self {
            pad: Printed::fixed(pad),
            directive: Printed::fixed(if connection.is_some() { "proxy_set_header" } else { "grpc_set_header" }),
            connection,
            forwarded_for: Printed::fixed(if full_forwarded_for(config) { "$full_x_forwarded_for" } else { "$remote_addr" }),
            early_data: config.ssl_early_data,
            original_uri: config.proxy_add_original_uri_header,
            original_forwarded_for: header_variable(config.forwarded_for_header.as_str())?,
            original_forwarded_host: header_variable(config.forwarded_host_header.as_str())?,
            certificate: None,
            more: HeaderView::all(&request)?,
        })
    }
}

/// Indentation of a location's directives.
const LOCATION: &str = "            ";
/// `upgrade` where the client asks for it, otherwise what keeps connections open; Lua may set it.
const CONNECTION: &str = "$connection_upgrade";

/// Connect, send and read timeout in seconds.
pub(crate) fn timeouts(config: &Config) -> [u32; 3] {
    [config.proxy.proxy_connect_timeout, config.proxy.proxy_send_timeout, config.proxy.proxy_read_timeout].map(|seconds| seconds.0)
}

/// Whether backends get the whole chain of addresses.
pub(crate) fn full_forwarded_for(config: &Config) -> bool {
    config.use_forwarded_headers && config.compute_full_forwarded_for
}

/// The variable that holds a header of the request.
pub(crate) fn header_variable(name: &str) -> Result<Printed, RenderError> {
    let name: String = name.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect();
    Printed::variable(&format!("http_{name}"))
}
