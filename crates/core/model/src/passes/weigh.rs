//! What the rules of an object take of what is finite ([`crate::shares`]): an estimate from them alone, a little above the truth.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use settings::Config;

use super::host;
use crate::live::Owned;
use crate::rule::{CATCH_ALL, RuleSet};
use crate::shares::{Claim, Common, Resource, Weight, record_bytes};

/// Text of a named location, and of a server block, without what an object writes in it.
const LOCATION: u64 = 1024;
const SERVER: u64 = 8 << 10;
/// A path in a record beside its route: the keys of two look-ups with their indexes, and the reference to the policy.
const MATCHES: u64 = 48;
/// Characters of the longest host name.
const HOST_NAME: u64 = 253;
/// Characters of the content address that a name with TLS leads to.
const CONTENT_ADDRESS: u64 = 32;

fn json_bytes(value: &impl Serialize) -> u64 {
    serde_json::to_string(value).map_or(0, |json| json.len() as u64)
}

/// What the rules of an accepted object ask for. Cost: one route, and the number of rules.
pub(crate) fn weigh(rules: &RuleSet, config: &Config) -> Claim {
    let given = &rules.policy.spec;
    let Some((route, profile)) = host::sample(rules, config) else { return Claim::default() };
    let path_bytes = |path: &Arc<str>| path.len() as u64;
    let common = Owned { namespace: route.namespace.clone(), ingress: route.ingress.clone(), policy: route.policy.clone() };
    let policy = json_bytes(&common);
    let own = json_bytes(&route) - path_bytes(&route.path) + MATCHES;
    // The location for `/` that every host has may differ in what depends on the backend, and paths without authentication in that.
    let exempt = |path: &Arc<str>| config.external_auth.no_auth_locations.iter().any(|prefix| path.starts_with(&**prefix));
    let asks = (route.password.is_some() || route.external_auth.is_some()) && rules.rules.iter().any(|rule| exempt(&rule.matches.path));
    let policies = policy * (1 + u64::from(route.errors.is_some() || route.issues_cookie) + u64::from(asks));
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    for rule in &rules.rules {
        *hosts.entry(&rule.matches.host).or_insert(policies + own) += own + 3 * path_bytes(&rule.matches.path);
    }
    for (host, _) in &rules.bare_hosts {
        hosts.entry(host).or_insert(policies + own);
    }
    if hosts.is_empty() {
        hosts.insert(CATCH_ALL, policies + own);
    }
    let names = 1 + given.names.server_alias.len() as u64;
    let state = names * hosts.into_iter().map(|(host, bytes)| record_bytes(host.len(), bytes)).sum::<u64>();
    // The one record of all patterns has each with its host.
    let pairs = given.names.server_alias_patterns.iter().map(|pattern| pattern.as_str().len() as u64 + MATCHES + HOST_NAME);
    let state = state + pairs.sum::<u64>();

    let location = if route.profile.is_default() { 0 } else { LOCATION + profile.text_bytes() };
    let servers = if host::has_server_block(&rules.policy) { rules.hosts().len() as u64 } else { 0 };
    let snippet = given.snippets.server_snippet.as_ref().map_or(0, |snippet| snippet.as_str().len() as u64);
    let stream = given.snippets.stream_snippet.as_ref().map_or(0, |snippet| snippet.as_str().len() as u64);
    let patterns = &given.names.server_alias_patterns;
    let pattern_bytes: u64 = patterns.iter().map(|pattern| pattern.as_str().len() as u64).sum();
    let alias_bytes: u64 = given.names.server_alias.iter().map(|name| name.to_string().len() as u64).sum::<u64>() + pattern_bytes;
    let text = servers * (SERVER + snippet + location + alias_bytes) + stream;

    let secured = if rules.tls.is_empty() { Vec::new() } else { rules.hosts() };
    let aliases = given.names.server_alias.iter().map(|name| name.to_string().len()).filter(|_| !secured.is_empty());
    let www_aliases = if given.redirect.from_to_www_redirect { 2 } else { 1 };
    let names_bytes: u64 =
        www_aliases * secured.iter().map(|host| host.len()).chain(aliases).map(|name| record_bytes(name, CONTENT_ADDRESS)).sum::<u64>();

    let mut common = Vec::new();
    if location > 0 {
        common.push(Common { resource: Resource::Text, id: route.profile.0.clone(), amount: location });
    }
    if given.path.use_regex || given.path.rewrite_target.is_some() {
        let paths = rules.rules.iter().map(|rule| &rule.matches.path);
        // One finds the location, one rewrites.
        common.extend(paths.map(|path| Common { resource: Resource::Regexes, id: path.clone(), amount: 2 }));
    }
    // Of each host name that is not there literally, each worker asks all of them.
    common.extend(patterns.iter().map(|pattern| Common { resource: Resource::Regexes, id: pattern.as_str().into(), amount: 1 }));
    common.sort();
    common.dedup();
    let mut own = Weight::only(Resource::State, state);
    own.add(&Weight::only(Resource::Text, text));
    own.add(&Weight::only(Resource::Names, names_bytes));
    Claim { own, common }
}
