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
    "escaped_request_uri",
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
    &["arg_", "cookie_", "geoip2_", "http_", "opentelemetry_", "sent_http_", "sent_trailer_", "ssl_", "tcpinfo_", "upstream_"];

/// Further whole names that logs of operators may have: of NGINX's core, of its modules, of the stream block, and of ours.
const LOGGED: &[&str] = &[
    "ancient_browser",
    "block_ref",
    "block_ua",
    "bytes_received",
    "document_root",
    "fastcgi_path_info",
    "fastcgi_script_name",
    "gzip_ratio",
    "http2",
    "http3",
    "invalid_referer",
    "is_request_port",
    "loggable",
    "memcached_key",
    "modern_browser",
    "msie",
    "nginx_version",
    "pid",
    "pipe",
    "protocol",
    "realpath_root",
    "secure_link",
    "secure_link_expires",
    "session_time",
    "slice_range",
    "spdy",
    "subdomain",
];

/// Beginnings of such names.
const LOGGED_FAMILIES: &[&str] = &[
    "auth_",
    "brotli_",
    "connection_",
    "connections_",
    "date_",
    "geoip_",
    "gzip_",
    "headers_",
    "js_",
    "jwt_",
    "limit_",
    "modsecurity_",
    "narthex_",
    "otel_",
    "proxy_",
    "quic_",
    "realip_",
    "request_",
    "server_",
    "session_",
    "time_",
    "uid_",
    "zstd_",
];

/// `true` if a variable can be there in some NGINX without text that defines it. Rather too many than too few: NGINX has the last word.
pub fn is_built_in(name: &str) -> bool {
    is_known(name) || LOGGED.binary_search(&name).is_ok() || LOGGED_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// `true` if a variable is there in every NGINX that we run, or is empty where its module is missing, and says nothing about the proxy itself.
pub fn is_known(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok() || FAMILIES.iter().any(|family| name.strip_prefix(family).is_some_and(|rest| !rest.is_empty()))
}

/// A complaint about the variables of a text: nothing, a `$` that begins none, a capture, or a name that may not be used.
pub(crate) fn complaint(text: &str) -> Option<String> {
    let Some(parts) = parts(text) else {
        return Some("in which every $ begins a variable such as $host or ${host}".to_owned());
    };
    parts.iter().find_map(|part| match part {
        Part::Literal(_) => None,
        Part::Capture(digit) => Some(format!("without captures such as ${digit}")),
        Part::Variable(name) if is_known(name) => None,
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
        assert!(NAMES.is_sorted() && FAMILIES.is_sorted() && LOGGED.is_sorted() && LOGGED_FAMILIES.is_sorted());
    }

    #[test]
    fn only_known_variables_may_be_used() {
        for text in ["", "a", "$host", "${remote_addr}x", "$http_authorization$cookie_a", "$arg_x1", "$ssl_client_s_dn"] {
            assert_eq!(complaint(text), None, "{text}");
        }
        for (text, expected) in [
            ("$", "in which every $ begins a variable such as $host or ${host}"),
            ("a$b-", "with variables that can be used here, which $b can't"),
            ("$http_", "with variables that can be used here, which $http_ can't"),
            ("$narthex_backend", "with variables that can be used here, which $narthex_backend can't"),
            ("x$1", "without captures such as $1"),
        ] {
            assert_eq!(complaint(text).as_deref(), Some(expected), "{text}");
        }
    }
}
