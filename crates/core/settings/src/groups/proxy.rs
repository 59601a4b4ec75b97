//! Proxying.

mod effective;

use ngx_value::{
    CookieDomainReplacement, CookiePathReplacement, HttpVersion, Invalid, LocationPart, NextUpstream, Seconds, Size, parse_integer,
    parse_on_off,
};

use super::common::{self, LOCATION, ON_OFF, SECONDS, buffer_size, seconds, set, size, trimmed, without_blanks};
use crate::config::grammar;
use crate::config::grammar::{BUFFER, BUFFERS, COUNT, OPTIONAL_BUFFER, SIZE, own};
use crate::config::table::{default, settings};
use crate::table::{Applies, Entry, Group, Risk, Since};

pub(crate) use effective::misfits;
pub use effective::{Buffers, LocationRewrite};

pub(super) static GROUP: Group = Group {
    title: "Proxying",
    doc: "Unless said otherwise, each has a setting of the same name in the ConfigMap, which holds where the annotation is missing or not usable.",
    entries: ENTRIES,
    keys: KEYS,
    settle: effective::settle,
    clear: |spec| spec.proxy = Proxy::default(),
    ..common::GROUP
};

/// What these annotations ask for. What must fit together, with each other and with the ConfigMap, is in the methods.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proxy {
    /// `proxy-body-size`: largest request body, 0 = unlimited.
    pub proxy_body_size: Option<Size>,
    /// `proxy-buffer-size`: the first part of an answer, and each of the buffers; 1 byte to 1 GiB.
    pub proxy_buffer_size: Option<Size>,
    /// `proxy-buffering`: answers are buffered.
    pub proxy_buffering: Option<bool>,
    /// `proxy-buffers-number`: at least 3.
    pub proxy_buffers_number: Option<u32>,
    /// `proxy-busy-buffers-size`. See [`Proxy::buffers`].
    proxy_busy_buffers_size: Option<Size>,
    /// `proxy-connect-timeout`.
    pub proxy_connect_timeout: Option<Seconds>,
    /// `proxy-cookie-domain`.
    pub proxy_cookie_domain: Option<CookieDomainReplacement>,
    /// `proxy-cookie-path`.
    pub proxy_cookie_path: Option<CookiePathReplacement>,
    /// `proxy-http-version`: towards endpoints.
    pub proxy_http_version: Option<HttpVersion>,
    /// `proxy-ignore-client-abort`: a request goes on although its client is gone.
    pub proxy_ignore_client_abort: Option<bool>,
    /// `proxy-max-temp-file-size`. See [`Proxy::buffers`].
    proxy_max_temp_file_size: Option<Size>,
    /// `proxy-next-upstream`. See [`Proxy::next_upstream`].
    proxy_next_upstream: Option<NextUpstream>,
    /// `proxy-next-upstream-timeout`: 0 = no limit.
    pub proxy_next_upstream_timeout: Option<Seconds>,
    /// `proxy-next-upstream-tries`: 0 = no limit.
    pub proxy_next_upstream_tries: Option<u32>,
    /// `proxy-read-timeout`: between two reads from the backend.
    pub proxy_read_timeout: Option<Seconds>,
    /// `proxy-redirect-from`. See [`Proxy::location_rewrite`].
    proxy_redirect_from: Option<LocationPart>,
    /// `proxy-redirect-to`. See [`Proxy::location_rewrite`].
    proxy_redirect_to: Option<LocationPart>,
    /// `proxy-request-buffering`: request bodies are buffered.
    pub proxy_request_buffering: Option<bool>,
    /// `proxy-send-timeout`: between two writes to the backend.
    pub proxy_send_timeout: Option<Seconds>,
}

