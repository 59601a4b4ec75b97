//! Questions, and how they are read from a path and its query.

use inspect::{Query, TrafficBy};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The present state in figures.
    Now,
    /// The Ingresses.
    Ingresses(Query),
    /// The hosts.
    Hosts(Query),
    /// One host.
    Host(String),
    /// The backends.
    Backends(Query),
    /// One backend, by its key.
    Backend(String),
    /// The certificates in use.
    Certificates(Query),
    /// The present findings, perhaps of one kind.
    Problems(Query, Option<String>),
    /// The settings, perhaps only those that are not as by default.
    Settings(Query, bool),
    /// What is finite.
    Budgets(Query),
    /// The texts that were applied.
    Revisions(Query),
    /// What differs between two of them: from, to. Absent: the one before, the running one.
    Diff(Option<String>, Option<String>),
    /// Requests.
    Traffic(TrafficBy, Query),
    /// What serves a request.
    Request(Asked),
}

/// A request that is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// URL.
    pub url: String,
    /// Method.
    pub method: String,
    /// Headers, each `Name: value`.
    pub headers: Vec<String>,
    /// Address of the client.
    pub client: Option<String>,
}

/// The pairs of a query.
pub(crate) type Pairs = Vec<(String, String)>;

/// A value of a query.
pub(crate) fn value<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

/// What is asked of a list.
///
/// # Errors
/// A number is none.
pub(crate) fn query(pairs: &Pairs) -> Result<Query, String> {
    let number = |name: &str| match value(pairs, name) {
        Some(text) => text.parse().map(Some).map_err(|_| format!("{name} {text:?}: expected a number")),
        None => Ok(None),
    };
    Ok(Query {
        part: value(pairs, "q").unwrap_or_default().to_lowercase(),
        namespace: value(pairs, "namespace").map(str::to_owned),
        offset: number("offset")?.unwrap_or(0),
        limit: number("limit")?,
    })
}

/// What requests are summed up by.
///
/// # Errors
/// It is none of these.
pub(crate) fn traffic_by(pairs: &Pairs) -> Result<TrafficBy, String> {
    match value(pairs, "by") {
        None | Some("host") => Ok(TrafficBy::Host),
        Some("ingress") => Ok(TrafficBy::Ingress),
        Some("backend") => Ok(TrafficBy::Backend),
        Some(other) => Err(format!("by {other:?}: expected host, ingress or backend")),
    }
}

/// The request that is asked about.
///
/// # Errors
/// There is none.
pub(crate) fn asked(pairs: &Pairs) -> Result<Asked, String> {
    let url = value(pairs, "url").ok_or("url: expected one, such as https://shop.example.com/cart")?;
    Ok(Asked {
        url: url.to_owned(),
        method: value(pairs, "method").unwrap_or("GET").to_owned(),
        headers: pairs.iter().filter(|(key, _)| key == "header").map(|(_, value)| value.clone()).collect(),
        client: value(pairs, "client").map(str::to_owned),
    })
}
