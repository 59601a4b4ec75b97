//! What an Ingress takes of what is finite ([`crate::shares`]): an estimate from the Ingress alone, a little above the truth.

use std::sync::Arc;

use annotations::Config;

use super::host;
use super::ingress::Entry;
use crate::shares::Weight;

/// Share of the dictionary of routes that records may have: its slabs round sizes up, and endpoints are in it as well.
const STATE: (u64, u64) = (6, 10);
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

/// The weight of an accepted Ingress. Cost: one route, and the number of paths.
pub(crate) fn weigh(entry: &Entry, config: &Config) -> Weight {
    let Some((route, profile)) = host::sample(entry, config) else { return Weight::default() };
    let path_bytes = |path: &Arc<str>| path.len() as u64;
    let paths = entry.rules.iter().flat_map(|rule| rule.paths.iter().map(|path| &path.path));
    let (count, bytes) = paths.fold((0, 0), |(count, bytes), path| (count + 1, bytes + path_bytes(path)));
    let count = count.max(1);

    let common = serde_json::to_string(&route).map_or(0, |json| json.len() as u64).saturating_sub(path_bytes(&route.path));
    let names = 1 + entry.spec.names.server_alias.len() as u64;
    let state = names * (count * (common + MATCHES) + 3 * bytes);

    let location = if route.profile.is_default() { 0 } else { LOCATION + profile.text_bytes() };
    let servers = if host::has_server_block(entry) { entry.hosts().len() as u64 } else { 0 };
    let snippet = entry.spec.snippets.server.as_ref().map_or(0, |snippet| snippet.as_str().len() as u64);
    let stream = entry.spec.snippets.stream.as_ref().map_or(0, |snippet| snippet.as_str().len() as u64);
    let alias_bytes: u64 = entry.spec.names.server_alias.iter().map(|name| name.to_string().len() as u64).sum();
    let text = location + servers * (SERVER + snippet + location + alias_bytes) + stream;

    let path = &entry.spec.path;
    let regexes = if path.use_regex || path.rewrite_target.is_some() { 2 * count } else { 0 };
    Weight([state, text, regexes])
}
