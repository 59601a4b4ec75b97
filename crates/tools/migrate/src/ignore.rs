//! Rules of `--ignore`: differences that the operator knows and accepts.

use std::str::FromStr;

use crate::difference::Aspect;
use crate::request::Request;

const KINDS: [&str; 9] = ["failure", "status", "redirect", "certificate", "backend", "rewrite", "header", "body", "*"];

/// `KIND[:NAME][@HOST[/PATH]]`: a kind of difference or `*`, a header's name, a host (maybe a wildcard), what paths begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    kind: String,
    name: Option<String>,
    host: Option<String>,
    path: String,
}

/// A text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no rule: expected KIND[:HEADER][@HOST[/PATH]] with one of the kinds {}", KINDS.join(", "))]
pub struct InvalidIgnore {
    text: String,
}

impl FromStr for Ignore {
    type Err = InvalidIgnore;

    fn from_str(text: &str) -> Result<Self, InvalidIgnore> {
        let (what, place) = text.split_once('@').map_or((text, None), |(what, place)| (what, Some(place)));
        let (kind, name) = what.split_once(':').map_or((what, None), |(kind, name)| (kind, Some(name.to_ascii_lowercase())));
        let (host, path) = match place {
            Some(place) => place.find('/').map_or((Some(place), ""), |at| (Some(&place[..at]), &place[at..])),
            None => (None, ""),
        };
        let named = name.as_deref().is_none_or(|name| kind == "header" && !name.is_empty());
        if !KINDS.contains(&kind) || !named || host.is_some_and(str::is_empty) && path.is_empty() {
            return Err(InvalidIgnore { text: text.to_owned() });
        }
        let host = host.filter(|host| !host.is_empty()).map(str::to_ascii_lowercase);
        Ok(Self { kind: kind.to_owned(), name, host, path: path.to_owned() })
    }
}

impl Ignore {
    /// `true` if the rule covers a difference that a request showed.
    pub fn holds(&self, request: &Request, aspect: &Aspect) -> bool {
        let kind = self.kind == "*" || self.kind == aspect.kind();
        let name = self.name.as_deref().is_none_or(|name| aspect.name() == Some(name));
        let host = self.host.as_deref().is_none_or(|host| match host.strip_prefix('*') {
            Some(suffix) => request.host.ends_with(suffix),
            None => request.host == host,
        });
        kind && name && host && request.path().starts_with(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Scheme;

    #[track_caller]
    fn check(rule: &str, aspect: &Aspect, expected: bool) {
        let request = Request::get(Scheme::Http, "shop.example.com", "/legacy/a?b", "the path");
        assert_eq!(rule.parse::<Ignore>().unwrap().holds(&request, aspect), expected, "{rule}");
    }

    #[test]
    fn a_rule_holds_where_all_its_parts_do() {
        let powered = Aspect::Header("x-powered-by".into());
        check("header:X-Powered-By", &powered, true);
        check("header", &powered, true);
        check("header:server", &powered, false);
        check("status", &powered, false);
        check("*@shop.example.com", &powered, true);
        check("status@*.example.com/legacy", &Aspect::Status, true);
        check("status@*.example.com/new", &Aspect::Status, false);
        check("status@other.example.com", &Aspect::Status, false);
        check("certificate@/legacy", &Aspect::Certificate, true);
    }

    #[test]
    fn what_is_no_rule_is_quoted() {
        for text in ["", "colour", "status:x", "header:", "status@"] {
            assert!(text.parse::<Ignore>().unwrap_err().to_string().starts_with(&format!("{text:?} is no rule")), "{text}");
        }
    }
}
