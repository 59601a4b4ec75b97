//! Server blocks: the one of all hosts without text of their own, and those of single hosts.

use std::net::IpAddr;
use std::path::Path;

use model::{Fixed, Globals, HostServer, Listen, Protocol, StreamPort, StreamService};
use serde::Serialize;
use settings::Config;

use crate::clients::ClientsView;
use crate::globals::client::{networks, noted_header};
use crate::print::Printed;
use crate::{Capabilities, Paths, RenderError};

/// A `server` block: `server.conf`, profiles, `server_end.conf`.
#[derive(Serialize)]
pub(crate) struct ServerView {
    /// What it is, for the reader.
    comment: Printed,
    /// How quickly answers are sent unless the route says otherwise.
    rate_kib: Option<Printed>,
    /// Errors that the default backend answers, unless the route says otherwise; those of endpoints as well.
    custom_http_errors: Vec<u16>,
    intercept_errors: bool,
    /// The client's address is noted before the route is looked for.
    notes_address: bool,
    /// The location that finds the route.
    entry: Printed,
    /// ModSecurity looks at everything.
    firewall: bool,
    /// The page with NGINX's counters.
    status: Option<StatusView>,
    #[serde(flatten)]
    common: Common,
}

/// The page with NGINX's counters.
#[derive(Serialize)]
struct StatusView {
    /// Networks that may read it.
    allowed: Vec<Printed>,
}

impl StatusView {
    fn new(globals: &Globals, caps: &Capabilities) -> Result<Self, RenderError> {
        let config = &globals.config;
        let mut allowed = networks(&config.nginx_status_ipv4_whitelist)?;
        if has_ipv6(globals, caps) {
            allowed.extend(networks(&config.nginx_status_ipv6_whitelist)?);
        }
        Ok(Self { allowed })
    }
}

/// What stands at the beginning of every `server` block.
#[derive(Serialize)]
struct Common {
    names: Printed,
    listen: Vec<ListenView>,
    /// The client's address is what the PROXY protocol says, other than in the rest of the http block.
    behind_stream: bool,
    /// The header in which the client's address is noted before NGINX takes it.
    noted_header: Option<Printed>,
    /// `http2 on`.
    http2: bool,
    /// Values of some header are refused.
    blocks_agents: bool,
    blocks_referers: bool,
    /// Client certificates.
    clients: Option<ClientsView>,
    /// `ssl_ciphers` of the host.
    ciphers: Option<Printed>,
    /// `ssl_prefer_server_ciphers` of the host.
    prefer_server_ciphers: Option<bool>,
    /// `server-snippet` of the host.
    snippet: Option<Printed>,
}

/// A `listen` directive.
#[derive(Serialize)]
pub(crate) struct ListenView {
    address: Printed,
    options: Printed,
}

/// Which connections a server block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// All.
    Both,
    /// Plain HTTP.
    Plain,
    /// TLS.
    Tls,
}

/// Which names of a host a server block has. Of regular expressions NGINX takes the first in its configuration: those that are aliases stand in
/// blocks of their own, behind all wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// The host, and aliases.
    Own,
    /// Aliases that are regular expressions.
    Regexes,
}

impl Names {
    /// The blocks that a host needs.
    pub(crate) fn has(self, host_server: &HostServer) -> bool {
        self == Self::Own || host_server.aliases.iter().any(|alias| alias.starts_with('~'))
    }
}

impl Side {
    /// The blocks that each host needs. Two if the client's address comes from a header on the one and from the stream block on the other,
    /// which is known before there is a location.
    pub(crate) fn all(globals: &Globals) -> &'static [Self] {
        let config = &globals.config;
        let by_header = !config.use_proxy_protocol && (config.use_forwarded_headers || config.enable_real_ip);
        if globals.listen.passthrough.is_some() && by_header { &[Self::Plain, Self::Tls] } else { &[Self::Both] }
    }
}

impl ServerView {
    /// The server of every host that has none of its own.
    pub(crate) fn catch_all(fixed: &Fixed, caps: &Capabilities, paths: &Paths, side: Side) -> Result<Self, RenderError> {
        let globals = &*fixed.globals;
        let comment = Printed::comment("every host: Lua finds the route");
        // Those that another server's pattern would catch: a literal name wins.
        let (wildcards, pinned_names): (Vec<&str>, Vec<&str>) =
            fixed.pinned_names.iter().map(|name| &**name).partition(|name| name.starts_with('*'));
        let names = ["_".to_owned()].into_iter().chain(pinned_names.into_iter().map(str::to_owned));
        let names: Vec<String> = names.chain(server_names(&wildcards)).collect();
        let common = Common::new(globals, caps, paths, &names, None, true, side)?;
        Ok(Self { status: Some(StatusView::new(globals, caps)?), ..Self::new(globals, comment, common) })
    }

