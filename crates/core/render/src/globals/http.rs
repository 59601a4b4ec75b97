//! The `http` block itself.

use model::{Fixed, Globals};
use ngx_value::Size;
use serde::Serialize;
use settings::Config;

use super::compression::Compression;
use super::hashes::Hashes;
use super::path;
use crate::directive::DirectiveView;
use crate::lua;
use crate::pass;
use crate::print::Printed;
use crate::render::Input;
use crate::server::resolves_ipv6;
use crate::{Capabilities, Paths, RenderError};

/// What `http.conf` prints besides its partials.
#[derive(Serialize)]
pub(super) struct HttpView {
    lua_package_path: Printed,
    dicts: Vec<Dict>,
    regexes: u32,
    lua_config: Printed,
    temp: Temp,
    keepalive_min_timeout: Option<u32>,
    /// Those that are one setting each.
    directives: Vec<DirectiveView>,
    hashes: Hashes,
    hidden_headers: Vec<Printed>,
    pass_server_header: bool,
    absolute_redirect: bool,
    resolver: Option<Printed>,
    gzip: Option<Compression>,
    brotli: Option<Compression>,
    zstd: Option<Compression>,
    http3: Option<Http3>,
    upstreams: Vec<Upstream>,
}

#[derive(Serialize)]
struct Dict {
    name: Printed,
    size: Printed,
}

/// Directories of buffered bodies. NGINX makes them all, whichever it uses.
#[derive(Serialize)]
struct Temp {
    client_body: Printed,
    proxy: Printed,
    fastcgi: Printed,
    uwsgi: Printed,
    scgi: Printed,
}

#[derive(Serialize)]
struct Http3 {
    streams: u32,
    retry: bool,
}

#[derive(Serialize)]
struct Upstream {
    name: Printed,
    keepalive: Option<u32>,
    keepalive_time: Printed,
    keepalive_timeout: u32,
    keepalive_requests: u32,
}

/// Longest time, in seconds, that an old worker leaves an idle connection open for a request that is already on its way.
const KEEPALIVE_MIN_TIMEOUT: u32 = 5;

/// Compiled regular expressions that a worker keeps: about 2 KB each. More than hosts may have together, as those of former records stay.
const REGEXES: u32 = 65_536;

impl HttpView {
    pub(super) fn new<'a>(input: Input<'_>, names: impl Iterator<Item = &'a str>) -> Result<Self, RenderError> {
        let Input { fixed, caps, paths, .. } = input;
        let globals = &*fixed.globals;
        let config = &globals.config;
        let keepalive = config.keep_alive.0;
        Ok(Self {
            lua_package_path: path(&paths.lua_dir().join("?.lua;;"))?,
            dicts: dicts(globals)?,
            regexes: REGEXES,
            lua_config: Printed::lua(&lua::configuration(input)),
            temp: Temp::new(paths)?,
            keepalive_min_timeout: caps.has_keepalive_min_timeout().then_some(KEEPALIVE_MIN_TIMEOUT.min(keepalive)),
            directives: DirectiveView::http(config)?,
            hashes: Hashes::new(fixed, names),
            hidden_headers: config.headers.hide_headers.iter().map(Printed::word).collect::<Result<_, _>>()?,
            // Without `server-tokens` no answer has the header: of several that an endpoint sends, Lua could remove only one.
            pass_server_header: config.headers.allow_backend_server_header && config.server_tokens,
            absolute_redirect: !config.relative_redirects,
            resolver: resolver(caps, resolves_ipv6(globals, caps))?,
            gzip: Compression::gzip(config)?,
            brotli: Compression::brotli(config, caps)?,
            zstd: Compression::zstd(config, caps)?,
            http3: config.use_http3.then_some(Http3 { streams: config.http3_max_concurrent_streams, retry: config.quic_retry }),
            upstreams: upstreams(fixed)?,
        })
    }
}

fn dicts(globals: &Globals) -> Result<Vec<Dict>, RenderError> {
    let mut dicts = Vec::new();
    for (name, size) in &globals.config.lua_shared_dicts {
        let place = globals.places.get(name).copied().unwrap_or_default();
        dicts.push(Dict::new(place.name(name.as_str()), *size)?);
        if let Some((former, size)) = place.former_name(name.as_str()).zip(place.former) {
            dicts.push(Dict::new(former, size)?);
        }
    }
    Ok(dicts)
}

impl Dict {
    /// Units in capitals, as the predecessor wrote them: people search for them.
    fn new(name: String, size: Size) -> Result<Self, RenderError> {
        Ok(Self { name: Printed::word(name)?, size: Printed::word(size.to_string().to_uppercase())? })
    }
}

/// The machine's name servers; without IPv6, only those with an IPv4 address, and no AAAA records.
fn resolver(caps: &Capabilities, ipv6: bool) -> Result<Option<Printed>, RenderError> {
    let servers = lua::name_servers(caps, ipv6);
    if servers.is_empty() {
        return Ok(None);
    }
    let option = (!ipv6).then(|| "ipv6=off".to_owned());
    Printed::words(servers.into_iter().chain(option)).map(Some)
}

impl Temp {
    fn new(paths: &Paths) -> Result<Self, RenderError> {
        let directory = |name: &str| path(&paths.temp_dir().join(name));
        Ok(Self {
            client_body: directory("client_body")?,
            proxy: directory("proxy")?,
            fastcgi: directory("fastcgi")?,
            uwsgi: directory("uwsgi")?,
            scgi: directory("scgi")?,
        })
    }
}

/// That of plain HTTP, and one for each other kind of connection.
fn upstreams(fixed: &Fixed) -> Result<Vec<Upstream>, RenderError> {
    let config = &fixed.globals.config;
    let plain = (pass::PLAIN_UPSTREAM.to_owned(), true);
    [plain].into_iter().chain(pass::upstreams(fixed)).map(|(name, reusable)| Upstream::new(config, &name, reusable)).collect()
}

impl Upstream {
    fn new(config: &Config, name: &str, reusable: bool) -> Result<Self, RenderError> {
        Ok(Self {
            name: Printed::word(name)?,
            keepalive: Some(config.upstream_keepalive_connections).filter(|connections| reusable && *connections > 0),
            keepalive_time: Printed::word(config.upstream_keepalive_time)?,
            keepalive_timeout: config.upstream_keepalive_timeout.0,
            keepalive_requests: config.upstream_keepalive_requests,
        })
    }
}
