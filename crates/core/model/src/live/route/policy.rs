//! What the routes of an Ingress have in common.

use std::sync::Arc;

use settings::groups::ConnectionHeader;

use super::super::wire::record;
use super::{AddressLists, Cors, Errors, ExternalCheck, Header, Limits, Mirror, PasswordCheck, Redirects, Replacements, Tracing};

record! {
    /// What the annotations of an Ingress make of its routes, lists and all.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Policy {
        /// Redirects. Absent: as the settings say.
        pub redirects: Option<Arc<Redirects>>,
        /// CORS.
        pub cors: Option<Arc<Cors>>,
        /// Names and values of headers of every answer, in order of the names. They replace the backend's.
        pub custom_headers: Vec<Header>,
        /// Where it differs from the global setting.
        pub ssl_redirect: Option<bool> = (https over https),
        /// Where it differs from the global setting.
        pub force_ssl_redirect: Option<bool> = (https over https),
        /// Where it differs from the global setting.
        pub preserve_trailing_slash: Option<bool> = (https over https),
        /// Limit of the body in bytes where it differs from the global setting; 0 = unlimited.
        pub proxy_body_size: Option<u64> = (proxy over proxy),
        /// Seconds, where it differs from the global setting (`$narthex_timeouts`: connect, send, read and tries, with commas between, empty where the
        /// global setting is used).
        pub proxy_connect_timeout: Option<u32> = (proxy over proxy),
        /// Seconds, where it differs from the global setting.
        pub proxy_send_timeout: Option<u32> = (proxy over proxy),
        /// Seconds, where it differs from the global setting.
        pub proxy_read_timeout: Option<u32> = (proxy over proxy),
        /// How many endpoints a request may try, where it differs from the global setting; 0 = no limit.
        pub proxy_next_upstream_tries: Option<u32> = (proxy over proxy),
        /// `close` or `keep-alive`: the header `Connection` to the endpoint (`$connection_upgrade`).
        pub connection_proxy_header: Option<ConnectionHeader> = (protocol),
        /// Plain text that takes the place of other text in headers of the answer.
        pub replacements: Option<Arc<Replacements>>,
        /// Where a copy of the request goes.
        pub mirror: Option<Arc<Mirror>>,
        /// Host header to the backend; `$name` and `${name}` are variables (`$narthex_vhost`).
        pub upstream_vhost: Option<Arc<str>> = (protocol),
        /// Errors that another backend answers.
        pub errors: Option<Arc<Errors>>,
        /// Limits of requests and connections.
        pub limits: Option<Arc<Limits>>,
        /// KiB of an answer in a second, where it differs from the global setting; 0 = unlimited (`$limit_rate`).
        pub limit_rate: Option<u32> = (limits over limits),
        /// KiB before `limit_rate` begins, where it differs from the global setting (`$narthex_rate_after`).
        pub limit_rate_after: Option<u32> = (limits over limits),
        /// Requests are in the access log (`$narthex_log`).
        pub enable_access_log: bool = true,
        /// Its Ingress has cookie affinity, so a client that comes to a new endpoint gets a cookie.
        pub issues_cookie: bool,
        /// Traces, where they are not what the settings say.
        pub tracing: Option<Arc<Tracing>>,
        /// What rewriting does is logged at the level notice.
        pub enable_rewrite_log: bool = (observability),
        /// Answer 503: a protecting setting of the Ingress is unusable.
        pub denied: bool = protects,
        /// Answer 403: the whole host must stay closed.
        pub forbidden: bool = protects,
        /// Answer 503 unless `$narthex_clients` is this text, which the server block sets that asks for the host's client certificates: the content
        /// address of host, CA and mode.
        pub verified: Option<Arc<str>> = protects,
        /// A regular expression that must be found in the subject of the client's certificate; others get 403.
        pub auth_tls_match_cn: Option<Arc<str>> = protects,
        /// Backends get the client's certificate (`$narthex_passes_certificate` is 1).
        pub auth_tls_pass_certificate_to_upstream: bool,
        /// What FastCGI servers are asked for where the path ends with a slash (`$narthex_fastcgi_index`).
        pub fastcgi_index: Option<Arc<str>>,
        /// Lists of addresses where they differ from the global ones.
        pub addresses: Option<Arc<AddressLists>> = protects,
        /// One consent of addresses, password and service is enough (`satisfy: any`).
        pub satisfy_any: bool,
        /// A password is asked for.
        pub password: Option<Arc<PasswordCheck>> = protects,
        /// Another service is asked, in the location of the profile.
        pub external_auth: Option<Arc<ExternalCheck>> = protects,
    }
}
