//! The Lua side: its modules, compiled in, and what `nginx.conf` tells it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::options::RequestCounting;
use model::{Fixed, Globals};
use ngx_value::LOCAL_NETWORKS;
use serde::Serialize;
use settings::Config;
use settings::groups::LogPreset;

use crate::Capabilities;
use crate::files::File;
use crate::profile::answers;
use crate::render::Input;
use crate::server::resolves_ipv6;

/// The modules of `lua/narthex`: path below the work directory, and content. In the order of names.
const MODULES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/lua_modules.rs"));

/// The modules.
pub(crate) fn files() -> impl Iterator<Item = File> {
    MODULES.iter().copied().map(|(path, text)| File { path: path.into(), mode: 0o644, bytes: text.into() })
}

/// What `narthex.config` decodes when NGINX starts.
#[derive(Serialize)]
struct Settings<'a> {
    revision: &'a str,
    /// Named locations without their `@`.
    profiles: Vec<&'a str>,
    /// The same of server blocks of single hosts, by the host.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    host_servers: BTreeMap<&'a str, HostServerSettings<'a>>,
    /// Those that answer for backends without endpoints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answering: Vec<&'a str>,
    ssl_redirect: bool,
    force_ssl_redirect: bool,
    preserve_trailing_slash: bool,
    http_redirect_code: u16,
    https_port: u16,
    use_port_in_redirects: bool,
    relative_redirects: bool,
    no_tls_redirect_locations: &'a [String],
    /// Handshakes for names without an Ingress are refused.
    ssl_reject_handshake: bool,
    /// Addresses and networks that may not use Ingresses that say nothing themselves.
    denylist_source_range: Vec<String>,
    /// Of the others only these may. Empty: all.
    whitelist_source_range: Vec<String>,
    /// The header in which the client's address is noted, until NGINX takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    address_header: Option<String>,
    /// 0 = unlimited.
    proxy_body_size: u64,
    /// 0 = no limit.
    proxy_next_upstream_tries: u32,
    /// `Alt-Svc` over TLS.
    alt_svc: Option<String>,
    /// `Strict-Transport-Security` over TLS.
    hsts: Option<String>,
    /// Clear the `Server` header.
    hide_server: bool,
    enable_access_log_for_default_backend: bool,
    health_check_path: &'a str,
    /// Name and value of headers of every answer.
    add_headers: Vec<(&'a str, &'a str)>,
    generate_request_id: bool,
    /// The location that finds the route also proxies what has the default profile and no body: it spares NGINX a change of location.
    serve_base_inline: bool,
    /// Statuses that the default backend answers.
    custom_http_errors: Vec<u16>,
    /// Variables of the route that the text reads.
    route_variables: &'a [&'static str],
    /// What requests and connections are counted by: text with variables.
    limit_conn_zone_variable: &'a str,
    limit_req_status_code: u16,
    limit_conn_status_code: u16,
    tracing: Tracing<'a>,
    /// Errors of Narthex's own have lines in the error log.
    log_reasons: bool,
    /// Answers of Narthex's own have a header with the reason.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reason_header: bool,
    /// The text reads the reason.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reads_reason: bool,
    /// The access log is JSON.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    json_log: bool,
    /// Where requests to URLs of tenants do not go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    local_networks: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    control_ports: Vec<u16>,
    /// UsedVariables for the names in such URLs; IPv6 addresses in brackets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    name_servers: Vec<String>,
    /// Their IPv6 addresses are asked for as well.
    ipv6: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
    /// Shared dictionaries that have another name in the text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    dictionaries: BTreeMap<&'a str, PlaceSettings>,
}

/// A shared dictionary in the text.
#[derive(Serialize)]
struct PlaceSettings {
    name: String,
    /// The one that it is filled from, and that workers of before use.
    #[serde(skip_serializing_if = "Option::is_none")]
    former: Option<String>,
}

fn dictionaries(globals: &Globals) -> BTreeMap<&str, PlaceSettings> {
    let places = globals.places.iter().map(|(name, place)| (name.as_str(), place));
    places.map(|(name, place)| (name, PlaceSettings { name: place.name(name), former: place.former_name(name) })).collect()
}

/// Of request metrics.
#[derive(Serialize)]
struct Metrics {
    /// What names the bounds.
    key: String,
    /// Milliseconds.
    time: Vec<f64>,
    /// Bytes.
    length: Vec<f64>,
    /// Bytes.
    size: Vec<f64>,
    /// What happens to hosts that no Ingress has.
    unknown: &'static str,
    /// Resolution of exponential buckets beside those of the bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_schema: Option<i32>,
}

impl Metrics {
    fn new(counting: &RequestCounting) -> Self {
        Self {
            key: counting.key(),
            time: counting.time.scaled(1000.0).collect(),
            length: counting.length.scaled(1.0).collect(),
            size: counting.size.scaled(1.0).collect(),
            unknown: counting.unknown_hosts.wire(),
            native_schema: counting.native_schema,
        }
    }
}

