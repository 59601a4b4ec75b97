//! What NGINX does only with a module that need not be there.

use std::collections::BTreeSet;

use settings::Config;

/// Something that a package of its own brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Module {
    /// ModSecurity.
    Firewall,
    /// The OWASP core rule set.
    CoreRules,
    /// Compression with brotli.
    Brotli,
    /// Compression with zstd.
    Zstd,
    /// Places and networks of clients.
    GeoIp,
    /// TCP and UDP.
    Stream,
    /// Decisions about them.
    StreamScript,
    /// HTTP/3, which is part of the binary.
    Http3,
}

impl Module {
    /// What it is and how to get it.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Firewall => "the module ngx_http_modsecurity_module (Debian package libnginx-mod-http-modsecurity)",
            Self::CoreRules => "the OWASP core rule set (Debian package modsecurity-crs)",
            Self::Brotli => "the module ngx_http_brotli_filter_module (Debian package libnginx-mod-http-brotli-filter)",
            Self::Zstd => "the module ngx_http_zstd_filter_module (of zstd-nginx-module; Debian has no package of it)",
            Self::GeoIp => "the module ngx_http_geoip2_module (Debian package libnginx-mod-http-geoip2)",
            Self::Stream => "the module ngx_stream_module (Debian package libnginx-mod-stream)",
            Self::StreamScript => "the module ngx_stream_js_module (Debian package libnginx-mod-stream-js)",
            Self::Http3 => "an NGINX that was built with HTTP/3 (that of Debian 13 is)",
        }
    }
}

/// What to say about the collector of traces.
pub(crate) fn collector_remark(config: &Config) -> Option<(&'static str, &'static str)> {
    const HTTP: u16 = 4318;
    let observability = &config.observability;
    match observability.otlp_collector_host {
        None if observability.enable_opentelemetry => Some((
            "enable-opentelemetry",
            "otlp-collector-host names no collector; the context of traces is passed on, and no span is recorded",
        )),
        Some(_) if observability.otlp_collector_port == HTTP => Some((
            "otlp-collector-host",
            "spans are sent as OTLP over gRPC, and at port 4318 collectors expect HTTP; otlp-collector-port is 4317 at most of them",
        )),
        _ => None,
    }
}

/// Takes settings back for which something is missing, and names them.
pub(crate) fn withhold(config: &mut Config, missing: &BTreeSet<Module>) -> Vec<(&'static str, Module)> {
    let defaults = Config::default();
    let mut withheld = Vec::new();
    let firewall = &mut config.firewall;
    if firewall.enable_modsecurity && missing.contains(&Module::Firewall) {
        firewall.enable_modsecurity = false;
        withheld.push(("enable-modsecurity", Module::Firewall));
    }
    if firewall.enable_modsecurity && firewall.enable_owasp_modsecurity_crs && missing.contains(&Module::CoreRules) {
        firewall.enable_owasp_modsecurity_crs = false;
        withheld.push(("enable-owasp-modsecurity-crs", Module::CoreRules));
    }
    if config.enable_brotli && missing.contains(&Module::Brotli) {
        config.enable_brotli = false;
        withheld.push(("enable-brotli", Module::Brotli));
    }
    if config.enable_zstd && missing.contains(&Module::Zstd) {
        config.enable_zstd = false;
        withheld.push(("enable-zstd", Module::Zstd));
    }
    if config.use_geoip2 && missing.contains(&Module::GeoIp) {
        config.use_geoip2 = false;
        withheld.push(("use-geoip2", Module::GeoIp));
    }
    if config.snippets.stream_snippet.is_some() && missing.contains(&Module::Stream) {
        config.snippets.stream_snippet = defaults.snippets.stream_snippet;
        withheld.push(("stream-snippet", Module::Stream));
    }
    if config.use_http3 && missing.contains(&Module::Http3) {
        config.use_http3 = defaults.use_http3;
        withheld.push(("use-http3", Module::Http3));
    }
    withheld
}
