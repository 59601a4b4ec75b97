//! The variables of NGINX that tenants may use.

use crate::template::{Part, parts};

/// Whole names. Not here: paths of the container, the version, and what only snippets define.
const NAMES: &[&str] = &[
    "args",
    "balancer_ewma_score",
    "best_http_host",
    "binary_remote_addr",
    "body_bytes_sent",
    "bytes_sent",
    "connection",
    "connection_requests",
    "connection_time",
    "connection_upgrade",
    "content_length",
    "content_type",
    "document_uri",
    "full_x_forwarded_for",
    "host",
    "hostname",
    "https",
    "ingress_name",
    "is_args",
    "limit_rate",
    "literal_dollar",
    "location_path",
    "msec",
    "namespace",
    "pass_access_scheme",
    "pass_port",
    "pass_server_port",
    "proxy_add_x_forwarded_for",
    "proxy_alternative_upstream_name",
    "proxy_host",
    "proxy_port",
    "proxy_protocol_addr",
    "proxy_protocol_port",
    "proxy_protocol_server_addr",
    "proxy_protocol_server_port",
    "proxy_upstream_name",
    "query_string",
    "realip_remote_addr",
    "realip_remote_port",
    "remote_addr",
    "remote_port",
    "remote_user",
    "req_id",
    "request",
    "request_id",
    "request_length",
    "request_method",
    "request_time",
    "request_uri",
    "scheme",
    "server_addr",
    "server_name",
    "server_port",
    "server_protocol",
    "service_name",
    "service_port",
    "status",
    "time_iso8601",
    "time_local",
    "uri",
];

/// Beginnings of names that are followed by something.
const FAMILIES: &[&str] =
    &["arg_", "cookie_", "http_", "sent_http_", "sent_trailer_", "upstream_cookie_", "upstream_http_", "upstream_trailer_"];

/// Whole names that share a beginning: of connections, TLS, endpoints.
const FAMILIAR: &[&str] = &[
    "ssl_alpn_protocol",
    "ssl_cipher",
    "ssl_ciphers",
    "ssl_client_cert",
    "ssl_client_escaped_cert",
    "ssl_client_fingerprint",
    "ssl_client_i_dn",
    "ssl_client_i_dn_legacy",
    "ssl_client_raw_cert",
    "ssl_client_s_dn",
    "ssl_client_s_dn_legacy",
    "ssl_client_serial",
    "ssl_client_v_end",
    "ssl_client_v_remain",
    "ssl_client_v_start",
    "ssl_client_verify",
    "ssl_curve",
    "ssl_curves",
    "ssl_early_data",
    "ssl_protocol",
    "ssl_server_name",
    "ssl_session_id",
    "ssl_session_reused",
    "tcpinfo_rcv_space",
    "tcpinfo_rtt",
    "tcpinfo_rttvar",
    "tcpinfo_snd_cwnd",
    "upstream_addr",
    "upstream_bytes_received",
    "upstream_bytes_sent",
    "upstream_cache_etag",
    "upstream_cache_last_modified",
    "upstream_cache_status",
    "upstream_connect_time",
    "upstream_header_time",
    "upstream_response_length",
    "upstream_response_time",
    "upstream_status",
];

/// Variables of databases of places. They are empty where there is none.
const PLACES: &[&str] = &[
    "geoip2_asn",
    "geoip2_city",
    "geoip2_city_continent_code",
    "geoip2_city_continent_name",
    "geoip2_city_country_code",
    "geoip2_city_country_geoname_id",
    "geoip2_city_country_name",
    "geoip2_city_geoname_id",
    "geoip2_connection_type",
    "geoip2_continent_code",
    "geoip2_continent_geoname_id",
    "geoip2_continent_name",
    "geoip2_country_code",
    "geoip2_country_geoname_id",
    "geoip2_country_name",
    "geoip2_dma_code",
    "geoip2_is_anon",
    "geoip2_is_anonymous",
    "geoip2_is_anonymous_vpn",
    "geoip2_is_hosting_provider",
    "geoip2_is_public_proxy",
    "geoip2_is_tor_exit_node",
    "geoip2_isp",
    "geoip2_isp_org",
    "geoip2_latitude",
    "geoip2_longitude",
    "geoip2_org",
    "geoip2_postal_code",
    "geoip2_region_code",
    "geoip2_region_geoname_id",
    "geoip2_region_name",
    "geoip2_subregion_code",
    "geoip2_subregion_geoname_id",
    "geoip2_subregion_name",
    "geoip2_time_zone",
];

/// Further whole names that logs of operators may have: of NGINX's core and of the modules that every NGINX has, and of ours.
const LOGGED: &[&str] = &[
    "ancient_browser",
    "block_ref",
    "block_ua",
    "connections_active",
    "connections_reading",
    "connections_waiting",
    "connections_writing",
    "date_gmt",
    "date_local",
    "document_root",
    "fastcgi_path_info",
    "fastcgi_script_name",
    "gzip_ratio",
    "http2",
    "invalid_referer",
    "limit_conn_status",
    "limit_req_status",
    "loggable",
    "modern_browser",
    "msie",
    "narthex_reason",
    "narthex_trace_flags",
    "nginx_version",
    "opentelemetry_span_id",
    "opentelemetry_trace_id",
    "pid",
    "pipe",
    "realpath_root",
    "request_body",
    "request_body_file",
    "request_completion",
    "request_filename",
    "secure_link",
    "secure_link_expires",
    "slice_range",
    "uid_got",
    "uid_reset",
    "uid_set",
];

