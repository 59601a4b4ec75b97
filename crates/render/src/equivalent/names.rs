//! Which hosts share a `server` block.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::live::NamePatterns;
use model::{HostRecord, Live, Model, Shell};

use crate::server::server_name;

/// The host of requests for no other.
pub(super) const CATCH_ALL: &str = "_";

/// Hosts with the same routes and the same answer to whether they are TLS-enabled: a host and its aliases.
pub(super) struct Group<'a> {
    /// In order, at least one.
    pub(super) names: Vec<Arc<str>>,
    /// Other names that are patterns, as NGINX writes them.
    patterns: Vec<String>,
    /// Their routes; none for a catch-all that nothing was said about.
    pub(super) record: Option<&'a Arc<HostRecord>>,
    /// Their server-level text.
    pub(super) shell: Option<&'a Shell>,
    /// Whether they have a certificate entry, of their own or of their wildcard.
    pub(super) tls: bool,
}

impl Group<'_> {
    /// All names as NGINX writes them.
    pub(super) fn server_names(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(|name| server_name(name)).chain(self.patterns.iter().cloned())
    }
}

/// Key of the record that lists the names which are patterns.
const PATTERNS: &str = "~";

/// The patterns that are other names of a host.
fn patterns(live: &Live, host: &str) -> Vec<String> {
    let Some(NamePatterns { suffixes, regexes }) = live.hosts.get(PATTERNS).and_then(|record| record.patterns.as_ref()) else {
        return Vec::new();
    };
    let suffixes = suffixes.iter().filter(|(_, of)| ***of == *host).map(|(suffix, _)| format!("*{suffix}"));
    suffixes.chain(regexes.iter().filter(|(_, of)| **of == *host).map(|(regex, _)| format!("~{regex}"))).collect()
}

/// All groups in the order of their first names. The catch-all is always among them, alone.
pub(super) fn groups(model: &Model) -> Vec<Group<'_>> {
    let shells: BTreeMap<&str, (&str, &Shell)> = model
        .fixed
        .shells
        .iter()
        .flat_map(|(host, shell)| shell.aliases.iter().chain([host]).map(move |name| (&**name, (&**host, &**shell))))
        .collect();
    let mut known = BTreeMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (host, record) in model.live.hosts.iter().filter(|(host, _)| &***host != PATTERNS) {
        let patterns = patterns(&model.live, host);
        let tls = has_certificate(&model.live, host);
        let shell = shells.get(&**host);
        // Aliases share the record itself.
        let key = (Arc::as_ptr(record), tls, shell.map(|(host, _)| *host), &**host == CATCH_ALL);
        let at = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => {
                group.names.push(host.clone());
                group.patterns.extend(patterns);
            }
            None => {
                let shell = shell.map(|(_, shell)| *shell);
                groups.push(Group { names: vec![host.clone()], patterns, record: Some(record), shell, tls });
            }
        }
    }
    if !model.live.hosts.contains_key(CATCH_ALL) {
        let shell = shells.get(CATCH_ALL).map(|(_, shell)| *shell);
        let at = groups.partition_point(|group| *group.names[0] < *CATCH_ALL);
        groups.insert(at, Group { names: vec![CATCH_ALL.into()], patterns: Vec::new(), record: None, shell, tls: false });
    }
    groups
}

/// The group that answers for a host: by its name, else by its wildcard.
pub(super) fn find<'g, 'a>(groups: &'g [Group<'a>], host: &str) -> Option<&'g Group<'a>> {
    let named = |wanted: &str| groups.iter().find(|group| group.names.iter().any(|name| **name == *wanted));
    named(host).or_else(|| named(&wildcard(host)?))
}

/// Whether plain HTTP to a host counts as a detour. For the catch-all it depends on the request's host, which has no routes of its own.
fn has_certificate(live: &Live, host: &str) -> bool {
    host != CATCH_ALL && (live.servers.contains_key(host) || wildcard(host).is_some_and(|name| live.servers.contains_key(&*name)))
}

/// The wildcard that covers a host.
fn wildcard(host: &str) -> Option<String> {
    let (_, parent) = host.split_once('.')?;
    Some(format!("*.{parent}"))
}
