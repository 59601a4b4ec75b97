//! Hosts and their paths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::live::NO_CERTIFICATE;
use model::{HostRecord, Live, ObjectKey, ProfileId, Route};
use serde::{Deserialize, Serialize};

use crate::backend::{choices, key_of};
use crate::certificate::certificate;
use crate::ingress::created;
use crate::list::{List, Query};
use crate::setting::effective_settings;
use crate::state::State;
use crate::{Certificate, Choice, EffectiveSetting, Problem, Traffic, TrafficBy};

/// A name that requests are for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The name; `_`: rules without a host.
    pub host: String,
    /// Namespaces of the Ingresses that have a path of it.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Number of its paths.
    #[serde(default)]
    pub paths: usize,
    /// Content address of its certificate ([`Certificate::digest`]). Absent: it has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Whether its connections go to a backend without being decrypted.
    #[serde(default)]
    pub passthrough: bool,
    /// Whether its newest routes wait for a reload.
    #[serde(default)]
    pub held: bool,
    /// Number of findings about its Ingresses.
    #[serde(default)]
    pub problems: usize,
    /// Its requests. Absent: they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// Everything about one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostDetail {
    /// The name.
    pub host: String,
    /// Other names with the same rules (`server-alias`).
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The certificate that its clients get. Absent: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// Its server block.
    pub server: HostServerKind,
    /// Whether its connections go to a backend without being decrypted.
    #[serde(default)]
    pub passthrough: bool,
    /// Whether its newest routes wait for a reload.
    #[serde(default)]
    pub held: bool,
    /// Where everything is redirected to, another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_to: Option<String>,
    /// Number of its paths.
    #[serde(default)]
    pub paths_total: usize,
    /// Its paths in the order in which NGINX tries them, the first 1,000.
    #[serde(default)]
    pub paths: Vec<PathRow>,
    /// The settings in effect of each Ingress that has a path here, by `namespace/name`.
    #[serde(default)]
    pub settings: BTreeMap<String, Vec<EffectiveSetting>>,
    /// Findings about its Ingresses and about itself.
    #[serde(default)]
    pub problems: Vec<Problem>,
    /// Its requests. Absent: they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// The server block that serves a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostServerKind {
    /// That of all hosts.
    #[serde(rename = "shared")]
    Shared,
    /// One of its own.
    #[serde(rename = "host server")]
    Own,
}

/// A path of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// The path.
    pub path: String,
    /// How requests are compared with it.
    #[serde(rename = "type")]
    pub matches: PathMatch,
    /// `namespace/name` of the Ingress. Absent: the default backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<String>,
    /// When that was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<f64>,
    /// The backend ([`crate::Backend::name`]). Absent: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Backends that get a part of its requests.
    #[serde(default)]
    pub canary: Vec<Choice>,
    /// Its profile: the named location of `nginx.conf`. Absent: the base profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Number of findings about its Ingress.
    #[serde(default)]
    pub problems: usize,
}

/// How requests are compared with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathMatch {
    /// The whole path.
    Exact,
    /// Segments from the start.
    Prefix,
    /// A regular expression.
    Regex,
}

/// Key of the record of names that are patterns.
const PATTERNS: &str = "~";
/// Paths of a host that are given.
const PATHS: usize = 1000;
/// Ingresses of a host whose settings are given.
const WITH_SETTINGS: usize = 50;

/// The hosts that have a record of their own, without aliases.
pub(crate) fn own_hosts(live: &Live) -> impl Iterator<Item = (&Arc<str>, &Arc<HostRecord>)> {
    let is_own =
        |(host, record): &(&Arc<str>, &Arc<HostRecord>)| &***host != PATTERNS && record.name.as_ref().is_none_or(|name| name == *host);
    live.hosts.iter().filter(is_own)
}

/// The hosts, in order of their names. Cost: their number, and with a namespace that of all routes.
pub fn hosts(state: &State<'_>, query: &Query) -> List<Host> {
    let matches = |(host, record): &(&Arc<str>, &Arc<HostRecord>)| {
        query.has_name(&[host]) && query.has_namespace(record.routes.iter().map(|route| &route.namespace))
    };
    let matching: Vec<_> = own_hosts(&state.built.model.live).filter(matches).collect();
    query.page(matching, |(host, record)| Host::new(state, host, record))
}

/// Everything about one host. `None`: it has no rules.
pub fn host(state: &State<'_>, name: &str) -> Option<HostDetail> {
    let live = &state.built.model.live;
    let record = live.hosts.get(name).filter(|_| name != PATTERNS)?;
    let findings = state.findings();
    let mut owners: Vec<ObjectKey> = owners(record).into_iter().collect();
    owners.truncate(WITH_SETTINGS);
    let problems = owners.iter().flat_map(|owner| findings.of_ingress(owner)).map(|found| Problem::new(state, found));
    let rows = paths(record);
    Some(HostDetail {
        host: name.to_owned(),
        aliases: aliases(live, name),
        certificate: digest(state, name).and_then(|digest| certificate(state, digest)),
        server: if state.built.model.fixed.host_servers.contains_key(name) { HostServerKind::Own } else { HostServerKind::Shared },
        passthrough: live.passthrough_map.contains_key(name),
        held: (state.is_held)(name, record),
        redirect_to: record.redirect_to.as_deref().map(str::to_owned),
        paths_total: rows.len(),
        paths: rows.into_iter().take(PATHS).map(|(kind, path, route)| PathRow::new(state, kind, path, route)).collect(),
        settings: owners.iter().map(|owner| (owner.to_string(), effective_settings(state, owner))).collect(),
        problems: problems.collect(),
        traffic: state.traffic.and_then(|traffic| traffic.of(TrafficBy::Host, name)),
    })
}

