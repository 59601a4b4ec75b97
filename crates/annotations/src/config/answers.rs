//! Defaults of the annotations about errors, answers and limits.

use std::collections::BTreeSet;

use ngx_value::{ErrorStatus, HeaderName, Template};

use super::grammar::{BOOL, COUNT, ERROR_CODE, Grammar, HEADER_NAMES, own, usable};
use super::table::{default, settings};

settings! {
    /// Defaults of the annotations about errors, answers and limits.
    AnswerDefaults in answers;

    /// Errors that the default backend answers instead.
    custom_http_errors: BTreeSet<ErrorStatus> = BTreeSet::new(), "custom-http-errors", STATUSES;
    /// Take over only errors that the proxy itself makes, and leave the backend's alone.
    disable_proxy_intercept_errors: bool = false, "disable-proxy-intercept-errors", BOOL;
    /// Names of the headers that Ingresses may set with `custom-headers`, letter by letter. Empty: none.
    global_allowed_response_headers: Vec<HeaderName> = Vec::new(), "global-allowed-response-headers", HEADER_NAMES;
    /// KiB of an answer that are sent in a second; 0 = unlimited.
    limit_rate: u32 = 0, "limit-rate", COUNT;
    /// KiB of an answer that are sent before `limit-rate` begins.
    limit_rate_after: u32 = 0, "limit-rate-after", COUNT;
    /// Status of a request that exceeds `limit-rps` or `limit-rpm`.
    limit_req_status_code: u16 = 503, "limit-req-status-code", ERROR_CODE;
    /// Status of a request that exceeds `limit-connections`.
    limit_conn_status_code: u16 = 503, "limit-conn-status-code", ERROR_CODE;
    /// What requests and connections are counted by.
    limit_conn_zone_variable: Template = default("$binary_remote_addr"), "limit-conn-zone-variable", own("text with NGINX variables");
}

const STATUSES: Grammar<BTreeSet<ErrorStatus>> = Grammar {
    value: "statuses from 300 to 599 other than 499, between commas",
    read: |text, notes| Ok(usable(text, notes, str::parse).into_iter().collect()),
    print: |statuses| statuses.iter().map(ErrorStatus::to_string).collect::<Vec<_>>().join(","),
};
