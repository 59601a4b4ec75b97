//! Origins as browsers name them.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// An origin that may read answers: `scheme://host`, `scheme://*.host`, either with `:port`, or `null`.
///
/// Scheme: small letters. Host: letters, digits, `-` and `.`; kept in lower case, because origins are compared without regard to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The origin of pages without one: `null`.
    Null,
    /// Pages of a site.
    Site {
        /// Without `://`.
        scheme: String,
        /// `*.` stood before the host: one more label of letters, digits and `-`, and never none.
        sub_domain: bool,
        /// The host.
        host: String,
        /// The port. `None`: the origin must not name one.
        port: Option<u16>,
    },
}

const EXPECTED: Invalid = Invalid::new("an origin such as https://example.com, https://*.example.com:8443 or null");

impl Origin {
    /// `true` if the header `Origin` of a request, in any letter case, is this origin.
    pub fn covers(&self, received: &str) -> bool {
        let received = received.to_ascii_lowercase();
        let Self::Site { scheme, sub_domain, host, port } = self else {
            return received == "null";
        };
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let rest = received.strip_prefix(scheme.as_str()).and_then(|rest| rest.strip_prefix("://"));
        let label = rest.and_then(|rest| rest.strip_suffix(&format!("{host}{port}")));
        match label {
            None => false,
            Some(label) if !sub_domain => label.is_empty(),
            Some(label) => label.strip_suffix('.').is_some_and(|label| !label.is_empty() && label.bytes().all(is_label)),
        }
    }
}

impl FromStr for Origin {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == "null" {
            return Ok(Self::Null);
        }
        let (scheme, rest) = text.split_once("://").ok_or(EXPECTED)?;
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (host, Some(read_port(port)?)),
            None => (rest, None),
        };
        let (sub_domain, host) = host.strip_prefix("*.").map_or((false, host), |host| (true, host));
        let valid = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_label);
        if !(1..=32).contains(&scheme.len()) || !scheme.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Err(EXPECTED);
        }
        if host.len() > 253 || !host.split('.').all(valid) {
            return Err(EXPECTED);
        }
        Ok(Self::Site { scheme: scheme.to_owned(), sub_domain, host: host.to_ascii_lowercase(), port })
    }
}

fn read_port(text: &str) -> Result<u16, Invalid> {
    if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(EXPECTED);
    }
    text.parse().map_err(|_| EXPECTED)
}

const fn is_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Site { scheme, sub_domain, host, port } = self else {
            return f.write_str("null");
        };
        write!(f, "{scheme}://{}{host}", if *sub_domain { "*." } else { "" })?;
        port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn origin(text: &str) -> Origin {
        text.parse().unwrap()
    }

    #[test]
    fn an_origin_has_a_scheme_and_a_host() {
        for text in ["null", "http://a", "https://*.example.com:8443", "tauri://localhost:3000", "test://localhost"] {
            assert_eq!(origin(text).to_string(), text);
        }
        assert_eq!(origin("https://Example.COM").to_string(), "https://example.com");
        for text in [
            "",
            "*",
            "example.com",
            "https://",
            "https://*",
            "https://a.*.b",
            "https://a/",
            "https://a:",
            "https://a:0",
            "https://a:65536",
            "https://a:+1",
            "Https://a",
            "https://a b",
            "https://a;",
            "https://a\n",
            "https://a..b",
            "https://[::1]",
            "h2://a",
            "://a",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_origin_covers_itself_and_a_wildcard_one_label_more() {
        for (own, received, covers) in [
            ("https://a.b", "https://A.b", true),
            ("https://a.b", "https://a.b:443", false),
            ("https://a.b", "https://x.a.b", false),
            ("https://a.b", "xhttps://a.b", false),
            ("http://*.a.b:80", "http://c-1.a.b:80", true),
            ("http://*.a.b:80", "http://c-1.a.b", false),
            ("http://*.a.b", "http://a.b", false),
            ("http://*.a.b", "http://.a.b", false),
            ("http://*.a.b", "http://d.c.a.b", false),
            ("http://*.a.b", "http://xa.b", false),
            ("http://*.a.b", "http://e/@c.a.b", false),
            ("null", "null", true),
            ("null", "", false),
        ] {
            assert_eq!(origin(own).covers(received), covers, "{own} {received}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_origin_or_an_error(text in "[a-c*:/.0-9]{0,4}(://)?[a-c*:/.0-9-]{0,12}") {
            if let Ok(origin) = text.parse::<Origin>() {
                prop_assert_eq!(origin.to_string().parse(), Ok(origin));
            }
        }
    }
}
