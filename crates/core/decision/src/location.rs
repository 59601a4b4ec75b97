//! The location of a host that a path leads to.

use std::sync::Arc;

use model::live::HostRecord;
use serde::{Deserialize, Serialize};

use crate::pattern;

/// How a path leads to a location. In order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "text")]
pub enum LocationMatch {
    /// The path is this.
    Exact(Arc<str>),
    /// The first regular expression, in order of the lengths of the paths, longest first, that the path matches. Letter case is disregarded.
    Regex(Arc<str>),
    /// The path is this without the slash at its end: it is redirected there.
    MissingSlash(Arc<str>),
    /// The longest of those that the path begins with.
    Prefix(Arc<str>),
    /// Nothing matches: the default backend.
    Default,
}

/// The index of the route that a path leads to; none for the default backend. `own`: paths that are answered before prefixes are looked for.
pub fn find(record: &HostRecord, path: &[u8], own: impl Fn(&[u8]) -> bool) -> Option<(LocationMatch, Option<u32>)> {
    let text = std::str::from_utf8(path).ok();
    if let Some((name, at)) = text.and_then(|path| record.exact.get_key_value(path)) {
        return Some((LocationMatch::Exact(name.clone()), Some(*at)));
    }
    let fits = |regex: &str| pattern::caseless(&format!("^{regex}")).is_some_and(|regex| regex.is_match(path).unwrap_or(false));
    if let Some((regex, at)) = record.regex.iter().find(|(regex, _)| fits(regex)) {
        return Some((LocationMatch::Regex(regex.clone()), Some(*at)));
    }
    if own(path) {
        return None;
    }
    let with_slash = || record.prefix.get_key_value(&*format!("{}/", text?));
    if let Some((name, at)) = with_slash().filter(|_| !path.ends_with(b"/")) {
        return Some((LocationMatch::MissingSlash(name.clone()), Some(*at)));
    }
    let longest = record.prefix.iter().filter(|(name, _)| path.starts_with(name.as_bytes())).max_by_key(|(name, _)| name.len());
    Some(longest.map_or((LocationMatch::Default, None), |(name, at)| (LocationMatch::Prefix(name.clone()), Some(*at))))
}
