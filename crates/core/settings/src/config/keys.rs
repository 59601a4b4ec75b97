//! The keys, one block each: a flat table.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ngx_value::{
    CidrSet, CipherList, ErrorLogTarget, GroupList, HeaderName, HeaderPattern, Identifier, LogLevel, LogTarget, Regex, Seconds, Size,
    Template, Time, TlsProtocol, Word,
};

use super::affinity::CpuAffinity;
use super::dicts::{self, DICTS};
use super::grammar::{
    ADDRESSES, BOOL, BROTLI_LEVEL, BUFFER, BY_MACHINE, CIDRS, CONNECTIONS, COUNT, FILES, HASH_BUCKET, HASH_SIZE, HEADER_PATTERNS,
    IDLE_CONNECTIONS, KIB, LEVEL, LIST, MIME_TYPES, MINUTES, OPTIONAL_HASH_BUCKET, PORT, PROTOCOLS, RISK, SECONDS, SECRET, SESSION_CACHE,
    STREAMS, WHOLE_SECONDS, ZSTD_LEVEL, optional, own,
};
use super::headers::HeaderDefaults;
use super::snippets::SnippetDefaults;
use super::stream::StreamDefaults;
use super::table::{default, settings};
use super::tickets::{TICKET_KEYS, TicketKey};
use super::{HeaderBuffers, Workers};
use crate::groups::{
    AccessDefaults, ErrorDefaults, ExternalAuthDefaults, FirewallDefaults, HttpsDefaults, LimitsDefaults, ObservabilityDefaults,
    ProxyDefaults, UpstreamDefaults,
};
use crate::reference::Reference;
use crate::table::Risk;