settings! {
    /// The same for all Ingresses.
    ProxyDefaults in proxy;

    /// Largest request body; 0 = unlimited. Larger ones are answered with 413.
    proxy_body_size: Size = Size::mib(1), SIZE, "8m", [Text, Routes];
    /// Longest wait for a connection to an endpoint.
    proxy_connect_timeout: Seconds = Seconds(5), grammar::SECONDS, "10", [Text, Routes];
    /// Longest wait between two writes to an endpoint.
    proxy_send_timeout: Seconds = Seconds(60), grammar::SECONDS, "120", [Text, Routes];
    /// Longest wait between two reads from an endpoint.
    proxy_read_timeout: Seconds = Seconds(60), grammar::SECONDS, "120", [Text, Routes];
    /// Buffer answers.
    proxy_buffering: bool = false, grammar::ON_OFF, "on", [Text, Ingresses];
    /// Size of the buffer for the first part of an answer, and of each of the others.
    proxy_buffer_size: Size = Size::kib(4), BUFFER, "8k", [Text, Ingresses];
    /// Number of buffers for an answer.
    proxy_buffers_number: u32 = 4, BUFFERS, "8", [Text, Ingresses];
    /// How much of an answer may be on its way to the client while the rest is still read: from `proxy-buffer-size` to that times one less than `proxy-buffers-number`. Empty: two buffers.
    proxy_busy_buffers_size: Option<Size> = None, OPTIONAL_BUFFER, "12k", [Text, Routes];
    /// How much of an answer may be put into a file when the buffers are full: at least `proxy-buffer-size`, or 0 for none.
    proxy_max_temp_file_size: Size = Size::mib(1024), own("a size such as 1024m; 0 is none"), "64m", [Text, Routes];
    /// Buffer request bodies.
    proxy_request_buffering: bool = true, grammar::ON_OFF, "off", [Text, Routes];
    /// Version of HTTP towards endpoints.
    proxy_http_version: HttpVersion = HttpVersion::V1_1, own("1.0 or 1.1"), "1.0", [Text, Routes];
    /// When a request goes on to another endpoint.
    proxy_next_upstream: NextUpstream = default("error timeout"), own("conditions separated by spaces: error, timeout, invalid_header, http_500, http_502, http_503, http_504, http_403, http_404, http_429, non_idempotent, off"), "error timeout http_502", [Text, Routes];
    /// How long a request may go on to other endpoints; 0 = no limit.
    proxy_next_upstream_timeout: Seconds = Seconds(0), grammar::SECONDS, "10", [Text, Routes];
    /// How many endpoints a request may try; 0 = no limit.
    proxy_next_upstream_tries: u32 = 3, COUNT, "5", [Text, Routes];
    /// Replaces the `Domain` of the endpoint's cookies.
    proxy_cookie_domain: CookieDomainReplacement = CookieDomainReplacement::Off, own("off, or two words of letters, digits and `- . _ ~ / :`"), "internal.example.com shop.example.com", [Text, Routes];
    /// Replaces the beginning of the `Path` of the endpoint's cookies.
    proxy_cookie_path: CookiePathReplacement = CookiePathReplacement::Off, own("off, or two words of letters, digits and `- . _ ~ / : , ? & =`"), "/app /", [Text, Routes];
    /// What is replaced by `proxy-redirect-to` at the beginning of the endpoint's headers `Location` and `Refresh`. With `default` the endpoint's own address is replaced by the client's.
    proxy_redirect_from: LocationPart = default("off"), own("off, default, or a URL of letters, digits and `- . _ ~ / : , ? & =`"), "http://internal.example.com/", [Text, Routes];
    /// What takes the place of `proxy-redirect-from`. With `off` it is as if that was `default`.
    proxy_redirect_to: LocationPart = default("off"), own("off, or a URL of letters, digits and `- . _ ~ / : , ? & =`"), "https://shop.example.com/", [Text, Routes];
}

