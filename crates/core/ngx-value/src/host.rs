//! Host names.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// A host of a rule or an alias: a literal name, or `*.` and a name. Lower case, no port, no trailing dot, no regular expression.
///
/// Labels are letters, digits, `-` and `_`, 1 to 63 each; the whole has at most 253 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

const EXPECTED: Invalid = Invalid::new("a host name such as www.example.com or *.example.com");

impl HostName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name behind `*.`, if it is a wildcard.
    pub fn wildcard_parent(&self) -> Option<&str> {
        self.0.strip_prefix("*.")
    }

    /// `true` if a request for `host` (any case) belongs here; a wildcard covers exactly one label.
    pub fn covers(&self, host: &str) -> bool {
        match self.wildcard_parent() {
            None => self.0.eq_ignore_ascii_case(host),
            Some(parent) => host.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && parent.eq_ignore_ascii_case(rest)),
        }
    }
}

impl FromStr for HostName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let labels = text.strip_prefix("*.").unwrap_or(text);
        let label = |label: &str| {
            (1..=63).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if text.len() > 253 || !labels.split('.').all(label) {
            return Err(EXPECTED);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_host_is_a_literal_name_or_a_wildcard() {
        for (text, printed) in [
            ("foo", "foo"),
            ("WWW.Example.com", "www.example.com"),
            ("*.foo.com", "*.foo.com"),
            ("a_b.c", "a_b.c"),
            ("10.0.0.1", "10.0.0.1"),
        ] {
            assert_eq!(text.parse::<HostName>().unwrap().as_str(), printed);
        }
        let long = "a".repeat(64);
        for text in
            ["", ".", "*", "*.", "foo.*", "a.*.b", "foo.", ".foo", "a..b", "foo bar", "foo;", "foo:80", "~^x$", "ä.de", "[::1]", &long]
        {
            assert!(text.parse::<HostName>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_wildcard_covers_one_label() {
        let wildcard: HostName = "*.foo.com".parse().unwrap();
        assert!(wildcard.covers("bar.foo.com"));
        assert!(wildcard.covers("BAR.foo.COM"));
        for host in ["foo.com", "a.bar.foo.com", ".foo.com", "barfoo.com", ""] {
            assert!(!wildcard.covers(host), "{host}");
        }
        let literal: HostName = "foo.com".parse().unwrap();
        assert!(literal.covers("Foo.com") && !literal.covers("a.foo.com"));
    }

    proptest! {
        #[test]
        fn a_printed_host_parses_back(text in r"(\*\.)?[a-zA-Z0-9_-]{1,10}(\.[a-z0-9-]{1,10}){0,3}") {
            let host: HostName = text.parse().unwrap();
            prop_assert_eq!(host.to_string().parse(), Ok(host));
        }

        #[test]
        fn any_text_is_a_host_without_special_characters_or_an_error(text in ".*") {
            if let Ok(host) = text.parse::<HostName>() {
                prop_assert!(host.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte)));
            }
        }
    }
}