/// Of traces.
#[derive(Serialize)]
struct Tracing<'a> {
    enable_opentelemetry: bool,
    /// Text with variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    opentelemetry_operation_name: Option<&'a str>,
    opentelemetry_trust_incoming_span: bool,
    otel_sampler: String,
    otel_sampler_ratio: f64,
    otel_sampler_parent_based: bool,
    /// Spans that may wait.
    otel_max_queuesize: u32,
    /// A collector takes the spans (`otlp-collector-host`).
    exports: bool,
}

impl<'a> Tracing<'a> {
    fn new(config: &'a Config) -> Self {
        let observability = &config.observability;
        Self {
            enable_opentelemetry: observability.enable_opentelemetry,
            opentelemetry_operation_name: observability.opentelemetry_operation_name.as_ref().map(|name| name.as_str()),
            opentelemetry_trust_incoming_span: observability.opentelemetry_trust_incoming_span,
            otel_sampler: observability.otel_sampler.to_string(),
            otel_sampler_ratio: observability.otel_sampler_ratio.share(),
            otel_sampler_parent_based: observability.otel_sampler_parent_based,
            otel_max_queuesize: observability.otel_max_queuesize,
            exports: observability.otlp_collector_host.is_some(),
        }
    }
}

/// A server block of one host.
#[derive(Serialize)]
struct HostServerSettings<'a> {
    /// All its names, as records are called.
    names: Vec<&'a str>,
    profiles: Vec<&'a str>,
}

fn host_servers(fixed: &Fixed) -> BTreeMap<&str, HostServerSettings<'_>> {
    let settings = fixed.host_servers.iter().map(|(host, host_server)| {
        let names = std::iter::once(&**host).chain(host_server.aliases.iter().map(|alias| &**alias)).collect();
        let profiles = crate::profile::of_server(fixed, Some(host_server)).into_iter().map(|(id, _)| id).collect();
        (&**host, HostServerSettings { names, profiles })
    });
    settings.collect()
}

/// The settings as JSON.
pub(crate) fn configuration(Input { fixed, caps, revision, used, .. }: Input<'_>) -> String {
    let globals = &*fixed.globals;
    let ipv6 = resolves_ipv6(globals, caps);
    let config = &globals.config;
    let settings = Settings {
        revision,
        profiles: crate::profile::complete(fixed).map(|(id, _)| id).collect(),
        host_servers: host_servers(fixed),
        answering: crate::profile::complete(fixed).filter(|(_, profile)| answers(config, profile)).map(|(id, _)| id).collect(),
        ssl_redirect: config.https.ssl_redirect,
        force_ssl_redirect: config.https.force_ssl_redirect,
        preserve_trailing_slash: config.https.preserve_trailing_slash,
        http_redirect_code: config.https.http_redirect_code,
        https_port: globals.listen.https,
        use_port_in_redirects: config.https.use_port_in_redirects,
        relative_redirects: config.relative_redirects,
        no_tls_redirect_locations: &config.no_tls_redirect_locations,
        ssl_reject_handshake: config.ssl_reject_handshake,
        denylist_source_range: config.access.denylist_source_range.iter().map(ToString::to_string).collect(),
        whitelist_source_range: config.access.whitelist_source_range.iter().map(ToString::to_string).collect(),
        address_header: crate::globals::client::noted_header(globals),
        proxy_body_size: config.proxy.proxy_body_size.bytes,
        proxy_next_upstream_tries: config.proxy.proxy_next_upstream_tries,
        alt_svc: alt_svc(globals),
        hsts: hsts(config),
        hide_server: !config.server_tokens,
        enable_access_log_for_default_backend: config.enable_access_log_for_default_backend,
        health_check_path: &globals.health_check_path,
        add_headers: globals.headers.answer.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        generate_request_id: config.generate_request_id,
        serve_base_inline: serves_base_inline(config),
        custom_http_errors: crate::server::custom_http_errors(config),
        route_variables: used.route.as_deref().unwrap_or_default(),
        limit_conn_zone_variable: config.limits.limit_conn_zone_variable.as_str(),
        limit_req_status_code: config.limits.limit_req_status_code,
        limit_conn_status_code: config.limits.limit_conn_status_code,
        tracing: Tracing::new(config),
        log_reasons: config.observability.log_reasons,
        reason_header: config.observability.enable_reason_header,
        reads_reason: used.reason,
        json_log: config.observability.log_format_preset == Some(LogPreset::Json),
        local_networks: LOCAL_NETWORKS.iter().filter(|_| !globals.allows_local).map(|(network, _)| *network).collect(),
        control_ports: globals.control_ports.iter().copied().filter(|_| !globals.allows_local).collect(),
        name_servers: name_servers(caps, ipv6),
        ipv6,
        metrics: globals.counting.as_ref().map(Metrics::new),
        dictionaries: dictionaries(globals),
    };
    serde_json::to_string(&settings).expect("settings are plain data with string keys")
}