static ENTRIES: &[Entry] = &[
    Entry {
        name: "proxy-body-size",
        applies: Applies::Profile,
        risk: Risk::Medium,
        config_key: Some("proxy-body-size"),
        value: "a size such as 8m; 0 is unlimited",
        doc: "Largest request body. Larger ones are answered with 413. Changing it is live; the first use of a size adds a profile, which catches chunked bodies.",
        example: "8m",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_body_size, size(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-buffer-size",
        config_key: Some("proxy-buffer-size"),
        applies: Applies::Profile,
        value: "a size such as 8k, from 1 byte to 1g",
        doc: "Size of the buffer for the first part of an answer, and of each of the others.",
        example: "8k",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_buffer_size, buffer_size(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-buffering",
        applies: Applies::Ready,
        config_key: Some("proxy-buffering"),
        value: ON_OFF,
        doc: "Whether answers are buffered.",
        example: "on",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_buffering, parse_on_off(text.trim()).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-buffers-number",
        config_key: Some("proxy-buffers-number"),
        applies: Applies::Profile,
        value: "a whole number from 3",
        doc: "Number of buffers for an answer.",
        example: "8",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_buffers_number, buffers(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-busy-buffers-size",
        config_key: Some("proxy-busy-buffers-size"),
        applies: Applies::Profile,
        value: "a size from `proxy-buffer-size` to that times one less than `proxy-buffers-number`",
        doc: "How much of an answer may be on its way to the client while the rest is still read. Without it: two buffers.",
        example: "8k",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_busy_buffers_size, buffer_size(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-connect-timeout",
        config_key: Some("proxy-connect-timeout"),
        value: SECONDS,
        doc: "Longest wait for a connection to an endpoint.",
        example: "10",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_connect_timeout, seconds(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-cookie-domain",
        config_key: Some("proxy-cookie-domain"),
        risk: Risk::Medium,
        value: "off, or two words of letters, digits and `- . _ ~ / :`",
        doc: "Replaces the `Domain` of the endpoint's cookies: the first word by the second. Behind `~` stands a regular expression, each of which adds a profile; plain text is live.",
        example: "localhost example.org",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_cookie_domain, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-cookie-path",
        config_key: Some("proxy-cookie-path"),
        risk: Risk::Medium,
        value: "off, or two words of letters, digits and `- . _ ~ / : , ? & =`",
        doc: "Replaces the beginning of the `Path` of the endpoint's cookies: the first word by the second. Behind `~` stands a regular expression, each of which adds a profile; plain text is live.",
        example: "/one/ /",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_cookie_path, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-http-version",
        applies: Applies::Ready,
        config_key: Some("proxy-http-version"),
        value: "1.0 or 1.1",
        doc: "Version of HTTP towards endpoints.",
        example: "1.0",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_http_version, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-ignore-client-abort",
        applies: Applies::Profile,
        value: ON_OFF,
        doc: "Whether the endpoint may finish a request whose client has closed the connection; otherwise its connection is closed, too. For HTTP and HTTPS. There is no setting of that name.",
        example: "on",
        since: Since::Narthex,
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_ignore_client_abort, parse_on_off(text.trim()).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-max-temp-file-size",
        config_key: Some("proxy-max-temp-file-size"),
        applies: Applies::Profile,
        value: "a size such as 1024m, at least `proxy-buffer-size`; 0 is none",
        doc: "How much of an answer may be put into a file when the buffers are full.",
        example: "512m",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_max_temp_file_size, size(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-next-upstream",
        config_key: Some("proxy-next-upstream"),
        risk: Risk::Medium,
        applies: Applies::Profile,
        value: "conditions separated by spaces: error, timeout, invalid_header, http_500, http_502, http_503, http_504, http_403, http_404, \
            http_429, non_idempotent, off",
        doc: "When a request goes on to another endpoint.",
        example: "error timeout http_502",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_next_upstream, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-next-upstream-timeout",
        config_key: Some("proxy-next-upstream-timeout"),
        applies: Applies::Profile,
        value: SECONDS,
        doc: "How long a request may go on to other endpoints; 0 = no limit.",
        example: "10",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_next_upstream_timeout, seconds(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-next-upstream-tries",
        config_key: Some("proxy-next-upstream-tries"),
        value: "a whole number",
        doc: "How many endpoints a request may try; 0 = no limit.",
        example: "2",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_next_upstream_tries, tries(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-read-timeout",
        config_key: Some("proxy-read-timeout"),
        value: SECONDS,
        doc: "Longest wait between two reads from an endpoint.",
        example: "120",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_read_timeout, seconds(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-redirect-from",
        config_key: Some("proxy-redirect-from"),
        risk: Risk::Medium,
        value: "off, default, or a URL of letters, digits and `- . _ ~ / : , ? & =`",
        doc: "What is replaced by `proxy-redirect-to` at the beginning of the endpoint's headers `Location` and `Refresh`. With `default` the \
            endpoint's own address is replaced by the client's. Behind `~` stands a regular expression, each of which adds a profile; plain text is live.",
        example: "http://internal.example.com/",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_redirect_from, without_blanks(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-redirect-to",
        config_key: Some("proxy-redirect-to"),
        risk: Risk::Medium,
        value: "off, or a URL of letters, digits and `- . _ ~ / : , ? & =`",
        doc: "What takes the place of `proxy-redirect-from`. With `off` it is as if that was `default`.",
        example: "https://www.example.com/",
        companions: &[("proxy-redirect-from", "http://internal.example.com/")],
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_redirect_to, without_blanks(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-request-buffering",
        applies: Applies::Ready,
        config_key: Some("proxy-request-buffering"),
        value: ON_OFF,
        doc: "Whether request bodies are buffered.",
        example: "off",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_request_buffering, parse_on_off(text.trim()).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-send-timeout",
        config_key: Some("proxy-send-timeout"),
        value: SECONDS,
        doc: "Longest wait between two writes to an endpoint.",
        example: "120",
        parse: |text, draft| set(&mut draft.spec.proxy.proxy_send_timeout, seconds(text)),
        ..LOCATION
    },
];

fn buffers(text: &str) -> Result<u32, Invalid> {
    parse_integer(text)
        .ok()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number >= 3)
        .ok_or(Invalid::new("a whole number from 3 to 4294967295"))
}

/// How often to try.
fn tries(text: &str) -> Result<u32, Invalid> {
    const EXPECTED: Invalid = Invalid::new("a whole number from 0 to 4294967295");
    parse_integer(text).ok().and_then(|count| u32::try_from(count).ok()).ok_or(EXPECTED)
}

#[cfg(test)]
mod tests;