settings! {
    /// The main ConfigMap merged over the defaults. Fields are named like the keys.
    Config in all;
    topics {
        /// External authentication of all locations.
        external_auth: ExternalAuthDefaults,
        /// Lists of addresses.
        access: AccessDefaults,
        /// Errors that another backend answers.
        errors: ErrorDefaults,
        /// The web application firewall.
        firewall: FirewallDefaults,
        /// Headers of all requests and answers.
        headers: HeaderDefaults,
        /// Logs and traces.
        observability: ObservabilityDefaults,
        /// Redirects to HTTPS, and the form of redirects.
        https: HttpsDefaults,
        /// Limits of clients.
        limits: LimitsDefaults,
        /// Proxying.
        proxy: ProxyDefaults,
        /// Choice of the endpoint.
        upstream: UpstreamDefaults,
        /// Text for NGINX from the administrator.
        snippets: SnippetDefaults,
        /// TCP and UDP services.
        stream: StreamDefaults,
    }

    /// Whether Ingresses may carry `*-snippet` annotations. They are Critical, so `annotations-risk-level` must allow them as well.
    allow_snippet_annotations: bool = false, BOOL, "true", [Ingresses];
    /// Whether annotations may name Secrets and ConfigMaps of other namespaces.
    allow_cross_namespace_resources: bool = false, BOOL, "true", [Ingresses];
    /// The highest risk an annotation may have. An Ingress with one above it is not taken.
    annotations_risk_level: Risk = Risk::High, RISK, "Critical", [Ingresses];
    /// Words that no annotation's value may contain. An Ingress with one is not taken. Blanks around a word don't count, and an empty word is none.
    annotation_value_word_blocklist: Vec<String> = Vec::new(), LIST, "load_module,lua_package", [Ingresses];
    /// Directives that snippets of Ingresses may hold although the [policy](snippets.md) refuses them.
    allowed_snippet_directives: Vec<String> = Vec::new(), LIST, "env,root", [Ingresses] since Narthex;
    /// Whether paths of type Exact and Prefix may hold only letters, digits and `. _ - /`. Checked by the admission webhook.
    strict_validate_path_type: bool = true, BOOL, "false", [] inert "only the admission webhook reads it";

    /// Rule paths that begin with one of these are never redirected to HTTPS.
    no_tls_redirect_locations: Vec<String> = vec!["/.well-known/acme-challenge".to_owned()], LIST, "/.well-known/acme-challenge,/healthz", [Text];
    /// Redirects of NGINX itself name only the path.
    relative_redirects: bool = false, BOOL, "true", [Text, Routes];

    /// Try again even what must not be sent twice (POST, LOCK, PATCH).
    retry_non_idempotent: bool = false, BOOL, "true", [Text, Routes];
    /// The `proxy-ssl-*` annotations hold for the paths of their Ingress only, not for the rest of the host.
    proxy_ssl_location_only: bool = false, BOOL, "true", [Routes];
    /// Size of the buffer for what gRPC endpoints answer, in KiB; 0 = NGINX's own.
    grpc_buffer_size_kb: u32 = 0, KIB, "16", [Text];
    /// Idle connections to endpoints that each worker keeps; 0 = none.
    upstream_keepalive_connections: u32 = 320, IDLE_CONNECTIONS, "100", [Text];
    /// Requests over one connection to an endpoint.
    upstream_keepalive_requests: u32 = 10_000, COUNT, "1000", [Text];
    /// How long an idle connection to an endpoint is kept.
    upstream_keepalive_timeout: Seconds = Seconds(60), SECONDS, "30", [Text];
    /// How long a connection to an endpoint is used at all.
    upstream_keepalive_time: Time = Time::from_secs(3600), own("a time such as 1h"), "10m", [Text];

    /// Longest wait for the header of a request.
    client_header_timeout: Seconds = Seconds(60), SECONDS, "30", [Text] => "client_header_timeout";
    /// Longest wait between two reads of a request body.
    client_body_timeout: Seconds = Seconds(60), SECONDS, "30", [Text] => "client_body_timeout";
    /// Buffer for the header of a request.
    client_header_buffer_size: Size = Size::kib(1), BUFFER, "4k", [Text] => "client_header_buffer_size";
    /// Number and size of buffers for a longer header.
    large_client_header_buffers: HeaderBuffers = HeaderBuffers { count: 4, size: Size::kib(8) }, own("number and size, such as 4 8k"), "8 16k", [Text] => "large_client_header_buffers";
    /// How long an idle connection from a client is kept; 0 = not at all.
    keep_alive: Seconds = Seconds(75), SECONDS, "30", [Text] => "keepalive_timeout";
    /// Requests over one connection from a client.
    keep_alive_requests: u32 = 1000, COUNT, "10000", [Text] => "keepalive_requests";
    /// Offer HTTP/2.
    use_http2: bool = true, BOOL, "false", [Text, Routes];
    /// Concurrent requests over one HTTP/2 connection.
    http2_max_concurrent_streams: u32 = 128, STREAMS, "256", [Text] => "http2_max_concurrent_streams";
    /// Nothing: NGINX has no such limit of its own any more; `large-client-header-buffers` limits HTTP/2 as well.
    http2_max_field_size: Option<Size> = None, optional("a size such as 8k, or empty"), "8k", [] inert "NGINX has ignored it since 1.19.7";
    /// Nothing, as `http2-max-field-size`.
    http2_max_header_size: Option<Size> = None, optional("a size such as 8k, or empty"), "32k", [] inert "NGINX has ignored it since 1.19.7";
    /// Nothing: `keep-alive-requests` limits the requests of a connection of HTTP/2 as well.
    http2_max_requests: u32 = 0, COUNT, "1000", [] inert "NGINX has ignored it since 1.19.7";
    /// Offer HTTP/3 (QUIC) on the HTTPS port of UDP, and name it in `Alt-Svc`. Needs an NGINX with HTTP/3, as in Debian 13, and `TLSv1.3` in
    /// `ssl-protocols`. See [HTTP/3](../http3.md).
    use_http3: bool = false, BOOL, "true", [Text] since Narthex;
    /// Concurrent requests over one HTTP/3 connection.
    http3_max_concurrent_streams: u32 = 128, STREAMS, "256", [Text] since Narthex;
    /// The port that `Alt-Svc` names; 0 = `--https-port`. For a load balancer that listens on another port.
    http3_advertised_port: u16 = 0, PORT, "9443", [Text] since Narthex;
    /// Answer the first packet of a client that is not known with a token (QUIC Retry): a round trip more, and no state for forged addresses.
    quic_retry: bool = false, BOOL, "true", [Text] since Narthex;
    /// Have the kernel bring each packet of QUIC to the worker that has its connection, so that connections outlive reloads. Where the
    /// capabilities do not allow it (`CAP_BPF` and `CAP_NET_ADMIN`), a reload ends connections of HTTP/3.
    quic_bpf: bool = true, BOOL, "false", [Text] since Narthex;
    /// Type of answers of NGINX itself whose type nothing else says: of files, and of `return` in snippets.
    default_type: Word = default("text/html"), own("a type such as text/plain"), "text/plain", [Text] => "default_type";
    /// Compress answers.
    use_gzip: bool = false, BOOL, "true", [Text];
    /// How hard to compress.
    gzip_level: u32 = 1, LEVEL, "5", [Text];
    /// Shorter answers are not compressed; bytes.
    gzip_min_length: u32 = 256, COUNT, "1024", [Text];
    /// What to compress besides `text/html`.
    gzip_types: Vec<Word> = GZIP_TYPES.iter().map(|name| default(name)).collect(), MIME_TYPES, "text/css application/json", [Text];
    /// Clients whose `User-Agent` matches get answers that are not compressed: a regular expression. Only with `use-gzip`.
    gzip_disable: Option<Regex> = None, optional("a regular expression, or empty"), "MSIE [1-6]\\.", [Text] => "gzip_disable";
    /// Compress answers with brotli as well, for clients that take it: these prefer it to gzip. Needs the module ngx_http_brotli_filter_module.
    enable_brotli: bool = false, BOOL, "true", [Text];
    /// How hard to compress with brotli.
    brotli_level: u32 = 4, BROTLI_LEVEL, "6", [Text];
    /// Shorter answers are not compressed with brotli; bytes.
    brotli_min_length: u32 = 20, COUNT, "1024", [Text];
    /// What to compress with brotli besides `text/html`.
    brotli_types: Vec<Word> = ["application/xml+rss"].iter().chain(GZIP_TYPES).map(|name| default(name)).collect(), MIME_TYPES, "text/css application/json", [Text];

    /// Compress answers with zstd as well, for clients that take it. Needs the module ngx_http_zstd_filter_module, which Debian has no package of.
    enable_zstd: bool = false, BOOL, "true", [Text] since Narthex;
    /// How hard to compress with zstd.
    zstd_level: u32 = 3, ZSTD_LEVEL, "6", [Text] since Narthex;
    /// Shorter answers are not compressed with zstd; bytes.
    zstd_min_length: u32 = 256, COUNT, "1024", [Text] since Narthex;
    /// What to compress with zstd besides `text/html`.
    zstd_types: Vec<Word> = GZIP_TYPES.iter().map(|name| default(name)).collect(), MIME_TYPES, "text/css application/json", [Text] since Narthex;

    /// Trust `X-Forwarded-For`, `-Proto`, `-Port` and `-Host` of clients.
    use_forwarded_headers: bool = false, BOOL, "true", [Text];
    /// Append the peer to `X-Forwarded-For` instead of replacing it. Only with `use-forwarded-headers`.
    compute_full_forwarded_for: bool = false, BOOL, "true", [Text];
    /// Header that carries the client's address.
    forwarded_for_header: HeaderName = default("X-Forwarded-For"), own("a header name"), "X-Client-IP", [Text];
    /// Beginning of the name of the header in which NGINX itself notes the client's address, where both `use-proxy-protocol` and `use-forwarded-headers` are on: what `forwarded-for-header` says if `proxy-real-ip-cidr` has the source that the PROXY protocol names, else that source. Random digits follow, so that no client can send it; backends don't see it.
    forwarded_for_proxy_protocol_header: HeaderName = default("X-Forwarded-For-Proxy-Protocol"), own("a header name"), "X-Source", [Text];
    /// Header that backends see as `X-Original-Forwarded-Host`.
    forwarded_host_header: HeaderName = default("X-Forwarded-Host"), own("a header name"), "X-Client-Host", [Text];
    /// Peers whose word about the client's address is taken. Empty: those of no peer.
    proxy_real_ip_cidr: CidrSet = default("0.0.0.0/0"), CIDRS, "10.0.0.0/8", [Text];
    /// Take the client's address from the header even without `use-forwarded-headers`.
    enable_real_ip: bool = false, BOOL, "true", [Text];
    /// Expect the PROXY protocol on the public ports.
    use_proxy_protocol: bool = false, BOOL, "true", [Text];
    /// How long the header of the PROXY protocol may take on the HTTPS port, with `--enable-ssl-passthrough`.
    proxy_protocol_header_timeout: Time = Time::from_secs(5), own("a time such as 5s"), "10s", [Text];
    /// Tell backends the URI as the client sent it, as `X-Original-URI`.
    proxy_add_original_uri_header: bool = false, BOOL, "true", [Text];
    /// Give a request that has no `X-Request-ID` one.
    generate_request_id: bool = true, BOOL, "false", [Text];
    /// Addresses that are always answered with 403.
    block_cidrs: CidrSet = CidrSet::default(), CIDRS, "198.51.100.0/24", [Text];
    /// Requests with one of these as `User-Agent` are always answered with 403: exact texts, or `~` or `~*` and a regular expression. The variable `$block_ua` is 1 for them.
    block_user_agents: Vec<HeaderPattern> = Vec::new(), HEADER_PATTERNS, "~*badbot", [Text];
    /// Requests with one of these as `Referer` are always answered with 403: exact texts, or `~` or `~*` and a regular expression. The variable `$block_ref` is 1 for them.
    block_referers: Vec<HeaderPattern> = Vec::new(), HEADER_PATTERNS, "~*spam\\.example", [Text];

    /// IPv4 addresses that may read `/nginx_status`, the counters of connections and requests, on the catch-all host; all others get 403. Empty: none.
    nginx_status_ipv4_whitelist: CidrSet = default("127.0.0.1"), CIDRS, "10.0.0.0/8", [Text];
    /// Likewise IPv6 addresses, where NGINX listens on IPv6.
    nginx_status_ipv6_whitelist: CidrSet = default("::1"), CIDRS, "fd00::/8", [Text];

    /// Look up the addresses of clients in MaxMind's databases: variables such as `$geoip2_country_code`. Needs the module ngx_http_geoip2_module, and
    /// the databases of `--maxmind-edition-ids`; the variables of one that is missing are empty.
    use_geoip2: bool = false, BOOL, "true", [Text];
    /// How often NGINX looks whether the files have changed, in minutes; 0 = it reads them only with a reload.
    geoip2_autoreload_in_minutes: u32 = 0, MINUTES, "60", [Text];

    /// Versions of TLS.
    ssl_protocols: Vec<TlsProtocol> = vec![TlsProtocol::V1_2, TlsProtocol::V1_3], PROTOCOLS, "TLSv1.3", [Text] => "ssl_protocols";
    /// Ciphers up to TLS 1.2, as OpenSSL lists them. Empty: OpenSSL's own choice.
    ssl_ciphers: Option<CipherList> = Some(default(SSL_CIPHERS)), optional("a list of ciphers, or empty"), "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384", [Text];
    /// Curves and groups for the key exchange, the preferred one first; `auto` is OpenSSL's own list. One that OpenSSL does not know is refused.
    ssl_ecdh_curve: GroupList = default("auto"), own("names between colons, or auto"), "X25519:prime256v1", [Text] => "ssl_ecdh_curve";
    /// Take requests in early data of TLS 1.3, before the handshake is over. They can be repeated by others: backends see them with `Early-Data: 1`.
    ssl_early_data: bool = false, BOOL, "true", [Text] => "ssl_early_data";
    /// Keep TLS sessions in a cache that the workers share.
    ssl_session_cache: bool = true, BOOL, "false", [Text];
    /// Size of that cache.
    ssl_session_cache_size: Size = Size::mib(10), SESSION_CACHE, "20m", [Text];
    /// How long a TLS session can be taken up again.
    ssl_session_timeout: Time = Time::from_secs(600), WHOLE_SECONDS, "1h", [Text];
    /// Let clients keep TLS sessions as tickets.
    ssl_session_tickets: bool = false, BOOL, "true", [Text] => "ssl_session_tickets";
    /// Keys that tickets of TLS sessions are encrypted with: 48 or 80 random bytes in base64. With one that all replicas have, a client resumes its session at each of them, and after a reload. Further ones, after commas, decrypt tickets of before. Empty: NGINX makes one. Only with `ssl-session-tickets`.
    ssl_session_ticket_key: Vec<TicketKey> = Vec::new(), TICKET_KEYS, "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm", [Text];
    /// Secret whose `dhparam.pem` has the parameters of key exchange with DHE, as PEM (`DH PARAMETERS`). Empty: ciphers with DHE are not used.
    ssl_dh_param: Option<Reference> = None, SECRET, "ingress/dh-parameters", [Text];
    /// Refuse the TLS handshake of clients that ask for no host of an Ingress, instead of answering with the default certificate.
    ssl_reject_handshake: bool = false, BOOL, "true", [Text];
    /// Staple OCSP responses to certificates: the controller fetches them from the responder that a certificate names, in the background, checks and renews them.
    enable_ocsp: bool = false, BOOL, "true", [] inert "only the task that fetches responses reads it";
    /// Size of a TLS record's buffer.
    ssl_buffer_size: Size = Size::kib(4), BUFFER, "8k", [Text] => "ssl_buffer_size";
    /// Answer TLS requests with `Strict-Transport-Security`.
    hsts: bool = true, BOOL, "false", [Text];
    /// How long browsers shall remember it.
    hsts_max_age: Seconds = Seconds(31_536_000), SECONDS, "63072000", [Text];
    /// It applies to sub-domains.
    hsts_include_subdomains: bool = true, BOOL, "false", [Text];
    /// Browsers may have it built in.
    hsts_preload: bool = false, BOOL, "true", [Text];

    /// Write no access log.
    disable_access_log: bool = false, BOOL, "true", [Text];
    /// Log requests that go to the default backend.
    enable_access_log_for_default_backend: bool = false, BOOL, "true", [Text, Routes];
    /// Where the access log goes. The default stands for standard output, to which the image of ingress-nginx links that path: no file is written there.
    access_log_path: LogTarget = default("/var/log/nginx/access.log"), own("a path, syslog:server=..., or off"), "/var/log/nginx/shop.log", [Text];
    /// Where the error log goes. The default stands for standard error, in the same way.
    error_log_path: ErrorLogTarget = default("/var/log/nginx/error.log"), own("a path, stderr, or syslog:server=..."), "/var/log/nginx/shop-error.log", [Text];
    /// What the error log says.
    error_log_level: LogLevel = LogLevel::Notice, own("debug, info, notice, warn, error, crit, alert or emerg"), "warn", [Text];
    /// Format of the access log.
    log_format_upstream: Template = default(LOG_FORMAT), own("text with NGINX variables"), "$remote_addr $request $status $request_time", [Text];
    /// Escape values in the access log for JSON.
    log_format_escape_json: bool = false, BOOL, "true", [Text];
    /// Don't escape values in the access log. Wins over `log-format-escape-json`.
    log_format_escape_none: bool = false, BOOL, "true", [Text];
    /// Show NGINX's version and keep the `Server` header. Otherwise the header is removed.
    server_tokens: bool = false, BOOL, "true", [Text] => "server_tokens";

    /// Addresses to listen on. Empty: all.
    bind_address: Vec<IpAddr> = Vec::new(), ADDRESSES, "127.0.0.1", [Text];
    /// Don't listen on IPv6.
    disable_ipv6: bool = false, BOOL, "true", [Text];
    /// Look up no IPv6 addresses of names, and ask no name server by IPv6. Empty: where the machine has no IPv6.
    disable_ipv6_dns: Option<bool> = None, BY_MACHINE, "true", [Text];
    /// A listening socket for each worker.
    reuse_port: bool = true, BOOL, "false", [Text];
    /// Number of workers.
    worker_processes: Workers = Workers::Auto, own("a number, or auto for one per CPU"), "4", [Text];
    /// The processors of the workers: a bit mask for each, or `auto`. Empty: the system decides.
    worker_cpu_affinity: Option<CpuAffinity> = None, optional("bit masks, auto, or empty"), "auto", [Text];
    /// How long old workers may go on with their connections after a reload.
    worker_shutdown_timeout: Time = Time::from_secs(240), own("a time such as 240s"), "30s", [Text];
    /// A reload waits until the workers of the one before have ended. What is live does not wait.
    enable_serial_reloads: bool = false, BOOL, "true", [] inert "it decides when a reload begins, not what is loaded";
    /// Connections of a worker; 0 = three quarters of `max-worker-open-files`.
    max_worker_connections: u32 = 16_384, CONNECTIONS, "65536", [Text];
    /// Open files of a worker; 0 = the hard limit less 1024.
    max_worker_open_files: u32 = 0, FILES, "131072", [Text];
    /// Take all waiting connections at once.
    enable_multi_accept: bool = true, BOOL, "false", [Text];
    /// Write files of buffered answers by threads.
    enable_aio_write: bool = true, BOOL, "false", [Text] => "aio_write";
    /// Clients whose connections the error log tells in every detail, where NGINX is built with `--with-debug`.
    debug_connections: CidrSet = CidrSet::default(), CIDRS, "198.51.100.7", [Text];
    /// Size of the hash of server names.
    server_name_hash_max_size: u32 = 1024, HASH_SIZE, "4096", [Text];
    /// Bucket size of the hash of server names; 0 = computed.
    server_name_hash_bucket_size: u32 = 0, OPTIONAL_HASH_BUCKET, "256", [Text];
    /// Size of the hash of headers.
    proxy_headers_hash_max_size: u32 = 512, HASH_SIZE, "1024", [Text] => "proxy_headers_hash_max_size";
    /// Bucket size of the hash of headers; a larger one where `hide-headers` or `proxy-set-headers` has a longer name.
    proxy_headers_hash_bucket_size: u32 = 64, HASH_BUCKET, "128", [Text];
    /// Size of the hash of variables.
    variables_hash_max_size: u32 = 2048, HASH_SIZE, "4096", [Text] => "variables_hash_max_size";
    /// Bucket size of the hash of variables.
    variables_hash_bucket_size: u32 = 256, HASH_BUCKET, "512", [Text] => "variables_hash_bucket_size";
    /// Bucket size of the hashes of maps; a larger one where a text of `block-user-agents`, `block-referers` or `skip-access-log-urls` is longer.
    map_hash_bucket_size: u32 = 64, HASH_BUCKET, "128", [Text];
    /// Sizes of the shared dictionaries that hold routes, endpoints and certificates. Listed ones override or extend the defaults. Where `configuration_data`, `certificate_servers` or `certificate_data` has no size and the default is less than twice of what objects ask for when NGINX starts, it is doubled until it is not, up to 200 MiB. Another size takes effect with a reload, which moves what the dictionary holds; those that are not the controller's own are empty again.
    lua_shared_dicts: BTreeMap<Identifier, Size> = dicts::defaults(), DICTS, "configuration_data:128,my_cache:10", [Text, Ingresses];
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
