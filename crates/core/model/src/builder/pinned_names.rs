//! Hosts below patterns. NGINX sends a request to the server block whose name fits best; a host that only Lua knows has none, so the
//! block of a wildcard above it would take its requests, client certificates and text included. Such hosts are named in the default
//! server, where a literal name wins. It costs a reload for each, and there are none unless a pattern has a block.
//!
//! For NGINX a wildcard of ours is a regular expression like an alias that is one, and the first that matches wins. Where a block has such an
//! alias, wildcards without a block are named in the default server, which comes first.

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use ngx_value::Pattern;

use super::names::is_pattern;
use crate::Model;
use crate::fixed::HostServer;
use crate::rule::CATCH_ALL;

type HostServers = OrdMap<Arc<str>, Arc<HostServer>>;
type Matcher = Box<dyn Fn(&str) -> bool>;

/// Settles the list after `names` changed, with the server blocks that there were before.
pub(super) fn settle(model: &mut Model, before: &HostServers, names: &BTreeSet<Arc<str>>) {
    let host_servers = model.fixed.host_servers.clone();
    let patterns = Patterns::of(&host_servers);
    let hosts = &model.live.hosts;
    if before.diff(&host_servers).next().is_some() {
        let all = hosts.keys().filter(|_| !patterns.is_empty());
        model.fixed.pinned_names = all.filter(|name| patterns.catch(name)).cloned().collect::<OrdSet<_>>();
    } else if !patterns.is_empty() {
        for name in names {
            if hosts.contains_key(name) && patterns.catch(name) {
                model.fixed.pinned_names.insert(name.clone());
            } else {
                model.fixed.pinned_names.remove(name);
            }
        }
    }
}

/// Names of server blocks.
#[derive(Default)]
struct Patterns<'a> {
    literal: BTreeSet<&'a str>,
    /// What stands behind `*.`: any one label before it.
    parents: BTreeSet<&'a str>,
    /// What stands behind `*` in other names: at least one label before it.
    suffixes: Vec<&'a str>,
    regexes: Vec<Matcher>,
}

impl<'a> Patterns<'a> {
    fn of(host_servers: &'a HostServers) -> Self {
        let mut patterns = Self::default();
        for (host, host_server) in host_servers {
            match host.strip_prefix("*.") {
                Some(parent) => patterns.parents.insert(parent),
                None => patterns.literal.insert(host),
            };
            for alias in &host_server.aliases {
                if let Some(regex) = alias.strip_prefix('~') {
                    patterns.regexes.extend(regex.parse::<Pattern>().ok().map(|regex| Box::new(regex.host_matcher()) as Matcher));
                } else if alias.starts_with("*.") {
                    patterns.suffixes.push(&alias[1..]);
                } else {
                    patterns.literal.insert(alias);
                }
            }
        }
        patterns
    }

    fn is_empty(&self) -> bool {
        self.parents.is_empty() && self.suffixes.is_empty() && self.regexes.is_empty()
    }

    /// Whether one of them catches a host that has no block of its own.
    fn catch(&self, name: &str) -> bool {
        if let Some(parent) = name.strip_prefix("*.") {
            return !self.regexes.is_empty() && !self.parents.contains(parent);
        }
        if is_pattern(name) || name == CATCH_ALL || self.literal.contains(name) {
            return false;
        }
        let below = name.split_once('.').is_some_and(|(label, parent)| {
            self.parents.contains(parent) && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        });
        below
            || self.suffixes.iter().any(|suffix| name.len() > suffix.len() && name.ends_with(suffix))
            || self.regexes.iter().any(|matches| matches(name))
    }
}
