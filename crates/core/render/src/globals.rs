//! The main context and the `http` block: flags, ConfigMap, capabilities.

pub(crate) mod client;
pub(crate) mod compression;
pub(crate) mod geoip;
mod hashes;
mod http;
mod json;
mod log;
mod main;
pub(crate) mod stream;
mod tls;

use serde::Serialize;

use self::client::{MapsView, RealIp};
use self::geoip::GeoIpView;
use self::http::HttpView;
use self::log::LogView;
use self::main::MainView;
pub(crate) use self::tls::{TlsView, files as tls_files};
use crate::RenderError;
use crate::firewall::GlobalFirewall;
use crate::print::Printed;
use crate::proxy::{HeadersView, ProxyView};
use crate::render::Input;

/// What `main.conf`, `http.conf` and their partials print.
#[derive(Serialize)]
pub(crate) struct GlobalView {
    main: MainView,
    http: HttpView,
    real_ip: Option<RealIp>,
    block_cidrs: Vec<Printed>,
    maps: MapsView,
    geoip: GeoIpView,
    log: LogView,
    tls: TlsView,
    proxy: ProxyView,
    headers: HeadersView,
    firewall: Option<GlobalFirewall>,
    http_snippet: Option<Printed>,
}

impl GlobalView {
    /// `names` are the server names that the file will have, for the size of their hash table.
    pub(crate) fn new<'a>(input: Input<'_>, names: impl Iterator<Item = &'a str>) -> Result<Self, RenderError> {
        let Input { fixed, caps, paths, used, .. } = input;
        let globals = &*fixed.globals;
        let config = &globals.config;
        Ok(Self {
            main: MainView::new(input)?,
            http: HttpView::new(input, names)?,
            real_ip: RealIp::new(globals)?,
            block_cidrs: client::networks(&config.block_cidrs)?,
            maps: MapsView::new(globals, used)?,
            geoip: GeoIpView::new(globals, caps, used)?,
            log: LogView::new(config)?,
            tls: TlsView::new(globals, paths)?,
            proxy: ProxyView::new(config)?,
            headers: HeadersView::http(globals)?,
            firewall: GlobalFirewall::new(config, paths)?,
            http_snippet: config.snippets.http_snippet.as_ref().map(Printed::raw),
        })
    }
}

/// A path as an argument of a directive.
pub(crate) fn path(path: &std::path::Path) -> Result<Printed, RenderError> {
    let text = path.to_str().ok_or_else(|| RenderError::WorkDir { path: path.to_owned(), reason: "expected UTF-8" })?;
    Printed::quoted(text)
}
