//! What an Ingress takes of what is finite ([`crate::shares`]): an estimate from the Ingress alone, a little above the truth.

use std::collections::BTreeMap;
use std::sync::Arc;

use annotations::Config;

use super::host;
use super::ingress::{CATCH_ALL, Entry};
use crate::shares::{Claim, Common, Resource, Weight};

/// Share of the dictionary of routes that they may have: endpoints are in it as well.
const STATE: (u64, u64) = (8, 10);
/// What the dictionary needs for a record beside its key and value.
const NODE: u64 = 96;
/// Its pages. Smaller records share one, in sizes that are powers of two.
const PAGE: u64 = 4096;
/// Room for the text of profiles and server blocks.
const TEXT: u64 = 96 << 20;
/// Half of what a worker keeps compiled: the other half is for those of former records.
const REGEXES: u64 = 32_768;
/// Text of a named location, and of a server block, without what an Ingress writes in it.
const LOCATION: u64 = 1024;
const SERVER: u64 = 8 << 10;
/// A path in a record beside its route: the keys of two look-ups with their indexes.
const MATCHES: u64 = 32;

/// What there is of each resource.
pub(crate) fn capacity(config: &Config) -> Weight {
    let dictionary = config.lua_shared_dicts.get("configuration_data").map_or(0, |size| size.bytes);
    Weight([dictionary / STATE.1 * STATE.0, TEXT, REGEXES])
}

/// What the dictionary takes for so many bytes.
const fn slab(bytes: u64) -> u64 {
    if bytes <= PAGE / 2 { bytes.next_power_of_two() } else { bytes.next_multiple_of(PAGE) }
}

/// What an accepted Ingress asks for. Cost: one route, and the number of paths.
pub(crate) fn weigh(entry: &Entry, config: &Config) -> Claim {
    let Some((route, profile)) = host::sample(entry, config) else { return Claim::default() };
    let path_bytes = |path: &Arc<str>| path.len() as u64;
    let common = serde_json::to_string(&route).map_or(0, |json| json.len() as u64).saturating_sub(path_bytes(&route.path)) + MATCHES;
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    for rule in &entry.rules {
        *hosts.entry(&rule.host).or_default() += rule.paths.iter().map(|path| common + 3 * path_bytes(&path.path)).sum::<u64>();
    }
    if hosts.is_empty() {
        hosts.insert(CATCH_ALL, common);
    }
    let names = 1 + entry.spec.names.server_alias.len() as u64;
    let state = names * hosts.into_iter().map(|(host, bytes)| slab(NODE + host.len() as u64 + bytes)).sum::<u64>();

    let location = if route.profile.is_default() { 0 } else { LOCATION + profile.text_bytes() };
    let servers = if host::has_server_block(entry) { entry.hosts().len() as u64 } else { 0 };
    let snippet = entry.spec.snippets.server.as_ref().map_or(0, |snippet| snippet.as_str().len() as u64);
    let stream = entry.spec.snippets.stream.as_ref().map_or(0, |snippet| snippet.as_str().len() as u64);
    let alias_bytes: u64 = entry.spec.names.server_alias.iter().map(|name| name.to_string().len() as u64).sum();
    let text = servers * (SERVER + snippet + location + alias_bytes) + stream;

    let mut common = Vec::new();
    if location > 0 {
        common.push(Common { resource: Resource::Text, id: route.profile.0.clone(), amount: location });
    }
    let spec = &entry.spec.path;
    if spec.use_regex || spec.rewrite_target.is_some() {
        let paths = entry.rules.iter().flat_map(|rule| &rule.paths);
        // One finds the location, one rewrites.
        common.extend(paths.map(|path| Common { resource: Resource::Regexes, id: path.path.clone(), amount: 2 }));
    }
    common.sort();
    common.dedup();
    Claim { own: Weight([state, text, 0]), common }
}
