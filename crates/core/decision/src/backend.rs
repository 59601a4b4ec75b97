//! Which backend serves a request, and which of its endpoints.

use std::net::SocketAddr;
use std::sync::Arc;

use model::Live;
use model::live::{Alternative, BackendRecord, Stickiness};
use serde::{Deserialize, Serialize};
use settings::LoadBalance;

use crate::outcome::Condition;
use crate::pattern;
use crate::variables::Variables;

/// Key of the default backend.
pub(crate) const DEFAULT: &str = "-";

/// A backend that may serve the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackendShare {
    /// `namespace/service:port`; `-`: the default backend.
    pub backend: Arc<str>,
    /// How many of a hundred requests like this one it serves.
    pub percent: f64,
    /// Why.
    pub because: String,
    /// How it chooses an endpoint.
    pub choice: String,
    /// In order of address.
    pub endpoints: Vec<EndpointShare>,
}

/// An endpoint that may serve the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndpointShare {
    /// Address and port.
    pub address: SocketAddr,
    /// How many of a hundred of the backend's requests it gets. Absent: that depends on measured times or on a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
}

/// A backend with an endpoint.
pub(crate) fn usable<'a>(live: &'a Live, key: &str) -> Option<&'a BackendRecord> {
    live.backends.get(key).map(|record| &**record).filter(|record| !record.endpoints.is_empty())
}

/// The backends of a request to `key`, which has an endpoint: it alone, or with its canary.
pub(crate) fn shares(
    live: &Live,
    key: &Arc<str>,
    record: &BackendRecord,
    variables: &Variables<'_>,
    conditions: &mut Vec<Condition>,
) -> Vec<BackendShare> {
    let canary = record.alternative.as_deref().and_then(|canary| Some((canary, usable(live, &canary.backend)?)));
    let Some((canary, other)) = canary else {
        return vec![share(key, record, 100.0, "it is the backend of the rule".into(), variables)];
    };
    if let Some(cookie) = record.affinity.as_deref().filter(|rule| has_cookie(rule, variables)) {
        conditions.push(Condition::new(
            format!("the cookie {} names an endpoint that is there", cookie.session_cookie_name),
            "its backend serves the request, whatever the canary says",
        ));
    }
    let (percent, because) = taken(canary, variables);
    let stays = match percent {
        p if p >= 100.0 => format!("the canary takes the request: {because}"),
        p if p <= 0.0 => format!("the canary does not take the request: {because}"),
        _ => because.clone(),
    };
    let both = [
        share(key, record, 100.0 - percent, stays, variables),
        share(&canary.backend, other, percent, format!("it is the canary: {because}"), variables),
    ];
    both.into_iter().filter(|share| share.percent > 0.0).collect()
}

fn has_cookie(rule: &Stickiness, variables: &Variables<'_>) -> bool {
    variables.seen.request.cookie(&rule.session_cookie_name).is_some()
}

/// How many of a hundred requests like this the canary takes, and why.
fn taken(canary: &Alternative, variables: &Variables<'_>) -> (f64, String) {
    let request = variables.seen.request;
    let header = canary.canary_by_header.as_deref().and_then(|name| Some((name, request.variable(name)?)));
    if let Some((name, value)) = header
        && let Some(verdict) = by_header(canary, &value)
    {
        return (if verdict { 100.0 } else { 0.0 }, format!("the header {name} is {value:?}"));
    }
    let cookie = canary.canary_by_cookie.as_deref().and_then(|name| Some((name, request.cookie(name)?)));
    if let Some((name, value)) = cookie
        && let Some(verdict) = by_word(&value)
    {
        return (if verdict { 100.0 } else { 0.0 }, format!("the cookie {name} is {value:?}"));
    }
    let (weight, total) = (canary.canary_weight, canary.canary_weight_total.max(1));
    let percent = 100.0 * f64::from(weight.min(total)) / f64::from(total);
    (percent, format!("the canary has a weight of {weight} in {total}"))
}

fn by_word(word: &str) -> Option<bool> {
    match word {
        "always" => Some(true),
        "never" => Some(false),
        _ => None,
    }
}

fn by_header(canary: &Alternative, value: &str) -> Option<bool> {
    if canary.header_means_primary {
        return Some(false);
    }
    if let Some(wanted) = &canary.canary_by_header_value {
        return (**wanted == *value).then_some(true);
    }
    if let Some(wanted) = &canary.canary_by_header_pattern {
        let Some(regex) = pattern::exact(wanted) else { return Some(false) };
        return regex.is_match(value.as_bytes()).unwrap_or(false).then_some(true);
    }
    by_word(value)
}

/// A backend with the shares of its endpoints.
pub(crate) fn share(key: &Arc<str>, record: &BackendRecord, percent: f64, because: String, variables: &Variables<'_>) -> BackendShare {
    let weights: u64 = record.endpoints.iter().map(|endpoint| u64::from(endpoint.weight)).sum();
    let is_round_robin = record.hash.is_none() && record.load_balance == LoadBalance::RoundRobin;
    let by_weight =
        |weight: u32| (is_round_robin || record.endpoints.len() == 1).then(|| 100.0 * f64::from(weight) / weights.max(1) as f64);
    let endpoints = record
        .endpoints
        .iter()
        .map(|endpoint| EndpointShare { address: SocketAddr::new(endpoint.address, endpoint.port), percent: by_weight(endpoint.weight) });
    BackendShare { backend: key.clone(), percent, because, choice: choice(record, variables), endpoints: endpoints.collect() }
}

fn choice(record: &BackendRecord, variables: &Variables<'_>) -> String {
    if let Some(rule) = &record.affinity {
        let name = &rule.session_cookie_name;
        return match has_cookie(rule, variables) {
            true => format!("the one that the cookie {name} names, while it is there"),
            false => format!("any, which the cookie {name} then names"),
        };
    }
    if let Some(hash) = &record.hash {
        let subset = hash.upstream_hash_by_subset_size.map_or(String::new(), |size| format!(", of a subset of {size}"));
        return format!("always the same one for {:?}{subset} (hash of {})", variables.text(&hash.upstream_hash_by), hash.upstream_hash_by);
    }
    match record.load_balance {
        LoadBalance::Ewma => "that of two with the shorter measured time (ewma)".into(),
        LoadBalance::RoundRobin => "one after the other, by weight (round robin)".into(),
    }
}