/// Those of the stream block.
const STREAM: &[&str] = &[
    "binary_remote_addr",
    "bytes_received",
    "bytes_sent",
    "connection",
    "hostname",
    "limit_conn_status",
    "msec",
    "nginx_version",
    "pid",
    "protocol",
    "proxy_protocol_addr",
    "proxy_protocol_port",
    "proxy_protocol_server_addr",
    "proxy_protocol_server_port",
    "proxy_upstream_name",
    "realip_remote_addr",
    "realip_remote_port",
    "remote_addr",
    "remote_port",
    "server_addr",
    "server_port",
    "session_time",
    "ssl_preread_alpn_protocols",
    "ssl_preread_protocol",
    "ssl_preread_server_name",
    "status",
    "time_iso8601",
    "time_local",
    "upstream_addr",
    "upstream_bytes_received",
    "upstream_bytes_sent",
    "upstream_connect_time",
    "upstream_first_byte_time",
    "upstream_session_time",
];

/// `true` if a variable is there in the `http` block without text of the operator's that defines it.
pub fn is_built_in(name: &str) -> bool {
    is_known(name) || LOGGED.binary_search(&name).is_ok()
}

/// `true` if a variable is there in the stream block without text of the operator's that defines it.
pub fn is_stream(name: &str) -> bool {
    STREAM.binary_search(&name).is_ok()
}

/// The names for which [`is_built_in`] is true, and one of each family.
pub fn built_in() -> impl Iterator<Item = String> {
    let names = [NAMES, FAMILIAR, PLACES, LOGGED].into_iter().flatten().map(|name| (*name).to_owned());
    names.chain(FAMILIES.iter().map(|family| format!("{family}x")))
}

/// The names for which [`is_stream`] is true.
pub fn of_stream() -> impl Iterator<Item = &'static str> {
    STREAM.iter().copied()
}

/// Those of databases of places.
pub fn of_places() -> impl Iterator<Item = &'static str> {
    PLACES.iter().copied()
}

/// `true` if a variable is there in every NGINX that we run, or is empty where its module is missing, and says nothing about the proxy itself.
pub fn is_known(name: &str) -> bool {
    let is_listed = [NAMES, FAMILIAR, PLACES].iter().any(|names| names.binary_search(&name).is_ok());
    is_listed || FAMILIES.iter().any(|family| name.strip_prefix(family).is_some_and(|rest| !rest.is_empty()))
}

/// Names that Lua knows besides, in the texts that it expands: no directive may have them.
const EXPANDED: &[&str] = &["escaped_request_uri"];

/// `true` if a variable is there in a text that Lua expands.
pub fn is_expanded(name: &str) -> bool {
    is_known(name) || EXPANDED.contains(&name)
}

/// A complaint about the variables of a text that Lua expands, as [`complaint`].
pub(crate) fn complaint_of_expanded(text: &str) -> Option<String> {
    complaint_unless(text, is_expanded)
}

/// A complaint about the variables of a text: nothing, a `$` that begins none, a capture, or a name that may not be used.
pub(crate) fn complaint(text: &str) -> Option<String> {
    complaint_unless(text, is_known)
}

fn complaint_unless(text: &str, is_usable: fn(&str) -> bool) -> Option<String> {
    let Some(parts) = parts(text) else {
        return Some("in which every $ begins a variable such as $host or ${host}".to_owned());
    };
    parts.iter().find_map(|part| match part {
        Part::Literal(_) => None,
        Part::Capture(digit) => Some(format!("without captures such as ${digit}")),
        Part::Variable(name) if is_usable(name) => None,
        Part::Variable(name) => Some(format!("with variables that can be used here, which ${name} can't")),
    })
}

/// `true` if a brace is not part of a variable.
pub(crate) fn has_stray_brace(text: &str) -> bool {
    parts(text).is_some_and(|parts| parts.iter().any(|part| matches!(part, Part::Literal(literal) if literal.contains(['{', '}']))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted() {
        for names in [NAMES, FAMILIES, FAMILIAR, PLACES, LOGGED, STREAM] {
            assert!(names.is_sorted(), "{names:?}");
        }
    }

    #[test]
    fn only_known_variables_may_be_used() {
        assert_eq!((complaint("$escaped_request_uri").is_some(), complaint_of_expanded("$escaped_request_uri")), (true, None));
        for text in ["", "a", "$host", "${remote_addr}x", "$http_authorization$cookie_a", "$arg_x1", "$ssl_client_s_dn"] {
            assert_eq!(complaint(text), None, "{text}");
        }
        for (text, expected) in [
            ("$", "in which every $ begins a variable such as $host or ${host}"),
            ("a$b-", "with variables that can be used here, which $b can't"),
            ("$ssl_nothing", "with variables that can be used here, which $ssl_nothing can't"),
            ("$http_", "with variables that can be used here, which $http_ can't"),
            ("$narthex_backend", "with variables that can be used here, which $narthex_backend can't"),
            ("x$1", "without captures such as $1"),
        ] {
            assert_eq!(complaint(text).as_deref(), Some(expected), "{text}");
        }
    }
}
