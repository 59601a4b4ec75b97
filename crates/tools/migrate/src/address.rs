//! The address at which a controller listens.

use std::fmt;
use std::str::FromStr;

use crate::request::Scheme;

/// Ports of a controller that names none.
const HTTP: u16 = 80;
const HTTPS: u16 = 443;

/// A controller's listeners: `HOST`, `HOST:HTTP` or `HOST:HTTP,HTTPS`; IPv6 addresses stand in brackets.
///
/// `HOST` alone has ports 80 and 443; `HOST:HTTP` has no HTTPS, `HOST:,HTTPS` no HTTP. At least one port is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Name or address to connect to, without brackets.
    pub host: String,
    /// Port for HTTP.
    pub http: Option<u16>,
    /// Port for HTTPS.
    pub https: Option<u16>,
}

/// A text that is no [`Address`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no address of a controller: expected HOST, HOST:HTTP or HOST:HTTP,HTTPS with ports from 1 to 65535")]
pub struct InvalidAddress {
    text: String,
}

impl Address {
    /// The port for a scheme.
    pub fn port(&self, scheme: Scheme) -> Option<u16> {
        match scheme {
            Scheme::Http => self.http,
            Scheme::Https => self.https,
        }
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        parse(text).ok_or_else(|| InvalidAddress { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Address> {
    let (host, ports) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        // More than one colon outside brackets: an IPv6 address without ports.
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(host, ports)| (host, Some(ports))),
    };
    let legal = !host.is_empty() && host.bytes().all(|c| c.is_ascii_alphanumeric() || b".-_:".contains(&c));
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    let (http, https) = match ports.map(|ports| ports.split_once(',').unwrap_or((ports, ""))) {
        None => (Some(HTTP), Some(HTTPS)),
        Some(("", "")) => return None,
        Some((http, "")) => (Some(port(http)?), None),
        Some(("", https)) => (None, Some(port(https)?)),
        Some((http, https)) => (Some(port(http)?), Some(port(https)?)),
    };
    legal.then(|| Address { host: host.to_owned(), http, https })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&self.host)?,
        }
        let text = |port: Option<u16>| port.map(|port| port.to_string()).unwrap_or_default();
        match (self.http, self.https) {
            (Some(HTTP), Some(HTTPS)) => Ok(()),
            (http, None) => write!(f, ":{}", text(http)),
            (http, https) => write!(f, ":{},{}", text(http), text(https)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_read_and_printed_again() {
        for (text, host, http, https) in [
            ("10.0.0.7", "10.0.0.7", Some(80), Some(443)),
            ("old.example.com:8080", "old.example.com", Some(8080), None),
            ("10.0.0.7:8080,8443", "10.0.0.7", Some(8080), Some(8443)),
            ("[::1]:,8443", "::1", None, Some(8443)),
            ("[fd00::1]", "fd00::1", Some(80), Some(443)),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.host.as_str(), address.http, address.https), (host, http, https), "{text}");
            assert_eq!(address.to_string(), text);
        }
        assert_eq!("fd00::1".parse::<Address>().unwrap().host, "fd00::1");
    }

    #[test]
    fn what_is_no_address_is_quoted() {
        for text in ["", ":80", "a:", "a:0", "a:b", "a:80,b", "http://a", "[::1", "a b"] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("{text:?} is no address")), "{error}");
        }
    }
}
