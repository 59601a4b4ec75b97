//! Backends and their endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{Alternative, BackendRecord, Built, ObjectKey, ObjectRef};
use serde::{Deserialize, Serialize};
use settings::LoadBalance;

use crate::host::own_hosts;
use crate::list::{List, Query};
use crate::state::State;
use crate::{Problem, Traffic, TrafficBy};

/// The key of the default backend.
const DEFAULT: &str = "-";

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Backend {
    /// `namespace/service:port`; `-`: the default backend.
    pub name: String,
    /// Its namespace; empty for the default backend.
    #[serde(default)]
    pub namespace: String,
    /// Its Service.
    #[serde(default)]
    pub service: String,
    /// The port, as rules name it.
    #[serde(default)]
    pub port: String,
    /// How it chooses an endpoint: `round_robin`, `ewma`, `hash` or `cookie`.
    #[serde(default)]
    pub balancing: String,
    /// Number of its endpoints.
    #[serde(default)]
    pub endpoints: usize,
    /// `namespace/name` of the Ingresses that use it, the first 20.
    #[serde(default)]
    pub ingresses: Vec<String>,
    /// Number of paths that lead to it.
    #[serde(default)]
    pub used_by_paths: usize,
    /// Its requests. Absent: they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// Everything about one backend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackendDetail {
    /// The backend, with the number of its endpoints instead of them.
    pub backend: Backend,
    /// In order of address.
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
    /// Backends that get a part of its requests.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// Findings about its Service.
    #[serde(default)]
    pub problems: Vec<Problem>,
}

/// Where a backend is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// IP address.
    pub address: String,
    /// TCP port.
    pub port: u16,
    /// Relative share of round robin.
    pub weight: f64,
    /// Share of the backend's requests, 0 to 1. Absent: that depends on measured times or on a hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// A backend that gets a part of another one's requests: the canary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The backend that gets them.
    pub backend: String,
    /// Share of the requests for which neither header nor cookie decide, 0 to 1.
    #[serde(default)]
    pub weight: f64,
    /// The header that decides first, with the value where one is given: `X-Canary` or `X-Canary: yes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The cookie that decides next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<String>,
}
/// Ingresses of a backend that are named.
const NAMED: usize = 20;

/// The users of backends: paths, and the Ingresses that these are of.
#[derive(Default)]
pub(crate) struct Uses(BTreeMap<Arc<str>, Use>);

#[derive(Default)]
struct Use {
    paths: usize,
    ingresses: BTreeSet<(Arc<str>, Arc<str>)>,
}

impl Uses {
    /// Cost: the number of routes.
    pub(crate) fn of(built: &Built) -> Self {
        let (mut uses, default) = (Self::default(), Arc::<str>::from(DEFAULT));
        for (_, record) in own_hosts(&built.model.live) {
            for route in &record.routes {
                let key = if route.backend.is_empty() { &default } else { &route.backend };
                let used = uses.0.entry(key.clone()).or_default();
                used.paths += 1;
                if used.ingresses.len() < NAMED && !route.ingress.is_empty() {
                    used.ingresses.insert((route.namespace.clone(), route.ingress.clone()));
                }
            }
        }
        uses
    }
}

/// The backends, in order of their names. Cost: their number, and once for a build all routes.
pub fn backends(state: &State<'_>, query: &Query) -> List<Backend> {
    let matches = |(key, _): &(&Arc<str>, &Arc<BackendRecord>)| {
        query.has_name(&[key]) && query.has_namespace(key.split_once('/').map(|(namespace, _)| namespace).into_iter())
    };
    let matching: Vec<_> = state.built.model.live.backends.iter().filter(matches).collect();
    query.page(matching, |(key, record)| Backend::new(state, key, record))
}

/// Everything about one backend, by its key. `None`: there is none.
pub fn backend(state: &State<'_>, key: &str) -> Option<BackendDetail> {
    let record = state.built.model.live.backends.get(key)?;
    let backend = Backend::new(state, key, record);
    let service = ObjectKey::new(backend.namespace.as_str(), backend.service.as_str());
    let problems = state.findings().about(&ObjectRef::namespaced("Service", &service));
    Some(BackendDetail {
        endpoints: endpoints(record),
        choices: choices(record),
        problems: problems.iter().map(|found| Problem::new(state, found)).collect(),
        backend,
    })
}

impl Backend {
    fn new(state: &State<'_>, key: &str, record: &BackendRecord) -> Self {
        let (namespace, service, port) = parts(key);
        let used = state.uses().0.get(key);
        Self {
            name: key.to_owned(),
            namespace: namespace.to_owned(),
            service: service.to_owned(),
            port: port.to_owned(),
            balancing: balancing(record),
            endpoints: record.endpoints.len(),
            ingresses: used.iter().flat_map(|used| &used.ingresses).map(|(namespace, name)| format!("{namespace}/{name}")).collect(),
            used_by_paths: used.map_or(0, |used| used.paths),
            traffic: state.traffic.and_then(|traffic| traffic.of(TrafficBy::Backend, &format!("{namespace}/{service}"))),
        }
    }
}

/// The key in the table of backends of what a route names.
pub(crate) const fn key_of(backend: &str) -> &str {
    if backend.is_empty() { DEFAULT } else { backend }
}

/// Namespace, Service and port of a key.
fn parts(key: &str) -> (&str, &str, &str) {
    let Some((namespace, rest)) = key.split_once('/') else { return ("", "", "") };
    let (service, port) = rest.split_once(':').unwrap_or((rest, ""));
    (namespace, service, port)
}

fn balancing(record: &BackendRecord) -> String {
    match (&record.affinity, &record.hash) {
        (Some(_), _) => "cookie".to_owned(),
        (None, Some(_)) => "hash".to_owned(),
        (None, None) => record.load_balance.to_string(),
    }
}

fn endpoints(record: &BackendRecord) -> Vec<Endpoint> {
    let is_even = record.hash.is_none() && record.affinity.is_none() && record.load_balance == LoadBalance::RoundRobin;
    let sum: u64 = record.endpoints.iter().map(|endpoint| u64::from(endpoint.weight)).sum();
    let share = |weight: u32| (is_even || record.endpoints.len() == 1).then(|| f64::from(weight) / sum.max(1) as f64);
    let endpoint = |endpoint: &model::live::Endpoint| Endpoint {
        address: endpoint.address.to_string(),
        port: endpoint.port,
        weight: f64::from(endpoint.weight),
        share: share(endpoint.weight),
    };
    record.endpoints.iter().map(endpoint).collect()
}

/// The backends that get a part of the requests of one.
pub(crate) fn choices(record: &BackendRecord) -> Vec<Choice> {
    let choice = |canary: &Alternative| {
        let wanted = canary.canary_by_header_value.as_ref().or(canary.canary_by_header_pattern.as_ref());
        Choice {
            backend: canary.backend.to_string(),
            weight: f64::from(canary.canary_weight) / f64::from(canary.canary_weight_total.max(1)),
            header: canary.canary_by_header.as_ref().map(|name| wanted.map_or(name.to_string(), |value| format!("{name}: {value}"))),
            cookie: canary.canary_by_cookie.as_ref().map(ToString::to_string),
        }
    };
    record.alternative.as_deref().map(choice).into_iter().collect()
}
