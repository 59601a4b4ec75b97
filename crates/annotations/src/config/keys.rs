//! The keys, one block each: a flat table.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ngx_value::{
    CidrSet, HeaderName, HeaderPattern, HttpVersion, Identifier, LogLevel, NextUpstream, Seconds, Size, Template, Time, TlsProtocol, Word,
};

use super::answers::AnswerDefaults;
use super::dicts::{self, DICTS};
use super::external_auth::ExternalAuthDefaults;
use super::grammar::{
    ADDRESSES, ALLOWED_CIDRS, BOOL, BUFFER, BUFFERS, CIDRS, COUNT, HEADER_PATTERNS, LEVEL, LIST, LOAD_BALANCE, MIME_TYPES, ON_OFF,
    PROTOCOLS, REDIRECT, RISK, SECONDS, SIZE, optional, own,
};
use super::headers::HeaderDefaults;
use super::proxying::ProxyingDefaults;
use super::snippets::SnippetDefaults;
use super::table::{default, settings};
use super::watching::WatchingDefaults;
use super::{HeaderBuffers, Workers};
use crate::groups::LoadBalance;
use crate::table::Risk;

settings! {
    /// The main ConfigMap merged over the defaults. Fields are named like the keys.
    Config in all;
    topics {
        /// External authentication of all locations.
        external_auth: ExternalAuthDefaults,
        /// Defaults of the annotations about errors, answers and limits.
        answers: AnswerDefaults,
        /// Headers of all requests and answers.
        headers: HeaderDefaults,
        /// Logs, traces and the firewall.
        watching: WatchingDefaults,
        /// Defaults of the annotations about endpoints and proxying.
        proxying: ProxyingDefaults,
        /// Text for NGINX from the administrator.
        snippets: SnippetDefaults,
    }

    /// Whether Ingresses may carry `*-snippet` annotations. They are Critical, so `annotations-risk-level` must allow them as well.
    allow_snippet_annotations: bool = false, "allow-snippet-annotations", BOOL, "true", [Ingresses];
    /// Whether annotations may name Secrets and ConfigMaps of other namespaces.
    allow_cross_namespace_resources: bool = false, "allow-cross-namespace-resources", BOOL, "true", [Ingresses];
    /// The highest risk an annotation may have. An Ingress with one above it is not taken.
    annotations_risk_level: Risk = Risk::High, "annotations-risk-level", RISK, "Critical", [Ingresses];
    /// Words that no annotation's value may contain. An Ingress with one is not taken.
    annotation_value_word_blocklist: Vec<String> = Vec::new(), "annotation-value-word-blocklist", LIST, "load_module,lua_package", [Ingresses];
    /// Directives that snippets of Ingresses may hold although the [policy](snippets.md) refuses them.
    allowed_snippet_directives: Vec<String> = Vec::new(), "allowed-snippet-directives", LIST, "env,root", [Ingresses];
    /// Whether paths of type Exact and Prefix may hold only letters, digits and `. _ - /`. Checked by the admission webhook.
    strict_validate_path_type: bool = true, "strict-validate-path-type", BOOL, "false", [];

    /// Redirect plain HTTP to HTTPS on hosts that have a certificate.
    ssl_redirect: bool = true, "ssl-redirect", BOOL, "false", [Text, Ingresses];
    /// Redirect plain HTTP to HTTPS, certificate or not.
    force_ssl_redirect: bool = false, "force-ssl-redirect", BOOL, "true", [Text, Ingresses];
    /// Status of the redirect to HTTPS.
    http_redirect_code: u16 = 308, "http-redirect-code", REDIRECT, "301", [Text];
    /// Keep the slash at the end of the URI in the redirect to HTTPS.
    preserve_trailing_slash: bool = false, "preserve-trailing-slash", BOOL, "true", [Text, Routes];
    /// Rule paths that begin with one of these are never redirected to HTTPS.
    no_tls_redirect_locations: Vec<String> = vec!["/.well-known/acme-challenge".to_owned()], "no-tls-redirect-locations", LIST, "/.well-known/acme-challenge,/healthz", [Text];
    /// Put the port into redirects.
    use_port_in_redirects: bool = false, "use-port-in-redirects", BOOL, "true", [Text, Routes];
    /// Redirects of NGINX itself name only the path.
    relative_redirects: bool = false, "relative-redirects", BOOL, "true", [Text, Routes];

    /// Largest request body; 0 = unlimited. Larger ones are answered with 413.
    proxy_body_size: Size = Size::mib(1), "proxy-body-size", SIZE, "8m", [Text, Routes];
    /// Longest wait for a connection to an endpoint.
    proxy_connect_timeout: Seconds = Seconds(5), "proxy-connect-timeout", SECONDS, "10", [Text, Routes];
    /// Longest wait between two writes to an endpoint.
    proxy_send_timeout: Seconds = Seconds(60), "proxy-send-timeout", SECONDS, "120", [Text, Routes];
    /// Longest wait between two reads from an endpoint.
    proxy_read_timeout: Seconds = Seconds(60), "proxy-read-timeout", SECONDS, "120", [Text, Routes];
    /// Buffer answers.
    proxy_buffering: bool = false, "proxy-buffering", ON_OFF, "on", [Text, Ingresses];
    /// Size of the buffer for the first part of an answer, and of each of the others.
    proxy_buffer_size: Size = Size::kib(4), "proxy-buffer-size", BUFFER, "8k", [Text, Ingresses];
    /// Number of buffers for an answer.
    proxy_buffers_number: u32 = 4, "proxy-buffers-number", BUFFERS, "8", [Text, Ingresses];
    /// Buffer request bodies.
    proxy_request_buffering: bool = true, "proxy-request-buffering", ON_OFF, "off", [Text, Routes];
    /// Version of HTTP towards endpoints.
    proxy_http_version: HttpVersion = HttpVersion::V1_1, "proxy-http-version", own("1.0 or 1.1"), "1.0", [Text, Routes];
    /// When a request goes on to another endpoint.
    proxy_next_upstream: NextUpstream = default("error timeout"), "proxy-next-upstream", own("conditions separated by blanks: error, timeout, invalid_header, http_500, http_502, http_503, http_504, http_403, http_404, http_429, non_idempotent, off"), "error timeout http_502", [Text, Routes];
    /// How long a request may go on to other endpoints; 0 = no limit.
    proxy_next_upstream_timeout: Seconds = Seconds(0), "proxy-next-upstream-timeout", SECONDS, "10", [Text, Routes];
    /// How many endpoints a request may try; 0 = no limit.
    proxy_next_upstream_tries: u32 = 3, "proxy-next-upstream-tries", COUNT, "5", [Text, Routes];
    /// Try again even what must not be sent twice (POST, LOCK, PATCH).
    retry_non_idempotent: bool = false, "retry-non-idempotent", BOOL, "true", [Text, Routes];
    /// How a backend chooses an endpoint.
    load_balance: LoadBalance = LoadBalance::RoundRobin, "load-balance", LOAD_BALANCE, "ewma", [Backends];
    /// Use a Service's own address instead of its endpoints.
    service_upstream: bool = false, "service-upstream", BOOL, "true", [Backends];
    /// Idle connections to endpoints that each worker keeps; 0 = none.
    upstream_keepalive_connections: u32 = 320, "upstream-keepalive-connections", COUNT, "100", [Text];
    /// Requests over one connection to an endpoint.
    upstream_keepalive_requests: u32 = 10_000, "upstream-keepalive-requests", COUNT, "1000", [Text];
    /// How long an idle connection to an endpoint is kept.
    upstream_keepalive_timeout: Seconds = Seconds(60), "upstream-keepalive-timeout", SECONDS, "30", [Text];
    /// How long a connection to an endpoint is used at all.
    upstream_keepalive_time: Time = Time::from_secs(3600), "upstream-keepalive-time", own("a time such as 1h"), "10m", [Text];

    /// Longest wait for the header of a request.
    client_header_timeout: Seconds = Seconds(60), "client-header-timeout", SECONDS, "30", [Text];
    /// Longest wait between two reads of a request body.
    client_body_timeout: Seconds = Seconds(60), "client-body-timeout", SECONDS, "30", [Text];
    /// Buffer for the header of a request.
    client_header_buffer_size: Size = Size::kib(1), "client-header-buffer-size", BUFFER, "4k", [Text];
    /// Number and size of buffers for a longer header.
    large_client_header_buffers: HeaderBuffers = HeaderBuffers { count: 4, size: Size::kib(8) }, "large-client-header-buffers", own("number and size, such as 4 8k"), "8 16k", [Text];
    /// Buffer for a request body; a longer one goes to a file.
    client_body_buffer_size: Size = Size::kib(8), "client-body-buffer-size", BUFFER, "64k", [Text, Routes];
    /// How long an idle connection from a client is kept; 0 = not at all.
    keep_alive: Seconds = Seconds(75), "keep-alive", SECONDS, "30", [Text];
    /// Requests over one connection from a client.
    keep_alive_requests: u32 = 1000, "keep-alive-requests", COUNT, "10000", [Text];
    /// Offer HTTP/2.
    use_http2: bool = true, "use-http2", BOOL, "false", [Text, Routes];
    /// Concurrent requests over one HTTP/2 connection.
    http2_max_concurrent_streams: u32 = 128, "http2-max-concurrent-streams", COUNT, "256", [Text];
    /// Compress answers.
    use_gzip: bool = false, "use-gzip", BOOL, "true", [Text];
    /// How hard to compress.
    gzip_level: u32 = 1, "gzip-level", LEVEL, "5", [Text];
    /// Shorter answers are not compressed; bytes.
    gzip_min_length: u32 = 256, "gzip-min-length", COUNT, "1024", [Text];
    /// What to compress besides `text/html`.
    gzip_types: Vec<Word> = GZIP_TYPES.iter().map(|name| default(name)).collect(), "gzip-types", MIME_TYPES, "text/css application/json", [Text];

    /// Trust `X-Forwarded-For`, `-Proto`, `-Port` and `-Host` of clients.
    use_forwarded_headers: bool = false, "use-forwarded-headers", BOOL, "true", [Text];
    /// Append the peer to `X-Forwarded-For` instead of replacing it. Only with `use-forwarded-headers`.
    compute_full_forwarded_for: bool = false, "compute-full-forwarded-for", BOOL, "true", [Text];
    /// Header that carries the client's address.
    forwarded_for_header: HeaderName = default("X-Forwarded-For"), "forwarded-for-header", own("a header name"), "X-Client-IP", [Text];
    /// Header that backends see as `X-Original-Forwarded-Host`.
    forwarded_host_header: HeaderName = default("X-Forwarded-Host"), "forwarded-host-header", own("a header name"), "X-Client-Host", [Text];
    /// Peers whose word about the client's address is taken. Empty: nobody's.
    proxy_real_ip_cidr: CidrSet = default("0.0.0.0/0"), "proxy-real-ip-cidr", CIDRS, "10.0.0.0/8", [Text];
    /// Take the client's address from the header even without `use-forwarded-headers`.
    enable_real_ip: bool = false, "enable-real-ip", BOOL, "true", [Text];
    /// Expect the PROXY protocol on the public ports.
    use_proxy_protocol: bool = false, "use-proxy-protocol", BOOL, "true", [Text];
    /// How long the header of the PROXY protocol may take on the HTTPS port, with `--enable-ssl-passthrough`.
    proxy_protocol_header_timeout: Time = Time::from_secs(5), "proxy-protocol-header-timeout", own("a time such as 5s"), "10s", [Text];
    /// Tell backends the URI as the client sent it, as `X-Original-URI`.
    proxy_add_original_uri_header: bool = false, "proxy-add-original-uri-header", BOOL, "true", [Text];
    /// Give a request that has no `X-Request-ID` one.
    generate_request_id: bool = true, "generate-request-id", BOOL, "false", [Text];
    /// Addresses that may use Ingresses which say nothing themselves. Empty: everybody. Where nothing in the list is usable: nobody.
    whitelist_source_range: CidrSet = CidrSet::default(), "whitelist-source-range", ALLOWED_CIDRS, "10.0.0.0/8,192.168.0.0/16", [Text, Routes];
    /// Addresses that may not use Ingresses which say nothing themselves.
    denylist_source_range: CidrSet = CidrSet::default(), "denylist-source-range", CIDRS, "203.0.113.0/24", [Text, Routes];
    /// Addresses that are always answered with 403.
    block_cidrs: CidrSet = CidrSet::default(), "block-cidrs", CIDRS, "198.51.100.0/24", [Text];
    /// Requests with one of these as `User-Agent` are always answered with 403: exact texts, or `~` or `~*` and a regular expression.
    block_user_agents: Vec<HeaderPattern> = Vec::new(), "block-user-agents", HEADER_PATTERNS, "~*badbot", [Text];
    /// Requests with one of these as `Referer` are always answered with 403: exact texts, or `~` or `~*` and a regular expression.
    block_referers: Vec<HeaderPattern> = Vec::new(), "block-referers", HEADER_PATTERNS, "~*spam\\.example", [Text];

    /// Versions of TLS.
    ssl_protocols: Vec<TlsProtocol> = vec![TlsProtocol::V1_2, TlsProtocol::V1_3], "ssl-protocols", PROTOCOLS, "TLSv1.3", [Text];
    /// Ciphers up to TLS 1.2, as OpenSSL lists them. Empty: OpenSSL's own choice.
    ssl_ciphers: Option<Word> = Some(default(SSL_CIPHERS)), "ssl-ciphers", optional("a list of ciphers, or empty"), "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384", [Text];
    /// Keep TLS sessions in a cache that the workers share.
    ssl_session_cache: bool = true, "ssl-session-cache", BOOL, "false", [Text];
    /// Size of that cache.
    ssl_session_cache_size: Size = Size::mib(10), "ssl-session-cache-size", SIZE, "20m", [Text];
    /// How long a TLS session can be taken up again.
    ssl_session_timeout: Time = Time::from_secs(600), "ssl-session-timeout", own("a time such as 10m"), "1h", [Text];
    /// Let clients keep TLS sessions as tickets.
    ssl_session_tickets: bool = false, "ssl-session-tickets", BOOL, "true", [Text];
    /// Size of a TLS record's buffer.
    ssl_buffer_size: Size = Size::kib(4), "ssl-buffer-size", BUFFER, "8k", [Text];
    /// Answer TLS requests with `Strict-Transport-Security`.
    hsts: bool = true, "hsts", BOOL, "false", [Text];
    /// How long browsers shall remember it.
    hsts_max_age: Seconds = Seconds(31_536_000), "hsts-max-age", SECONDS, "63072000", [Text];
    /// It holds for sub-domains.
    hsts_include_subdomains: bool = true, "hsts-include-subdomains", BOOL, "false", [Text];
    /// Browsers may have it built in.
    hsts_preload: bool = false, "hsts-preload", BOOL, "true", [Text];

    /// Write no access log.
    disable_access_log: bool = false, "disable-access-log", BOOL, "true", [Text];
    /// Log requests that go to the default backend.
    enable_access_log_for_default_backend: bool = false, "enable-access-log-for-default-backend", BOOL, "true", [Text, Routes];
    /// Where the access log goes. The default stands for standard output, to which the image of ingress-nginx links that path: no file is written there.
    access_log_path: Word = default("/var/log/nginx/access.log"), "access-log-path", own("a path, or syslog:server=..."), "/var/log/nginx/shop.log", [Text];
    /// Where the error log goes. The default stands for standard error, in the same way.
    error_log_path: Word = default("/var/log/nginx/error.log"), "error-log-path", own("a path, stderr, or syslog:server=..."), "/var/log/nginx/shop-error.log", [Text];
    /// What the error log says.
    error_log_level: LogLevel = LogLevel::Notice, "error-log-level", own("debug, info, notice, warn, error, crit, alert or emerg"), "warn", [Text];
    /// Format of the access log.
    log_format_upstream: Template = default(LOG_FORMAT), "log-format-upstream", own("text with NGINX variables"), "$remote_addr $request $status $request_time", [Text];
    /// Escape values in the access log for JSON.
    log_format_escape_json: bool = false, "log-format-escape-json", BOOL, "true", [Text];
    /// Don't escape values in the access log. Wins over `log-format-escape-json`.
    log_format_escape_none: bool = false, "log-format-escape-none", BOOL, "true", [Text];
    /// Show NGINX's version and keep the `Server` header. Otherwise the header is removed.
    server_tokens: bool = false, "server-tokens", BOOL, "true", [Text];

    /// Addresses to listen on. Empty: all.
    bind_address: Vec<IpAddr> = Vec::new(), "bind-address", ADDRESSES, "127.0.0.1", [Text];
    /// Don't listen on IPv6.
    disable_ipv6: bool = false, "disable-ipv6", BOOL, "true", [Text];
    /// A listening socket for each worker.
    reuse_port: bool = true, "reuse-port", BOOL, "false", [Text];
    /// Number of workers.
    worker_processes: Workers = Workers::Auto, "worker-processes", own("a number, or auto for one per CPU"), "4", [Text];
    /// How long old workers may go on with their connections after a reload.
    worker_shutdown_timeout: Time = Time::from_secs(240), "worker-shutdown-timeout", own("a time such as 240s"), "30s", [Text];
    /// Connections of a worker; 0 = three quarters of `max-worker-open-files`.
    max_worker_connections: u32 = 16_384, "max-worker-connections", COUNT, "65536", [Text];
    /// Open files of a worker; 0 = the hard limit less 1024.
    max_worker_open_files: u32 = 0, "max-worker-open-files", COUNT, "131072", [Text];
    /// Take all waiting connections at once.
    enable_multi_accept: bool = true, "enable-multi-accept", BOOL, "false", [Text];
    /// Size of the hash of server names.
    server_name_hash_max_size: u32 = 1024, "server-name-hash-max-size", COUNT, "4096", [Text];
    /// Bucket size of the hash of server names; 0 = computed.
    server_name_hash_bucket_size: u32 = 0, "server-name-hash-bucket-size", COUNT, "256", [Text];
    /// Size of the hash of headers.
    proxy_headers_hash_max_size: u32 = 512, "proxy-headers-hash-max-size", COUNT, "1024", [Text];
    /// Bucket size of the hash of headers.
    proxy_headers_hash_bucket_size: u32 = 64, "proxy-headers-hash-bucket-size", COUNT, "128", [Text];
    /// Size of the hash of variables.
    variables_hash_max_size: u32 = 2048, "variables-hash-max-size", COUNT, "4096", [Text];
    /// Bucket size of the hash of variables.
    variables_hash_bucket_size: u32 = 256, "variables-hash-bucket-size", COUNT, "512", [Text];
    /// Bucket size of the hashes of maps.
    map_hash_bucket_size: u32 = 64, "map-hash-bucket-size", COUNT, "128", [Text];
    /// Sizes of the shared dictionaries that hold routes, endpoints and certificates. Listed ones override or extend the defaults. Fixed for the life of the NGINX master.
    lua_shared_dicts: BTreeMap<Identifier, Size> = dicts::defaults(), "lua-shared-dicts", DICTS, "configuration_data:128,my_cache:10", [Text, Ingresses];
}

const SSL_CIPHERS: &str = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:\
    ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:DHE-RSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256";

const LOG_FORMAT: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" \
    $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length \
    $upstream_response_time $upstream_status $req_id";

const GZIP_TYPES: &[&str] = &[
    "application/atom+xml",
    "application/javascript",
    "application/x-javascript",
    "application/json",
    "application/rss+xml",
    "application/vnd.ms-fontobject",
    "application/x-font-ttf",
    "application/x-web-app-manifest+json",
    "application/xhtml+xml",
    "application/xml",
    "font/opentype",
    "image/svg+xml",
    "image/x-icon",
    "text/css",
    "text/javascript",
    "text/plain",
    "text/x-component",
];
