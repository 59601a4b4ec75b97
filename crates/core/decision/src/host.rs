//! Whose rules a request is for.

use std::sync::Arc;

use model::Live;
use model::live::{HostRecord, NamePatterns};
use serde::{Deserialize, Serialize};

use crate::pattern;

/// Key of the record of names that are patterns.
const PATTERNS: &str = "~";
/// Key of the record of all hosts without rules of their own.
pub(crate) const CATCH_ALL: &str = "_";

/// Whose rules are used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Host of the rules: a name, `*.example.com`, or `_`, which is all hosts without rules.
    pub name: Arc<str>,
    /// Why.
    pub by: HostMatch,
    /// Less specific names that have rules too, and are not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead_of: Vec<Arc<str>>,
}

/// How a host leads to rules. In order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "alias")]
pub enum HostMatch {
    /// Rules have this host.
    Name,
    /// `server-alias` of these rules is this name.
    Alias,
    /// `server-alias` of these rules is `*.` and this suffix, with its dot.
    AliasSuffix(Arc<str>),
    /// Rules have the wildcard one label above.
    Wildcard,
    /// `server-alias` of these rules is this regular expression.
    AliasRegex(Arc<str>),
    /// No rule has the host.
    CatchAll,
}

/// The record that is used.
pub(crate) struct Found {
    pub(crate) shown: Host,
    pub(crate) record: Arc<HostRecord>,
    /// All that cover the host, the one that is used first.
    pub(crate) covering: Vec<Arc<str>>,
}

/// The record of a host. Cost: its labels, and the regular expressions that are aliases.
pub(crate) fn find(live: &Live, host: &str) -> Found {
    let mut covering = Vec::new();
    if !host.starts_with(['*', '~']) {
        covering.extend(own(live, host));
        let patterns = live.hosts.get(PATTERNS).and_then(|record| record.patterns.as_ref());
        covering.extend(patterns.and_then(|patterns| suffix(live, patterns, host)));
        covering.extend(wildcard(live, host));
        covering.extend(patterns.and_then(|patterns| regex(live, patterns, host)));
    }
    let catch_all = live.hosts.get(CATCH_ALL).cloned().unwrap_or_default();
    if covering.first().is_none_or(|(name, ..)| **name != *CATCH_ALL) {
        covering.push((CATCH_ALL.into(), HostMatch::CatchAll, catch_all));
    }
    let names: Vec<Arc<str>> = covering.iter().map(|(name, ..)| name.clone()).collect();
    let (name, by, record) = covering.swap_remove(0);
    let instead_of = names.iter().skip(1).filter(|other| **other != name && live.hosts.contains_key(*other)).cloned().collect();
    Found { shown: Host { name, by, instead_of }, record, covering: names }
}

type Candidate = (Arc<str>, HostMatch, Arc<HostRecord>);

fn own(live: &Live, host: &str) -> Option<Candidate> {
    let (key, record) = live.hosts.get_key_value(host)?;
    // The record of an alias says whose it is.
    let is_alias = record.name.as_ref().filter(|name| *name != key);
    let by = match is_alias {
        _ if host == CATCH_ALL => HostMatch::CatchAll,
        Some(_) => HostMatch::Alias,
        None => HostMatch::Name,
    };
    Some((is_alias.unwrap_or(key).clone(), by, record.clone()))
}

fn suffix(live: &Live, patterns: &NamePatterns, host: &str) -> Option<Candidate> {
    let dots = host.match_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
    let (suffix, target) = dots.filter_map(|at| patterns.suffixes.get_key_value(&host[at..])).next()?;
    Some((target.clone(), HostMatch::AliasSuffix(suffix.clone()), live.hosts.get(target)?.clone()))
}

fn wildcard(live: &Live, host: &str) -> Option<Candidate> {
    let (name, record) = live.hosts.get_key_value(above(host)?.as_str())?;
    Some((name.clone(), HostMatch::Wildcard, record.clone()))
}

/// The wildcard that covers a host: the first label must be of letters, digits, `-` and `_`.
pub(crate) fn above(host: &str) -> Option<String> {
    let (label, rest) = host.split_once('.')?;
    let is_label = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    is_label.then(|| format!("*.{rest}"))
}

fn regex(live: &Live, patterns: &NamePatterns, host: &str) -> Option<Candidate> {
    let fits = |regex: &str| pattern::caseless(regex).is_some_and(|regex| regex.is_match(host.as_bytes()).unwrap_or(false));
    let (regex, target) = patterns.regexes.iter().find(|(regex, _)| fits(regex))?;
    Some((target.clone(), HostMatch::AliasRegex(regex.clone()), live.hosts.get(target)?.clone()))
}
