//! URLs with variables.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::template::{Part, is_basic, parts};
use crate::variable::{complaint_of_expanded, has_stray_brace};

const MAX_BYTES: usize = 4000;

/// The target of a request of our own: `http://` or `https://`, a host, perhaps a port, perhaps a path and a query. Variables may stand in host,
/// path and query, not in scheme and port.
///
/// Bytes: letters, digits, `- . _ ~ / : , ? & =`, `$name` and `${name}`; at most 4000. No user, no fragment, no `..` in the host. The
/// variables are those that tenants may use. A host in brackets is an IPv6 address. Never what NGINX takes for a unix socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlTemplate {
    text: String,
    /// Begin and end of the host, and the begin of the path.
    host: (usize, usize),
    path: usize,
}

/// The scheme behind which NGINX expects a path in the file system, in any letter case.
const SOCKET: &str = "unix:";
const EXPECTED: &str = "a URL such as http://auth.example.com/check";

impl UrlTemplate {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `true` if it begins with `https://`.
    pub fn is_https(&self) -> bool {
        self.text.as_bytes()[4].eq_ignore_ascii_case(&b's')
    }

    /// The host without the port, an IPv6 address with its brackets. Not empty.
    pub fn host(&self) -> &str {
        &self.text[self.host.0..self.host.1]
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        &self.text[self.host.0..self.path]
    }

    /// The port that is written.
    pub fn port(&self) -> Option<u16> {
        self.text[self.host.1..self.path].strip_prefix(':')?.parse().ok()
    }

    /// Path and query; empty if there are none.
    pub fn path(&self) -> &str {
        &self.text[self.path..]
    }

    /// `true` if it is known only at the request where this leads. A variable right behind the host counts as part of it.
    pub fn has_variable_host(&self) -> bool {
        self.host().contains('$')
    }

    /// The text in pieces, without captures.
    pub fn parts(&self) -> Vec<Part<'_>> {
        parts(&self.text).expect("the text was cut once when it was read")
    }
}

impl FromStr for UrlTemplate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = |more: &str| Invalid::because(format!("{EXPECTED}{more}"));
        let start = ["http://", "https://"].iter().find(|scheme| starts_with(text, scheme)).map(|scheme| scheme.len());
        let start = start.ok_or_else(|| invalid(", with http:// or https://"))?;
        let path = text[start..].find(['/', '?']).map_or(text.len(), |at| start + at);
        // The control plane listens on one. Behind a host of this name NGINX would take the port for the path of a socket.
        if starts_with(&text[start..], SOCKET) || text[start..path].eq_ignore_ascii_case("unix") {
            return Err(invalid(", not a unix socket"));
        }
        let (host, port) = split_port(&text[start..path]).ok_or_else(|| invalid(""))?;
        if !is_host(host) {
            return Err(invalid(" with a host of letters, digits, - . _ and variables, without .."));
        }
        if !port.is_empty() && !is_port(port) {
            return Err(invalid(" with a port from 1 to 65535"));
        }
        check(&text[path..], EXPECTED)?;
        complaint_of_expanded(host).map_or(Ok(()), |complaint| Err(invalid(&format!(" {complaint}"))))?;
        Ok(Self { text: text.to_owned(), host: (start, start + host.len()), path })
    }
}

impl fmt::Display for UrlTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The target of a redirect: like [`UrlTemplate`], or `$scheme://` instead of the scheme, or a path that begins with one `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RedirectTemplate(String);

const SCHEME: &str = "$scheme://";
const TARGET: &str = "a URL such as https://$host/login, or a path such as /login";

impl RedirectTemplate {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text in pieces, without captures.
    pub fn parts(&self) -> Vec<Part<'_>> {
        parts(&self.0).expect("the text was cut once when it was read")
    }

    /// `true` if the query has a non-empty parameter of this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        let query = self.0.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|pair| pair.split_once('=').is_some_and(|(key, value)| key == name && !value.is_empty()))
    }
}

impl FromStr for RedirectTemplate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(rest) = text.strip_prefix(SCHEME) {
            format!("http://{rest}").parse::<UrlTemplate>()?;
        } else if text.starts_with('/') && !text.starts_with("//") {
            check(text, TARGET)?;
        } else {
            text.parse::<UrlTemplate>().map_err(|_| match complaint_of_expanded(text) {
                Some(complaint) => Invalid::because(format!("{TARGET} {complaint}")),
                None => Invalid::new(TARGET),
            })?;
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for RedirectTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn starts_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// Path and query.
fn check(text: &str, expected: &str) -> Result<(), Invalid> {
    let allowed = |byte: u8| is_basic(byte) || matches!(byte, b',' | b'?' | b'&' | b'=' | b'$' | b'{' | b'}');
    if text.len() > MAX_BYTES || !text.bytes().all(allowed) || has_stray_brace(text) {
        return Err(Invalid::because(format!("{expected} of letters, digits, - . _ ~ / : , ? & = and variables, at most 4000 bytes")));
    }
    complaint_of_expanded(text).map_or(Ok(()), |complaint| Err(Invalid::because(format!("{expected} {complaint}"))))
}

/// Cuts `:port` off. `None` if a bracket does not close.
fn split_port(authority: &str) -> Option<(&str, &str)> {
    if authority.starts_with('[') {
        let end = authority.find(']')? + 1;
        let (host, rest) = authority.split_at(end);
        return if rest.is_empty() { Some((host, "")) } else { Some((host, rest.strip_prefix(':')?)) };
    }
    Some(authority.split_once(':').unwrap_or((authority, "")))
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'$' | b'{' | b'}');
    (1..=253).contains(&host.len()) && host.bytes().all(allowed) && !host.contains("..") && !has_stray_brace(host)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests;
