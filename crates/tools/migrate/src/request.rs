//! One request that both controllers get.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::site::Rule;

/// With or without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Plain.
    Http,
    /// Over TLS, with the host as the server's name.
    Https,
}

impl Scheme {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Http, Self::Https];

    /// The name as it stands in a URL.
    pub fn label(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A request, without a body.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// With or without TLS.
    pub scheme: Scheme,
    /// Value of the Host header and, over TLS, the server's name; no port.
    pub host: String,
    /// Method, in upper case.
    pub method: String,
    /// Path and query as they are sent, not decoded; begins with `/`.
    pub target: String,
    /// More headers, in order.
    pub headers: Vec<(String, String)>,
    /// The reason for sending it: what a probe tries, or that it stood in an access log. For people.
    pub purpose: &'static str,
    /// The rule that it is about, where it is known.
    pub rule: Option<Arc<Rule>>,
}

impl Request {
    /// `GET` of a target.
    pub fn get(scheme: Scheme, host: &str, target: impl Into<String>, purpose: &'static str) -> Self {
        let target = target.into();
        Self { scheme, host: host.to_owned(), method: "GET".into(), target, headers: Vec::new(), purpose, rule: None }
    }

    /// The parts by which two requests are the same for the controllers.
    pub fn identity(&self) -> (Scheme, &str, &str, &str, &[(String, String)]) {
        (self.scheme, &self.host, &self.method, &self.target, &self.headers)
    }

    /// Value of one of its own headers.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.method != "GET" {
            write!(f, "{} ", self.method)?;
        }
        write!(f, "{}://{}{}", self.scheme.label(), self.host, self.target)
    }
}
