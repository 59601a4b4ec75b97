//! Formats of access logs.

use std::str::FromStr;

/// The format of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Each by itself: an object of JSON with the usual names, or text.
    #[default]
    Auto,
    /// NGINX's `combined`, or ingress-nginx's own.
    Text,
    /// An object of JSON.
    Json(Fields),
}

/// Names of the fields that say something of a request. Dots lead into objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// Each with names that may be there; the first one that has a value counts. Empty: the usual ones.
    names: Vec<(Part, String)>,
}

/// The meaning of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Method, target and version, as `$request` has them.
    Request,
    Method,
    /// Path, with or without a query.
    Target,
    /// The query of a target that has none.
    Query,
    Host,
    /// `namespace-service-port`.
    Backend,
}

impl Part {
    const ALL: [(&str, Self); 6] = [
        ("request", Self::Request),
        ("method", Self::Method),
        ("target", Self::Target),
        ("query", Self::Query),
        ("host", Self::Host),
        ("backend", Self::Backend),
    ];

    /// Names that people use, best first: what was sent goes before what NGINX made of it.
    const fn usual(self) -> &'static [&'static str] {
        match self {
            Self::Request => &["request", "request_line"],
            Self::Method => &["request_method", "method", "http_method", "verb", "http.request.method"],
            Self::Target => &["request_uri", "uri", "url", "path", "request_path", "http_path", "url.original", "url.path"],
            Self::Query => &["request_query", "args", "query_string", "query", "url.query"],
            Self::Host => &["http_host", "host", "vhost", "authority", "request_host", "domain", "server_name", "url.domain"],
            Self::Backend => &["proxy_upstream_name", "upstream_name"],
        }
    }
}

impl Fields {
    /// The names to look for.
    pub(super) fn names(&self, part: Part) -> impl Iterator<Item = &str> {
        let own = self.names.iter().filter(move |(own, _)| *own == part).map(|(_, name)| name.as_str());
        let usual = if self.names.iter().any(|(own, _)| *own == part) { &[] } else { part.usual() };
        own.chain(usual.iter().copied())
    }
}

/// A text that is no [`LogFormat`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no format of a log: expected auto, text, json, or json:PART=FIELD,... with the parts request, method, target, query, host, backend"
)]
pub struct InvalidFormat {
    text: String,
}

impl FromStr for LogFormat {
    type Err = InvalidFormat;

    fn from_str(text: &str) -> Result<Self, InvalidFormat> {
        let invalid = || InvalidFormat { text: text.to_owned() };
        let fields = match text {
            "auto" => return Ok(Self::Auto),
            "text" => return Ok(Self::Text),
            "json" => return Ok(Self::Json(Fields::default())),
            other => other.strip_prefix("json:").ok_or_else(invalid)?,
        };
        let names = fields.split(',').map(|field| {
            let (part, name) = field.split_once('=')?;
            let (_, part) = Part::ALL.iter().find(|(own, _)| *own == part)?;
            (!name.is_empty()).then(|| (*part, name.to_owned()))
        });
        Ok(Self::Json(Fields { names: names.collect::<Option<_>>().ok_or_else(invalid)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_fields_take_the_place_of_the_usual_ones() {
        let LogFormat::Json(fields) = "json:host=site,host=vhost,target=u".parse().unwrap() else { panic!("JSON") };
        assert_eq!(fields.names(Part::Host).collect::<Vec<_>>(), ["site", "vhost"]);
        assert_eq!(fields.names(Part::Target).collect::<Vec<_>>(), ["u"]);
        assert_eq!(fields.names(Part::Backend).collect::<Vec<_>>(), ["proxy_upstream_name", "upstream_name"]);
        for wrong in ["", "combined", "json:", "json:host", "json:host=", "json:port=x"] {
            assert!(wrong.parse::<LogFormat>().unwrap_err().to_string().starts_with(&format!("{wrong:?} is no format")), "{wrong}");
        }
    }
}