impl Host {
    fn new(state: &State<'_>, host: &str, record: &HostRecord) -> Self {
        let owners = owners(record);
        let mut namespaces: Vec<String> = owners.iter().map(|owner| owner.namespace.to_string()).collect();
        namespaces.dedup();
        Self {
            host: host.to_owned(),
            namespaces,
            paths: record.routes.len(),
            certificate: digest(state, host).map(str::to_owned),
            passthrough: state.built.model.live.passthrough_map.contains_key(host),
            held: (state.is_held)(host, record),
            problems: owners.iter().map(|owner| state.findings().of_ingress(owner).len()).sum(),
            traffic: state.traffic.and_then(|traffic| traffic.of(TrafficBy::Host, host)),
        }
    }
}

impl PathRow {
    fn new(state: &State<'_>, matches: PathMatch, path: &str, route: &Route) -> Self {
        let key = ObjectKey { namespace: route.namespace.clone(), name: route.ingress.clone() };
        let is_ruled = !key.name.is_empty();
        let backend = state.built.model.live.backends.get(key_of(&route.backend));
        Self {
            path: path.to_owned(),
            matches,
            created: state.snapshot.ingresses.get(&key).and_then(|ingress| created(ingress)),
            backend: (!route.backend.is_empty()).then(|| route.backend.to_string()),
            canary: backend.map(|record| choices(record)).unwrap_or_default(),
            profile: (route.profile != ProfileId::default()).then(|| route.profile.0.to_string()),
            problems: if is_ruled { state.findings().of_ingress(&key).len() } else { 0 },
            ingress: is_ruled.then(|| key.to_string()),
        }
    }
}

/// The Ingresses that have a path of a host, in order.
fn owners(record: &HostRecord) -> BTreeSet<ObjectKey> {
    let of = |route: &Arc<Route>| ObjectKey { namespace: route.namespace.clone(), name: route.ingress.clone() };
    record.routes.iter().filter(|route| !route.ingress.is_empty()).map(of).collect()
}

/// Content address of the certificate of a name: its own, else that of the wildcard above it.
fn digest<'a>(state: &State<'a>, host: &str) -> Option<&'a str> {
    let servers = &state.built.model.live.servers;
    let above = || host.split_once('.').and_then(|(_, rest)| servers.get(format!("*.{rest}").as_str()));
    servers.get(host).or_else(above).map(|digest| &**digest).filter(|digest| *digest != NO_CERTIFICATE)
}

/// Other names of a host, in order.
fn aliases(live: &Live, host: &str) -> Vec<String> {
    let is_alias = |(name, record): &(&Arc<str>, &Arc<HostRecord>)| ***name != *host && record.name.as_deref() == Some(host);
    let literal = live.hosts.iter().filter(is_alias).map(|(name, _)| name.to_string());
    let patterns = live.hosts.get(PATTERNS).and_then(|record| record.patterns.as_ref());
    let suffixes = patterns.iter().flat_map(|patterns| &patterns.suffixes).filter(|(_, of)| ***of == *host);
    let regexes = patterns.iter().flat_map(|patterns| &patterns.regexes).filter(|(_, of)| **of == *host);
    literal.chain(suffixes.map(|(suffix, _)| format!("*{suffix}"))).chain(regexes.map(|(regex, _)| format!("~{regex}"))).collect()
}

/// The matches of a record in the order in which they are tried, each with the path of its rule. The record has a prefix twice, as the whole path, too.
fn paths(record: &HostRecord) -> Vec<(PathMatch, &str, &Route)> {
    let route = |at: u32| record.routes.get(at as usize).map(|route| &**route);
    let mut prefixes: Vec<(&Arc<str>, u32)> = record.prefix.iter().map(|(path, at)| (path, *at)).collect();
    prefixes.sort_by_key(|(path, _)| (std::cmp::Reverse(path.len()), *path));
    let is_prefix = |path: &str, at: u32| record.prefix.get(format!("{path}/").as_str()) == Some(&at);
    let exact = record.exact.iter().filter(|(path, at)| !is_prefix(path, **at)).map(|(_, at)| (PathMatch::Exact, *at));
    let prefixes = prefixes.into_iter().map(|(_, at)| (PathMatch::Prefix, at));
    let regexes = record.regex.iter().map(|(_, at)| (PathMatch::Regex, *at));
    exact.chain(prefixes).chain(regexes).filter_map(|(kind, at)| route(at).map(|route| (kind, &*route.path, route))).collect()
}