    /// The server of a host with text of its own.
    pub(crate) fn host_server(
        globals: &Globals,
        caps: &Capabilities,
        paths: &Paths,
        host: &str,
        host_server: &HostServer,
        side: Side,
        names: Names,
    ) -> Result<Self, RenderError> {
        let aliases =
            host_server.aliases.iter().filter(|alias| alias.starts_with('~') == (names == Names::Regexes)).map(ToString::to_string);
        let host_name = (names == Names::Own).then(|| server_name(host));
        let names: Vec<String> = host_name.into_iter().chain(aliases).collect();
        let comment = Printed::comment(&format!("host {host}: the same routes, and text of its own"));
        Ok(Self::new(globals, comment, Common::new(globals, caps, paths, &names, Some(host_server), false, side)?))
    }

    fn new(globals: &Globals, comment: Printed, common: Common) -> Self {
        let custom_http_errors: Vec<u16> = custom_http_errors(&globals.config);
        let notes_address = common.noted_header.is_some();
        Self {
            comment,
            notes_address,
            entry: Printed::fixed(if notes_address { r#""@narthex_router\n""# } else { "/" }),
            rate_kib: Some(globals.config.limits.limit_rate).filter(|rate| *rate > 0).map(Printed::size_kib),
            intercept_errors: intercepts(&globals.config),
            custom_http_errors,
            firewall: globals.config.firewall.enable_modsecurity,
            status: None,
            common,
        }
    }
}

/// Whether errors of endpoints are taken over, unless a route says otherwise.
pub(crate) fn intercepts(config: &Config) -> bool {
    !config.errors.custom_http_errors.is_empty() && !config.errors.disable_proxy_intercept_errors
}

/// The global list of errors that are taken over.
pub(crate) fn custom_http_errors(config: &Config) -> Vec<u16> {
    config.errors.custom_http_errors.iter().map(|status| status.code()).collect()
}

impl Common {
    /// `names` as NGINX writes them: [`server_name`] for hosts, aliases as they are.
    fn new(
        globals: &Globals,
        caps: &Capabilities,
        paths: &Paths,
        names: &[String],
        host_server: Option<&HostServer>,
        default: bool,
        side: Side,
    ) -> Result<Self, RenderError> {
        let config = &globals.config;
        Ok(Self {
            names: Printed::all_quoted(names.iter().map(String::as_str))?,
            listen: listen(globals, caps, paths, default, side)?,
            behind_stream: side == Side::Tls,
            noted_header: noted_header(globals).filter(|_| side != Side::Plain).map(Printed::word).transpose()?,
            http2: config.use_http2 && caps.has_http2_directive(),
            blocks_agents: !config.block_user_agents.is_empty(),
            blocks_referers: !config.block_referers.is_empty(),
            clients: host_server.and_then(|host_server| host_server.clients.as_ref()).map(ClientsView::new).transpose()?,
            ciphers: host_server.and_then(|host_server| host_server.ciphers.as_ref()).map(Printed::word).transpose()?,
            prefer_server_ciphers: host_server.and_then(|host_server| host_server.prefer_server_ciphers),
            snippet: host_server.and_then(|host_server| host_server.snippet.as_ref()).map(Printed::raw),
        })
    }
}

/// How NGINX names a host: a wildcard covers exactly one label, which its own wildcards don't do.
pub(crate) fn server_name(host: &str) -> String {
    match host.strip_prefix("*.") {
        Some(parent) => format!(r"~^(?<subdomain>[\w-]+)\.{}$", parent.replace('.', r"\.")),
        None => host.to_owned(),
    }
}

/// Wildcards that share a server: few regular expressions, as each request for another name is held against all. NGINX reads words of up to
/// 4096 bytes.
fn server_names(wildcards: &[&str]) -> Vec<String> {
    const LONGEST: usize = 3000;
    let mut lists: Vec<String> = Vec::new();
    for parent in wildcards.iter().filter_map(|wildcard| wildcard.strip_prefix("*.")).map(|parent| parent.replace('.', r"\.")) {
        match lists.last_mut().filter(|list| list.len() + parent.len() < LONGEST) {
            Some(list) => {
                list.push('|');
                list.push_str(&parent);
            }
            None => lists.push(parent),
        }
    }
    lists.into_iter().map(|list| format!(r"~^[\w-]+\.(?:{list})$")).collect()
}

/// Addresses in the order HTTP, HTTPS, HTTP/3, and IPv4 before IPv6. Options of the socket itself stand at the default server only.
fn listen(globals: &Globals, caps: &Capabilities, paths: &Paths, default: bool, side: Side) -> Result<Vec<ListenView>, RenderError> {
    let config = &globals.config;
    let Listen { http, https, passthrough, .. } = globals.listen;
    let options = |proxied: bool, tls: bool, unix: bool| {
        let mut words = Vec::new();
        words.extend(proxied.then(|| "proxy_protocol".to_owned()));
        if default {
            words.push("default_server".to_owned());
            words.extend((config.reuse_port && !unix).then(|| "reuseport".to_owned()));
            words.push(format!("backlog={}", caps.backlog));
        }
        words.extend(tls.then(|| "ssl".to_owned()));
        words.extend((tls && config.use_http2 && !caps.has_http2_directive()).then(|| "http2".to_owned()));
        Printed::options(words)
    };

    let mut views = Vec::new();
    if side != Side::Tls {
        for address in addresses(globals, caps, http) {
            views.push(ListenView { address: Printed::word(address)?, options: options(config.use_proxy_protocol, false, false)? });
        }
    }
    if side != Side::Plain {
        if passthrough.is_some() {
            views.push(ListenView { address: unix(&paths.https_socket())?, options: options(true, true, true)? });
        }
        let proxied = passthrough.is_some() || config.use_proxy_protocol;
        for address in addresses(globals, caps, passthrough.unwrap_or(https)) {
            views.push(ListenView { address: Printed::word(address)?, options: options(proxied, true, false)? });
        }
        // Packets do not pass the stream block, and carry no PROXY protocol.
        for address in addresses(globals, caps, https).into_iter().filter(|_| config.use_http3) {
            // A socket for each worker: each reads the packets of its own connections.
            let words: &[&str] = if default { &["quic", "default_server", "reuseport"] } else { &["quic"] };
            views.push(ListenView { address: Printed::word(address)?, options: Printed::options(words)? });
        }
    }
    Ok(views)
}

/// Where the stream block takes TLS connections.
pub(crate) fn listen_for_tls(globals: &Globals, caps: &Capabilities) -> Result<Vec<ListenView>, RenderError> {
    let config = &globals.config;
    let mut words = Vec::new();
    words.extend(config.use_proxy_protocol.then(|| "proxy_protocol".to_owned()));
    words.extend(config.reuse_port.then(|| "reuseport".to_owned()));
    words.push(format!("backlog={}", caps.backlog));
    words.push("so_keepalive=on".to_owned());
    let view = |address| Ok(ListenView { address: Printed::word(address)?, options: Printed::options(&words)? });
    addresses(globals, caps, globals.listen.https).into_iter().map(view).collect()
}

/// Where the stream block takes connections to a TCP service or datagrams to a UDP service. Those of one client have to reach the same worker, which is
/// what a socket of its own (`reuseport`) does.
pub(crate) fn listen_for_service(
    globals: &Globals,
    caps: &Capabilities,
    port: StreamPort,
    service: &StreamService,
) -> Result<Vec<ListenView>, RenderError> {
    let mut words = Vec::new();
    if port.protocol == Protocol::Udp {
        words.push("udp".to_owned());
        words.extend(globals.config.reuse_port.then(|| "reuseport".to_owned()));
    } else {
        words.extend(service.accepts_proxy.then(|| "proxy_protocol".to_owned()));
        words.extend(service.certificate.is_some().then(|| "ssl".to_owned()));
        words.push(format!("backlog={}", caps.backlog));
    }
    let view = |address| Ok(ListenView { address: Printed::word(address)?, options: Printed::options(&words)? });
    addresses(globals, caps, port.number).into_iter().map(view).collect()
}

/// A unix socket as an argument of a directive.
pub(crate) fn unix(path: &Path) -> Result<Printed, RenderError> {
    Printed::quoted(&format!("unix:{}", path.display()))
}

/// The addresses of one port. A family without an address of its own in `bind-address` listens on all of its addresses.
fn addresses(globals: &Globals, caps: &Capabilities, port: u16) -> Vec<String> {
    let (v4, v6) = globals.config.bind_address.iter().partition::<Vec<&IpAddr>, _>(|address| address.is_ipv4());
    let mut addresses: Vec<String> = v4.iter().map(|address| format!("{address}:{port}")).collect();
    if v4.is_empty() {
        addresses.push(port.to_string());
    }
    if has_ipv6(globals, caps) {
        addresses.extend(v6.iter().map(|address| format!("[{address}]:{port}")));
        if v6.is_empty() {
            addresses.push(format!("[::]:{port}"));
        }
    }
    addresses
}

/// Whether to listen on IPv6.
pub(crate) fn has_ipv6(globals: &Globals, caps: &Capabilities) -> bool {
    caps.ipv6 && !globals.config.disable_ipv6
}

/// Whether to look up IPv6 addresses of names.
pub(crate) fn resolves_ipv6(globals: &Globals, caps: &Capabilities) -> bool {
    globals.config.disable_ipv6_dns.map_or(caps.ipv6, |disabled| !disabled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_host_is_a_regex_of_one_label() {
        assert_eq!(server_name("foo.com"), "foo.com");
        assert_eq!(server_name("*.foo.com"), r"~^(?<subdomain>[\w-]+)\.foo\.com$");
    }
}
