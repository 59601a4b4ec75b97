//! Which hosts share a `server` block.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::live::{NO_CERTIFICATE, NamePatterns};
use model::{HostRecord, Live, Model};

/// The host of requests for no other.
pub(super) const CATCH_ALL: &str = "_";

/// Hosts with the same routes and the same answer to whether they are TLS-enabled: a host and its aliases.
pub(super) struct Group<'a> {
    /// In order, at least one.
    pub(super) names: Vec<Arc<str>>,
    /// The same as NGINX writes them.
    pub(super) server_names: Vec<String>,
    /// Their routes; none for a catch-all that nothing was said about.
    pub(super) record: Option<&'a Arc<HostRecord>>,
    /// Whether they have a certificate entry, of their own or of their wildcard.
    pub(super) tls: bool,
}

/// Key of the record that lists the names which are patterns.
const PATTERNS: &str = "~";

/// The patterns that are other names of hosts, each with its host.
fn patterns(live: &Live) -> Vec<(Arc<str>, &Arc<str>)> {
    let Some(NamePatterns { suffixes, regexes }) = live.hosts.get(PATTERNS).and_then(|record| record.patterns.as_ref()) else {
        return Vec::new();
    };
    let suffixes = suffixes.iter().map(|(suffix, host)| (format!("*{suffix}").into(), host));
    suffixes.chain(regexes.iter().map(|(regex, host)| (format!("~{regex}").into(), host))).collect()
}

/// All groups in the order of their first names. The catch-all is always among them, alone.
pub(super) fn groups(model: &Model) -> Vec<Group<'_>> {
    let live = &model.live;
    let hosts = live.hosts.iter().filter(|(host, _)| &***host != PATTERNS);
    let hosts = hosts.map(|(host, record)| (host.clone(), server_name(host), host, record));
    let patterns =
        patterns(live).into_iter().filter_map(|(name, host)| Some((name.clone(), name.to_string(), host, live.hosts.get(host)?)));
    let mut known = BTreeMap::new();
    // Each with what it is sorted by: of patterns the first server block wins, and they are in the order of their hosts.
    let mut groups: Vec<(Arc<str>, Group<'_>)> = Vec::new();
    for (name, server_name, host, record) in hosts.chain(patterns) {
        let tls = has_certificate(live, &name);
        // Aliases share the record itself.
        let key = (Arc::as_ptr(record), tls, &*name == CATCH_ALL);
        let at = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => {
                group.names.push(name);
                group.server_names.push(server_name);
            }
            None => {
                groups.push((host.clone(), Group { names: vec![name], server_names: vec![server_name], record: Some(record), tls }));
            }
        }
    }
    if !live.hosts.contains_key(CATCH_ALL) {
        let (names, server_names) = (vec![CATCH_ALL.into()], vec![CATCH_ALL.into()]);
        groups.push((CATCH_ALL.into(), Group { names, server_names, record: None, tls: false }));
    }
    groups.sort_by(|(one, _), (other, _)| one.cmp(other));
    groups.into_iter().map(|(_, group)| group).collect()
}

/// How NGINX names a host: a wildcard covers exactly one label, which its own wildcards don't do.
fn server_name(host: &str) -> String {
    match host.strip_prefix("*.") {
        Some(parent) => format!(r"~^(?<subdomain>[\w-]+)\.{}$", parent.replace('.', r"\.")),
        None => host.to_owned(),
    }
}

/// Whether plain HTTP to a host counts as a detour. For the catch-all it depends on the request's host, which has no routes of its own.
fn has_certificate(live: &Live, host: &str) -> bool {
    let above = || live.servers.get(&*wildcard(host)?);
    host != CATCH_ALL && live.servers.get(host).or_else(above).is_some_and(|id| **id != *NO_CERTIFICATE)
}

/// The wildcard that covers a host.
fn wildcard(host: &str) -> Option<String> {
    let (_, parent) = host.split_once('.')?;
    Some(format!("*.{parent}"))
}
