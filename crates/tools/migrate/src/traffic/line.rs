//! One line of an access log: NGINX's `combined`, with or without a virtual host before it, and ingress-nginx's own format, which begins like it.

use super::format::{Fields, LogFormat};
use super::json;

/// The parts of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) method: String,
    /// Path and query, as they were sent.
    pub(super) target: String,
    /// The host in lower case, without port, where the line says it.
    pub(super) host: Option<String>,
    /// `namespace-service-port`, where the line says it.
    pub(super) backend: Option<String>,
}

impl Line {
    /// Reads a line; `None` for any other format, and for what was no HTTP request.
    pub(super) fn read(text: &str, format: &LogFormat) -> Option<Self> {
        match format {
            LogFormat::Auto if text.starts_with('{') => json::parse(text, &Fields::default()),
            LogFormat::Auto | LogFormat::Text => Self::parse(text),
            LogFormat::Json(fields) => json::parse(text, fields),
        }
    }

    /// A line of these parts; `None` when they are no HTTP request.
    pub(super) fn of(method: &str, target: &str, host: Option<&str>, backend: Option<String>) -> Option<Self> {
        if method.is_empty() || !method.bytes().all(|c| c.is_ascii_uppercase()) {
            return None;
        }
        let (in_target, target) = authority(target)?;
        let host = in_target.or(host).map(without_port).filter(|host| !host.is_empty());
        Some(Self { method: method.to_owned(), target: encode(&target), host, backend })
    }

    fn parse(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once(" [")?;
        let (_, rest) = rest.split_once("] \"")?;
        let (request, rest) = quoted(rest)?;
        let mut words = request.split(' ').filter(|word| !word.is_empty());
        let (method, target, version) = (words.next()?, words.next()?, words.next());
        if version.is_some_and(|version| !version.starts_with("HTTP/")) || words.next().is_some() {
            return None;
        }
        // vhost_combined: host:port client - user
        let first = before.split(' ').collect::<Vec<_>>();
        let virtual_host = (first.len() >= 4 && first[2] == "-").then(|| first[0]);
        Self::of(method, target, virtual_host, backend(rest))
    }
}

/// Writes what can't stand in a request line as escapes; those that are there stay.
fn encode(target: &str) -> String {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let path = crate::probe::encode(path);
    match query {
        Some(query) => format!("{path}?{}", query.split('?').map(crate::probe::encode).collect::<Vec<_>>().join("?")),
        None => path,
    }
}

/// Up to the closing quote; and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let end = text.find('"')?;
    Some((unescape(&text[..end]), &text[end + 1..]))
}

/// With NGINX's `\xHH` read.
pub(super) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = (byte == b'\\' && after.first() == Some(&b'x')).then(|| std::str::from_utf8(after.get(1..3)?).ok()).flatten();
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Host and rest of a target in absolute form; a path as it is.
fn authority(target: &str) -> Option<(Option<&str>, String)> {
    if target.starts_with('/') {
        return Some((None, target.to_owned()));
    }
    let (_, rest) = target.split_once("://")?;
    let at = rest.find('/').unwrap_or(rest.len());
    let path = &rest[at..];
    Some((Some(&rest[..at]), if path.is_empty() { "/".into() } else { path.to_owned() }))
}

fn without_port(text: &str) -> String {
    let host = match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) => host,
        _ => text,
    };
    host.to_ascii_lowercase()
}

/// The first words in brackets after the agent: `$request_length $request_time [$proxy_upstream_name]`.
fn backend(rest: &str) -> Option<String> {
    let after_agent = &rest[rest.rfind('"')? + 1..];
    let (_, name) = after_agent.split_once('[')?;
    let (name, _) = name.split_once(']')?;
    (!name.is_empty() && name != "-" && !name.contains(' ')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str, Option<&str>, Option<&str>)>) {
        let line = Line::parse(text);
        let line = line.as_ref().map(|line| (line.method.as_str(), line.target.as_str(), line.host.as_deref(), line.backend.as_deref()));
        assert_eq!(line, expected, "{text}");
    }

    #[test]
    fn the_usual_formats_are_read() {
        let combined = r#"10.0.0.1 - bob [21/Nov/2026:18:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 12 "-" "curl/8 [x]""#;
        check(combined, Some(("GET", "/a?b=1", None, None)));
        let ours = format!("{combined} 78 0.001 [default-web-80] [] 10.1.1.1:8080 12 0.001 200 0123abcd");
        check(&ours, Some(("GET", "/a?b=1", None, Some("default-web-80"))));
        check(&format!("Shop.example.com:443 {combined}"), Some(("GET", "/a?b=1", Some("shop.example.com"), None)));
        let absolute = combined.replace("/a?b=1", "http://shop.example.com:8080/x");
        check(&absolute, Some(("GET", "/x", Some("shop.example.com"), None)));
        let nowhere = format!("{combined} 78 0.001 [] [] - - - - 0123abcd");
        check(&nowhere, Some(("GET", "/a?b=1", None, None)));
    }

    #[test]
    fn escapes_are_read_and_written_again_as_those_of_urls() {
        assert_eq!(encode("/a%3Fb?c=%3F?d"), "/a%3Fb?c=%3F?d");
        let text = r#"::1 - - [21/Nov/2026:18:00:00 +0000] "HEAD /\x22\xC3\xA9\x5Cx%20?q=a HTTP/2.0" 404 0 "-" "-""#;
        check(text, Some(("HEAD", "/%22%C3%A9%5Cx%20?q=a", None, None)));
    }

    #[test]
    fn what_is_no_request_is_no_line() {
        for request in ["", "-", r"\x16\x03\x01", "GET", "get / HTTP/1.1", "GET / FTP", "PRI * HTTP/2.0", "GET /a b HTTP/1.1"] {
            check(&format!(r#"10.0.0.1 - - [21/Nov/2026:18:00:00 +0000] "{request}" 400 0 "-" "-""#), None);
        }
        check("{\"time\": 1}", None);
        check("2026/11/21 18:00:00 [error] 1#1: nothing", None);
    }
}
