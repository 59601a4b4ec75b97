//! A request, and what NGINX sees of it.

use std::net::IpAddr;

use crate::uri;

/// A request as a client sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Method, in upper case.
    pub method: String,
    /// Over TLS.
    pub tls: bool,
    /// What the header `Host` says; empty: there is none.
    pub authority: String,
    /// Path and query as they are sent.
    pub target: String,
    /// Other headers, in order.
    pub headers: Vec<(String, String)>,
    /// The client's address, if it is known.
    pub client: Option<IpAddr>,
}

/// Why there is nothing to decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    /// It is no URL of HTTP.
    #[error("{0:?}: expected a URL such as https://shop.example.com/cart?id=5; without a scheme it is http")]
    Url(String),
    /// The header is no header.
    #[error("{0:?}: expected a header such as 'X-Canary: always'")]
    Header(String),
    /// NGINX answers 400 to the host.
    #[error("host {0:?}: expected a host name, with or without port; NGINX answers 400")]
    Host(String),
    /// NGINX answers 400 to the path.
    #[error("path {0:?}: expected one that begins with a slash and stays below it, with whole escapes and without NUL; NGINX answers 400")]
    Path(String),
}

/// What NGINX sees.
pub(crate) struct Seen<'a> {
    pub(crate) request: &'a Request,
    /// In lower case, without port and dot at its end; `_` where the request has none.
    pub(crate) host: String,
    /// `$uri`.
    pub(crate) path: Vec<u8>,
}

impl Request {
    /// A GET of a URL.
    ///
    /// # Errors
    /// It is no URL of HTTP.
    pub fn get(url: &str) -> Result<Self, InvalidRequest> {
        let invalid = || InvalidRequest::Url(url.to_owned());
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(invalid()),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.is_empty() || authority.contains('@') || rest.contains(|c: char| c.is_ascii_whitespace() || c.is_ascii_control()) {
            return Err(invalid());
        }
        let target = target.split('#').next().unwrap_or_default();
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { method: "GET".into(), tls, authority: authority.into(), target, headers: Vec::new(), client: None })
    }

    /// The same with a header, `Name: value`; `Host` replaces that of the URL.
    ///
    /// # Errors
    /// It is no header.
    pub fn with_header(mut self, header: &str) -> Result<Self, InvalidRequest> {
        let invalid = || InvalidRequest::Header(header.to_owned());
        let (name, value) = header.split_once(':').ok_or_else(invalid)?;
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) || value.contains(['\r', '\n', '\0']) {
            return Err(invalid());
        }
        let value = value.trim_matches(' ').to_owned();
        if name.eq_ignore_ascii_case("host") {
            self.authority = value;
        } else {
            self.headers.push((name.to_owned(), value));
        }
        Ok(self)
    }

    /// Value of a header, by a name with any letter case; as a variable of NGINX is: `-` and `_` are the same.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let fits = |known: &str| known.len() == name.len() && known.bytes().zip(name.bytes()).all(|(a, b)| folded(a) == folded(b));
        let values: Vec<&str> = self.headers.iter().filter(|(known, _)| fits(known)).map(|(_, value)| value.as_str()).collect();
        let joint = if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " };
        (!values.is_empty()).then(|| values.join(joint))
    }

    /// Value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.variable("cookie")?;
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim_start().split_once('='));
        pairs.find(|(known, _)| known.trim_end().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim_start().to_owned())
    }

    /// What follows the path, without its `?`.
    pub(crate) fn args(&self) -> &str {
        let target = self.target.split('#').next().unwrap_or_default();
        target.split_once('?').map_or("", |(_, args)| args)
    }

    /// Value of a parameter.
    pub(crate) fn arg(&self, name: &str) -> Option<String> {
        let mut pairs = self.args().split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }

    /// Whether NGINX looks for a rule at all.
    ///
    /// # Errors
    /// It answers 400.
    pub fn check(&self) -> Result<(), InvalidRequest> {
        self.seen().map(drop)
    }

    pub(crate) fn seen(&self) -> Result<Seen<'_>, InvalidRequest> {
        let host = match self.authority.as_str() {
            "" => "_".to_owned(),
            authority => host(authority).ok_or_else(|| InvalidRequest::Host(authority.to_owned()))?,
        };
        let path = uri::normalised(self.target.as_bytes()).ok_or_else(|| InvalidRequest::Path(self.target.clone()))?;
        Ok(Seen { request: self, host, path })
    }
}

impl Seen<'_> {
    pub(crate) fn shown_path(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    pub(crate) const fn scheme(&self) -> &'static str {
        if self.request.tls { "https" } else { "http" }
    }
}

const fn folded(byte: u8) -> u8 {
    match byte.to_ascii_lowercase() {
        b'-' => b'_',
        byte => byte,
    }
}

/// `$host` of a header `Host`. `None`: NGINX answers 400.
fn host(authority: &str) -> Option<String> {
    let end = match authority.strip_prefix('[') {
        Some(literal) => literal.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let forbidden = |c: char| c == '/' || c <= ' ' || c == '\x7f';
    if authority.contains(forbidden) || authority.contains("..") {
        return None;
    }
    let host = authority.get(..end)?;
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_request() {
        let request = Request::get("https://Shop.example.com:8443/a%20b?x=1#frag").unwrap();
        assert!(request.tls);
        assert_eq!((request.authority.as_str(), request.target.as_str()), ("Shop.example.com:8443", "/a%20b?x=1"));
        let seen = request.seen().unwrap();
        assert_eq!((seen.host.as_str(), seen.path.as_slice()), ("shop.example.com", b"/a b".as_slice()));
        assert_eq!(Request::get("shop.example.com").unwrap().target, "/");
        assert_eq!(Request::get("shop.example.com?a=b").unwrap().target, "/?a=b");
        for url in ["", "/path", "ftp://a.test/", "http://", "http://user@a.test/", "http://a.test/a b"] {
            assert_eq!(Request::get(url), Err(InvalidRequest::Url(url.to_owned())), "{url}");
        }
    }

    #[test]
    fn hosts_are_read_as_nginx_reads_them() {
        for (authority, expected) in
            [("A.Test:80", "a.test"), ("a.test.", "a.test"), ("a.test.:80", "a.test"), ("[::1]:80", "[::1]"), ("a:x", "a")]
        {
            assert_eq!(host(authority).as_deref(), Some(expected), "{authority}");
        }
        for authority in [".", ":80", "a..b", "a/b", "a b", "[::1"] {
            assert_eq!(host(authority), None, "{authority}");
        }
    }

    #[test]
    fn headers_cookies_and_parameters_are_found_as_variables_are() {
        let request = Request::get("http://a.test/?A=1&b=2").unwrap();
        let request = request.with_header("X-Canary:  yes ").unwrap().with_header("Cookie: a=b; Canary=always").unwrap();
        assert_eq!(request.variable("x_canary").as_deref(), Some("yes"));
        assert_eq!(request.cookie("canary").as_deref(), Some("always"));
        assert_eq!((request.arg("a").as_deref(), request.arg("c")), (Some("1"), None));
        assert_eq!(request.clone().with_header("host: b.test").unwrap().authority, "b.test");
        for header in ["", "no colon", ": x", "a b: c", "a: b\r\nc: d"] {
            assert_eq!(request.clone().with_header(header), Err(InvalidRequest::Header(header.to_owned())));
        }
    }
}
