//! The answer of a controller, cut down to what is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::address::Address;

/// Headers that say nothing about the controller: clocks, identities of one request, and how the body travels.
const IGNORED: &[&str] = &[
    "date",
    "age",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "x-request-id",
    "request-id",
    "x-correlation-id",
    "traceparent",
    "tracestate",
    "x-b3-traceid",
    "x-b3-spanid",
    "x-amzn-trace-id",
    "x-runtime",
    "x-response-time",
    "server-timing",
];
/// Headers whose values are sets of words, separated by commas.
const SETS: &[&str] =
    &["vary", "allow", "cache-control", "access-control-allow-methods", "access-control-allow-headers", "access-control-expose-headers"];

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// `Location`, in which the controller's own ports are written as `{http}` and `{https}`.
    pub location: Option<String>,
    /// All other headers that are compared: names in lower case, values in an order of their own.
    pub headers: BTreeMap<String, Vec<String>>,
    /// SHA-256 of the body in hexadecimal, where bodies are compared and it ended in time.
    pub body: Option<String>,
    /// The backend that answered, where that can be seen.
    pub backend: Option<String>,
    /// The target that the backend saw, where that can be seen.
    pub target: Option<String>,
    /// The certificate that was shown, over TLS.
    pub certificate: Option<Shown>,
}

/// A certificate as it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// SHA-256 of the DER form in hexadecimal.
    pub fingerprint: String,
    /// Names: the common name, then the alternative names; for people.
    pub names: String,
    /// `true` if a controller made it for itself because there was no other.
    pub generated: bool,
}

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct Failure {
    /// The kind of failure, which is compared.
    pub kind: FailureKind,
    /// For people.
    pub detail: String,
}

/// The stage at which it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No connection.
    Connect,
    /// The TLS handshake was refused: the peer speaks TLS.
    Handshake,
    /// The port does not speak TLS.
    NoTls,
    /// Nothing came in time.
    Timeout,
    /// The connection ended before the answer, or what came was none.
    Broken,
    /// The request can't be written as HTTP.
    Unsendable,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection",
            Self::Handshake => "no TLS handshake",
            Self::NoTls => "no TLS",
            Self::Timeout => "no answer in time",
            Self::Broken => "no whole answer",
            Self::Unsendable => "can't be sent",
        })
    }
}

/// The outcome of a request.
pub type RequestOutcome = Result<Answer, Failure>;

/// Headers as they are compared, from those that came. `own` are more names, in lower case, that are left out.
pub fn headers<'a>(raw: impl IntoIterator<Item = (&'a str, &'a str)>, own: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in raw {
        let name = name.to_ascii_lowercase();
        if name == "location" || IGNORED.contains(&name.as_str()) || own.contains(&name) {
            continue;
        }
        let value = match name.as_str() {
            "set-cookie" => cookie(value),
            _ => value.trim().to_owned(),
        };
        headers.entry(name).or_default().push(value);
    }
    for (name, values) in &mut headers {
        if SETS.contains(&name.as_str()) {
            let words: BTreeSet<String> =
                values.iter().flat_map(|value| value.split(',')).map(|word| word.trim().to_ascii_lowercase()).collect();
            *values = vec![words.into_iter().collect::<Vec<_>>().join(", ")];
        }
        values.sort();
    }
    headers
}

/// A cookie without its value and its times, which differ from answer to answer.
fn cookie(text: &str) -> String {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().split('=').next().unwrap_or_default().to_owned();
    let mut attributes: Vec<String> = parts
        .filter(|part| {
            let key = part.split('=').next().unwrap_or_default().to_ascii_lowercase();
            !matches!(key.as_str(), "expires" | "max-age")
        })
        .map(str::to_ascii_lowercase)
        .collect();
    attributes.sort();
    attributes.insert(0, format!("{name}=..."));
    attributes.join("; ")
}

/// A redirect's target with the ports of the controller's own listeners taken out: those differ because the addresses do.
pub fn location(text: &str, address: &Address) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let Some((host, port)) = authority.rsplit_once(':') else { return text.to_owned() };
    let port = port.parse::<u16>().ok();
    let name = match port {
        Some(_) if port == address.http => "{http}",
        Some(_) if port == address.https => "{https}",
        _ => return text.to_owned(),
    };
    format!("{scheme}://{host}:{name}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(raw: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
        headers(raw.iter().copied(), &BTreeSet::from(["x-mine".to_owned()])).into_iter().collect()
    }

    #[test]
    fn clocks_identities_and_order_do_not_count() {
        assert!(only(&[("Date", "a"), ("X-Request-ID", "b"), ("X-Mine", "c"), ("Location", "d")]).is_empty());
        assert_eq!(only(&[("Vary", "Origin, Accept-Encoding")]), only(&[("vary", "accept-encoding"), ("Vary", "origin")]));
        assert_eq!(only(&[("link", "a"), ("link", "b")]), only(&[("link", "b"), ("link", "a")]));
    }

    #[test]
    fn a_cookie_keeps_its_name_and_attributes() {
        let one = only(&[("set-cookie", "a=1; Path=/; Secure; Expires=Sat, 01 Jan; Max-Age=4")]);
        assert_eq!(one, only(&[("set-cookie", "a=2; secure; path=/")]));
        assert_ne!(one, only(&[("set-cookie", "b=1; Path=/; Secure")]));
        assert_ne!(one, only(&[("set-cookie", "a=1; Path=/")]));
    }

    #[test]
    fn the_controller_s_own_ports_are_no_part_of_a_redirect() {
        let address: Address = "a:8080,8443".parse().unwrap();
        assert_eq!(location("http://x:8080/a:8443?q", &address), "http://x:{http}/a:8443?q");
        assert_eq!(location("https://x:8443", &address), "https://x:{https}");
        assert_eq!(location("https://x:9/", &address), "https://x:9/");
        assert_eq!(location("/a:8080", &address), "/a:8080");
    }
}
