//! Buffers, retries and what happens to the headers of answers.

use ngx_value::NextUpstream;
use settings::groups::Buffers;

/// Directives of proxying. A field that is `None` is inherited from the `http` block.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Proxying {
    /// `proxy_buffers`, `proxy_buffer_size`, `proxy_busy_buffers_size` and `proxy_max_temp_file_size`: all of them, as they must fit together.
    pub buffers: Option<Buffers>,
    /// `proxy_next_upstream`.
    pub next_upstream: Option<NextUpstream>,
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
    /// Plain text, where the `http` block has a regular expression: variables that Lua fills in from [`crate::live::Replacements`].
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
    /// What the text of a profile has of it, and what Lua has.
    ///
    /// Plain text is Lua's alone, unless the `http` block has a regular expression in its place. Behind `~` stands one.
    pub(crate) fn new([from, to]: [&str; 2], in_place_of: &str) -> (Option<Self>, Option<[String; 2]>) {
        if is_regex(from) {
            (Some(Self::Regex { from: from.to_owned(), to: to.to_owned() }), None)
        } else {
            (is_regex(in_place_of).then_some(Self::Live), Some([from.to_owned(), to.to_owned()]))
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Live => "plain text".to_owned(),
            Self::Regex { from, to } => format!("{from} {to}"),
        }
    }
}

/// Whether NGINX takes it as a regular expression.
pub fn is_regex(from: &str) -> bool {
    from.starts_with('~')
}

impl Proxying {
    /// Every set field as (setting name, value), in a fixed order.
    pub(super) fn parts(&self) -> Vec<(&'static str, Option<String>)> {
        // Destructured so that a new field can't be forgotten in the digest.
        let Self { buffers, next_upstream, cookie_domain, cookie_path, location } = self;
        vec![
            ("proxy-buffers-number", buffers.map(|buffers| buffers.number.to_string())),
            ("proxy-buffer-size", buffers.map(|buffers| buffers.size.to_string())),
            ("proxy-busy-buffers-size", buffers.and_then(|buffers| buffers.busy).map(|size| size.to_string())),
            ("proxy-max-temp-file-size", buffers.map(|buffers| buffers.max_temp_file.to_string())),
            ("proxy-next-upstream", next_upstream.as_ref().map(NextUpstream::to_string)),
            ("proxy-cookie-domain", cookie_domain.as_ref().map(Replacement::text)),
            ("proxy-cookie-path", cookie_path.as_ref().map(Replacement::text)),
            ("proxy-redirect", location.as_ref().map(Replacement::text)),
        ]
    }
}