/// The machine's name servers, as NGINX writes addresses; without IPv6 only those with an IPv4 address.
pub(crate) fn name_servers(caps: &Capabilities, ipv6: bool) -> Vec<String> {
    let word = |server: &IpAddr| match server {
        IpAddr::V4(address) => Some(address.to_string()),
        IpAddr::V6(address) if ipv6 => Some(format!("[{address}]")),
        IpAddr::V6(_) => None,
    };
    caps.name_servers.iter().filter_map(word).collect()
}

/// Whether the location that finds the route can proxy as well: there is nothing that it had to decide after the route is known.
pub(crate) fn serves_base_inline(config: &Config) -> bool {
    config.snippets.location_snippet.is_none() && !config.firewall.enable_modsecurity
}

/// How long clients remember that there is HTTP/3: a day.
const HTTP3_SECONDS: u32 = 86_400;

fn alt_svc(globals: &Globals) -> Option<String> {
    let config = &globals.config;
    let port = if config.http3_advertised_port == 0 { globals.listen.https } else { config.http3_advertised_port };
    config.use_http3.then(|| format!("h3=\":{port}\"; ma={HTTP3_SECONDS}"))
}

fn hsts(config: &Config) -> Option<String> {
    let subdomains = if config.hsts_include_subdomains { "; includeSubDomains" } else { "" };
    let preload = if config.hsts_preload { "; preload" } else { "" };
    config.hsts.then(|| format!("max-age={}{subdomains}{preload}", config.hsts_max_age))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::Globals;

    use super::*;
    use crate::used_variables::UsedVariables;

    fn configuration_of(fixed: &Fixed, caps: &Capabilities) -> String {
        let (paths, used) = (crate::Paths::new("/var/lib/narthex"), UsedVariables::default());
        configuration(Input { fixed, caps, paths: &paths, revision: "00ff", used: &used })
    }

    #[test]
    fn lua_is_told_the_settings_in_its_units() {
        let globals = Globals {
            health_check_path: "/healthz".into(),
            control_ports: [10254].into(),
            listen: model::Listen { http: 80, https: 443, passthrough: None, stream: 10247 },
            ..Globals::default()
        };
        let fixed = Fixed { globals: Arc::new(globals), ..Fixed::default() };
        assert_eq!(
            configuration_of(&fixed, &Capabilities { name_servers: vec!["10.0.0.10".parse().unwrap()], ..Capabilities::assumed() }),
            concat!(
                r#"{"revision":"00ff","profiles":["base"],"ssl_redirect":true,"force_ssl_redirect":false,"preserve_trailing_slash":false,"#,
                r#""http_redirect_code":308,"https_port":443,"use_port_in_redirects":false,"relative_redirects":false,"#,
                r#""no_tls_redirect_locations":["/.well-known/acme-challenge"],"ssl_reject_handshake":false,"denylist_source_range":[],"whitelist_source_range":[],"#,
                r#""proxy_body_size":1048576,"proxy_next_upstream_tries":3,"#,
                r#""alt_svc":null,"hsts":"max-age=31536000; includeSubDomains","hide_server":true,"enable_access_log_for_default_backend":false,"health_check_path":"/healthz","#,
                r#""add_headers":[],"generate_request_id":true,"serve_base_inline":true,"custom_http_errors":[],"route_variables":[],"#,
                r#""limit_conn_zone_variable":"$binary_remote_addr","limit_req_status_code":503,"limit_conn_status_code":503,"#,
                r#""tracing":{"enable_opentelemetry":false,"opentelemetry_trust_incoming_span":true,"#,
                r#""otel_sampler":"AlwaysOn","otel_sampler_ratio":0.01,"otel_sampler_parent_based":true,"otel_max_queuesize":2048,"exports":false},"log_reasons":true,"#,
                r#""local_networks":["0.0.0.0/8","127.0.0.0/8","169.254.0.0/16","224.0.0.0/4","255.255.255.255/32","::1/128","::/96","fe80::/10","ff00::/8"],"#,
                r#""control_ports":[10254],"name_servers":["10.0.0.10"],"ipv6":true}"#,
            )
        );
    }

    #[test]
    fn lua_is_told_the_bounds_of_request_metrics_in_milliseconds_and_bytes() {
        let bounds = |text: &str| text.parse().expect("they rise");
        let counting = RequestCounting {
            unknown_hosts: model::options::UnknownHosts::Skip,
            time: bounds("0.005,1"),
            length: bounds("10"),
            size: bounds("10,1e+06"),
            native_schema: None,
        };
        let globals = Globals { counting: Some(counting), ..Globals::default() };
        let text = configuration_of(&Fixed { globals: Arc::new(globals), ..Fixed::default() }, &Capabilities::assumed());
        let metrics =
            r#""metrics":{"key":"0.005,1 10 10,1000000","time":[5.0,1000.0],"length":[10.0],"size":[10.0,1000000.0],"unknown":"skip"}}"#;
        assert!(text.ends_with(metrics), "{text}");
    }

    #[test]
    fn every_module_is_compiled_in_once() {
        let files: Vec<File> = files().collect();
        assert!(files.iter().any(|file| file.path.ends_with("narthex/init.lua")));
        assert!(files.windows(2).all(|pair| pair[0].path != pair[1].path));
    }
}
