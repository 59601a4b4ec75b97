//! Buffers, retries and what happens to the headers of answers.

use annotations::groups::Buffers;
use ngx_value::{HttpVersion, NextUpstream, Seconds, Size};

/// Directives of proxying. A field that is `None` is inherited from the `http` block.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Proxying {
    /// `proxy_buffers`, `proxy_buffer_size`, `proxy_busy_buffers_size` and `proxy_max_temp_file_size`: all of them, as they must fit together.
    pub buffers: Option<Buffers>,
    /// `client_body_buffer_size`.
    pub client_body_buffer_size: Option<Size>,
    /// `proxy_http_version`.
    pub http_version: Option<HttpVersion>,
    /// `proxy_next_upstream`.
    pub next_upstream: Option<NextUpstream>,
    /// `proxy_next_upstream_timeout`; 0 = no limit.
    pub next_upstream_timeout: Option<Seconds>,
    /// `proxy_cookie_domain`.
    pub cookie_domain: Option<Replacement>,
    /// `proxy_cookie_path`.
    pub cookie_path: Option<Replacement>,
    /// `proxy_redirect`.
    pub location: Option<Replacement>,
}

/// What takes the place of what in a header of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// Nothing.
    Off,
    /// The endpoint's own address becomes the client's (`proxy_redirect default`).
    Default,
    /// Plain text: variables that Lua fills in from [`crate::live::Replacements`], so one profile serves all.
    Live,
    /// A regular expression, which must be text.
    Regex {
        /// `~` and the expression.
        from: String,
        /// What takes its place.
        to: String,
    },
}

impl Replacement {
    /// A replacement of plain text or, behind `~`, of what an expression matches; with the plain text.
    pub(crate) fn new(from: &str, to: &str) -> (Self, Option<[String; 2]>) {
        if from.starts_with('~') {
            (Self::Regex { from: from.to_owned(), to: to.to_owned() }, None)
        } else {
            (Self::Live, Some([from.to_owned(), to.to_owned()]))
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Default => "default".to_owned(),
            Self::Live => "plain text".to_owned(),
            Self::Regex { from, to } => format!("{from} {to}"),
        }
    }
}

impl Proxying {
    /// Every set field as (setting name, value), in a fixed order.
    pub(super) fn parts(&self) -> Vec<(&'static str, Option<String>)> {
        // Destructured so that a new field can't be forgotten in the digest.
        let Self {
            buffers,
            client_body_buffer_size,
            http_version,
            next_upstream,
            next_upstream_timeout,
            cookie_domain,
            cookie_path,
            location,
        } = self;
        vec![
            ("proxy-buffers-number", buffers.map(|buffers| buffers.number.to_string())),
            ("proxy-buffer-size", buffers.map(|buffers| buffers.size.to_string())),
            ("proxy-busy-buffers-size", buffers.and_then(|buffers| buffers.busy).map(|size| size.to_string())),
            ("proxy-max-temp-file-size", buffers.map(|buffers| buffers.max_temp_file.to_string())),
            ("client-body-buffer-size", client_body_buffer_size.map(|size| size.to_string())),
            ("proxy-http-version", http_version.map(|version| version.to_string())),
            ("proxy-next-upstream", next_upstream.as_ref().map(NextUpstream::to_string)),
            ("proxy-next-upstream-timeout", next_upstream_timeout.map(|timeout| timeout.to_string())),
            ("proxy-cookie-domain", cookie_domain.as_ref().map(Replacement::text)),
            ("proxy-cookie-path", cookie_path.as_ref().map(Replacement::text)),
            ("proxy-redirect", location.as_ref().map(Replacement::text)),
        ]
    }
}
