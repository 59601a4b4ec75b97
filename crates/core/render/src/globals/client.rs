//! Who the client is, and what it asked for.

use std::collections::BTreeSet;

use model::Globals;
use ngx_value::{CidrSet, HeaderPattern};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::RenderError;
use crate::print::Printed;
use crate::proxy::{ReplacementDefaults, full_forwarded_for, header_variable};
use crate::server::Side;
use crate::used_variables::UsedVariables;

/// What `real_ip.conf` prints: where the client's address comes from, if not from the connection.
#[derive(Serialize)]
pub(super) struct RealIp {
    header: Printed,
    trusted: Vec<Printed>,
}

impl RealIp {
    pub(super) fn new(globals: &Globals) -> Result<Option<Self>, RenderError> {
        let config = &globals.config;
        // Where a header tells the address on plain HTTP, the servers for TLS have directives of their own.
        let behind_stream = globals.listen.passthrough.is_some() && Side::all(globals) == [Side::Both];
        if !(behind_stream || config.use_forwarded_headers || config.use_proxy_protocol || config.enable_real_ip) {
            return Ok(None);
        }
        // Behind a proxy that speaks the PROXY protocol the header could come from anybody, so Lua looks at the source first.
        let header = if let Some(name) = noted_header(globals).filter(|_| config.use_proxy_protocol) {
            Printed::word(name)?
        } else if config.use_proxy_protocol || behind_stream {
            Printed::fixed("proxy_protocol")
        } else {
            Printed::word(&config.forwarded_for_header)?
        };
        let mut trusted = Vec::new();
        if !behind_stream || config.use_proxy_protocol {
            trusted = networks(&config.proxy_real_ip_cidr)?;
        }
        trusted.extend(behind_stream.then(|| Printed::fixed("unix:")));
        Ok(Some(Self { header, trusted }))
    }
}

/// The header in which NGINX notes the client's address before it takes it, where the PROXY protocol names the source and a header may name the client:
/// that of a proxy in front, or that of the stream block, which the servers for TLS are behind.
///
/// No client can send it: its end is derived from the key of the generated certificate, which is each controller's own and outlives reloads.
pub(crate) fn noted_header(globals: &Globals) -> Option<String> {
    let config = &globals.config;
    let is_both = config.use_proxy_protocol && config.use_forwarded_headers;
    if !is_both && Side::all(globals) == [Side::Both] {
        return None;
    }
    let digest = Sha256::new().chain_update("the header of client addresses\0").chain_update(&globals.static_certificate.key).finalize();
    Some(format!("{}-{}", config.forwarded_for_proxy_protocol_header, const_hex::encode(&digest[..16])))
}

/// Which sources, named by the PROXY protocol, are believed about the client.
#[derive(Serialize)]
struct Sources {
    trusted: Vec<Printed>,
    /// What they say.
    header: Printed,
}

/// What `maps.conf` prints.
#[derive(Serialize)]
pub(super) struct MapsView {
    /// `Connection` to backends without an upgrade.
    connection: Printed,
    rate_after: Printed,
    /// Lua makes the ids of requests that bring none.
    lua_request_id: bool,
    /// The id of a request that brings none.
    request_id: Printed,
    /// Trust what the client says about scheme, host and port.
    forwarded: bool,
    /// The port by which the PROXY protocol tells that it was HTTPS; an empty text without it.
    proxy_port: Printed,
    /// Scheme and port before the last corrections, and the port that was connected to.
    scheme: Printed,
    port: Printed,
    server_port: Printed,
    https_port: u16,
    /// The other port for TLS, where the stream block has that of HTTPS.
    passthrough_port: Option<u16>,
    /// Both the PROXY protocol and a header name the client.
    sources: Option<Sources>,
    /// Values of `User-Agent` and `Referer` that are refused.
    blocked_agents: Vec<Printed>,
    blocked_referers: Vec<Printed>,
    /// The peer that is appended to the chain of addresses.
    full_forwarded_for: Option<Printed>,
    replacements: ReplacementDefaults,
    /// The variables of the route are declared.
    declares_route: bool,
    /// Something reads the ids of traces.
    traces: bool,
}

impl MapsView {
    pub(super) fn new(globals: &Globals, used: &UsedVariables) -> Result<Self, RenderError> {
        let config = &globals.config;
        let (forwarded, proxied) = (config.use_forwarded_headers, config.use_proxy_protocol);
        let behind_stream = globals.listen.passthrough.is_some();
        let server_port = Printed::fixed(match (proxied, behind_stream) {
            (true, _) => "$proxy_protocol_server_port",
            (false, true) => "$narthex_server_port",
            (false, false) => "$server_port",
        });
        let sources = noted_header(globals).map(|_| -> Result<_, RenderError> {
            let header = header_variable(config.forwarded_for_header.as_str())?;
            Ok(Sources { trusted: networks(&config.proxy_real_ip_cidr)?, header })
        });
        Ok(Self {
            sources: sources.transpose()?,
            blocked_agents: map_keys(&config.block_user_agents)?,
            blocked_referers: map_keys(&config.block_referers)?,
            connection: Printed::fixed(if config.upstream_keepalive_connections == 0 { "close" } else { "\"\"" }),
            rate_after: Printed::size_kib(config.limits.limit_rate_after),
            lua_request_id: config.generate_request_id,
            request_id: Printed::fixed(if config.generate_request_id { "$narthex_new_request_id" } else { "\"\"" }),
            replacements: ReplacementDefaults::new(config)?,
            declares_route: used.route.is_some(),
            traces: used.traces,
            forwarded,
            proxy_port: Printed::fixed(if proxied { "$proxy_protocol_server_port" } else { "\"\"" }),
            scheme: Printed::fixed(if forwarded { "$narthex_scheme" } else { "$scheme" }),
            port: if forwarded { Printed::fixed("$narthex_port") } else { server_port.clone() },
            server_port,
            https_port: globals.listen.https,
            passthrough_port: globals.listen.passthrough,
            full_forwarded_for: full_forwarded_for(config)
                .then_some(match (proxied, behind_stream) {
                    (true, _) => "$proxy_protocol_addr",
                    (false, true) => "$narthex_peer",
                    (false, false) => "$realip_remote_addr",
                })
                .map(Printed::fixed),
        })
    }
}

/// Patterns as keys of a map. NGINX takes a text only once, whatever the case of its letters.
pub(super) fn map_keys(patterns: &[HeaderPattern]) -> Result<Vec<Printed>, RenderError> {
    let mut seen = BTreeSet::new();
    let mut is_new = |pattern: &&HeaderPattern| pattern.exact().is_none_or(|text| seen.insert(text));
    patterns.iter().filter(|pattern| is_new(pattern)).map(|pattern| Printed::quoted(&pattern.map_key())).collect()
}

/// Address ranges, one argument each.
pub(crate) fn networks(set: &CidrSet) -> Result<Vec<Printed>, RenderError> {
    set.iter().map(Printed::word).collect()
}
