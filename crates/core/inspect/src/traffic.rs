//! Requests, as NGINX's workers counted them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::list::{List, Query};

/// The requests of a host, an Ingress or a backend. Rates and quantiles are of the last 10 seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Requests since the start of the controller.
    pub requests: u64,
    /// Requests in a second.
    pub rate: f64,
    /// The part of them with a status of 5xx, 0 to 1.
    pub errors: f64,
    /// Seconds that half of them took at most, within the bounds of the histogram. Absent: there were none, or they are not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// Seconds that 99 of a hundred took at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// Bytes to clients in a second.
    pub bytes_rate: f64,
}

/// What requests are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficBy {
    /// The host.
    Host,
    /// `namespace/name` of the Ingress.
    Ingress,
    /// The backend.
    Backend,
}

/// The requests of one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrafficRow {
    /// Its name.
    pub key: String,
    /// Its namespace; absent for a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The figures.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// What NGINX counted of one rule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Namespace of the Ingress; empty where no rule matched.
    pub namespace: String,
    /// Name of the Ingress.
    pub ingress: String,
    /// Name of the Service.
    pub service: String,
    /// The host of the rule.
    pub host: String,
    /// Requests since the start of the controller.
    pub requests: u64,
    /// Of the window.
    pub recent: Recent,
}

/// Requests of a window of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recent {
    /// All of them.
    pub requests: u64,
    /// Those with a status of 5xx.
    pub errors: u64,
    /// Bytes of their answers.
    pub bytes: u64,
    /// How many took so long, by the number of the bucket.
    pub durations: BTreeMap<usize, u64>,
}

impl Recent {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.bytes += other.bytes;
        for (bucket, count) in &other.durations {
            *self.durations.entry(*bucket).or_default() += count;
        }
    }

    /// The seconds that a part of them took at most: within its bucket, as if its durations were spread evenly.
    fn quantile(&self, part: f64, bounds: &[f64]) -> Option<f64> {
        let total: u64 = self.durations.values().sum();
        let rank = part * total as f64;
        let mut below = 0.0;
        for (bucket, count) in &self.durations {
            let count = *count as f64;
            if below + count >= rank && count > 0.0 {
                let lower = bucket.checked_sub(1).and_then(|before| bounds.get(before)).copied().unwrap_or_default();
                // What is above the last bound took at least that.
                let upper = bounds.get(*bucket).copied().unwrap_or(lower);
                return Some(lower + (upper - lower) * ((rank - below) / count).clamp(0.0, 1.0));
            }
            below += count;
        }
        None
    }
}

/// Requests by what they are summed up by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrafficTable {
    hosts: BTreeMap<String, Traffic>,
    ingresses: BTreeMap<String, Traffic>,
    backends: BTreeMap<String, Traffic>,
}

impl TrafficTable {
    /// Sums up. `seconds`: length of the window; `bounds`: of the buckets of durations, in seconds. Cost: the number of rules.
    pub fn new(counted: &[Counted], seconds: f64, bounds: &[f64]) -> Self {
        let by = |key: &dyn Fn(&Counted) -> Option<String>| {
            let mut sums: BTreeMap<String, (u64, Recent)> = BTreeMap::new();
            for of in counted {
                if let Some(key) = key(of) {
                    let (requests, recent) = sums.entry(key).or_default();
                    *requests += of.requests;
                    recent.add(&of.recent);
                }
            }
            sums.into_iter().map(|(key, (requests, recent))| (key, Traffic::new(requests, &recent, seconds, bounds))).collect()
        };
        Self {
            hosts: by(&|of| Some(of.host.clone())),
            ingresses: by(&|of| (!of.ingress.is_empty()).then(|| format!("{}/{}", of.namespace, of.ingress))),
            backends: by(&|of| (!of.service.is_empty()).then(|| format!("{}/{}", of.namespace, of.service))),
        }
    }

    /// The figures of one of them. `None`: it got no request.
    pub(crate) fn of(&self, by: TrafficBy, key: &str) -> Option<Traffic> {
        self.rows(by).get(key).copied()
    }

    const fn rows(&self, by: TrafficBy) -> &BTreeMap<String, Traffic> {
        match by {
            TrafficBy::Host => &self.hosts,
            TrafficBy::Ingress => &self.ingresses,
            TrafficBy::Backend => &self.backends,
        }
    }
}

impl Traffic {
    fn new(requests: u64, recent: &Recent, seconds: f64, bounds: &[f64]) -> Self {
        Self {
            requests,
            rate: recent.requests as f64 / seconds,
            errors: recent.errors as f64 / recent.requests.max(1) as f64,
            p50: recent.quantile(0.5, bounds),
            p99: recent.quantile(0.99, bounds),
            bytes_rate: recent.bytes as f64 / seconds,
        }
    }
}

/// The figures of all of them, those with most requests first.
pub fn traffic(table: &TrafficTable, by: TrafficBy, query: &Query) -> List<TrafficRow> {
    let namespace = |key: &str| (by != TrafficBy::Host).then(|| key.split_once('/').map(|(namespace, _)| namespace.to_owned())).flatten();
    let matches = |(key, _): &(&String, &Traffic)| query.has_name(&[key]) && query.has_namespace(namespace(key).into_iter());
    let mut matching: Vec<_> = table.rows(by).iter().filter(matches).collect();
    matching.sort_by(|(_, one), (_, other)| other.rate.total_cmp(&one.rate).then(other.requests.cmp(&one.requests)));
    query.page(matching, |(key, traffic)| TrafficRow { key: key.clone(), namespace: namespace(key), traffic: *traffic })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(host: &str, ingress: &str, requests: u64, durations: &[(usize, u64)]) -> Counted {
        let recent = Recent { requests, errors: 1, bytes: 100 * requests, durations: durations.iter().copied().collect() };
        Counted {
            namespace: "n".into(),
            ingress: ingress.into(),
            service: "web".into(),
            host: host.into(),
            requests: 10 * requests,
            recent,
        }
    }

    #[test]
    fn requests_are_summed_up_by_host_ingress_and_backend() {
        let counted = [counted("a", "one", 10, &[]), counted("b", "one", 40, &[]), counted("b", "two", 10, &[])];
        let table = TrafficTable::new(&counted, 10.0, &[]);
        let rates = |by| {
            let rows = traffic(&table, by, &Query::default()).items;
            rows.into_iter().map(|row| (row.key, row.traffic.rate, row.traffic.requests)).collect::<Vec<_>>()
        };
        assert_eq!(rates(TrafficBy::Host), [("b".to_owned(), 5.0, 500), ("a".to_owned(), 1.0, 100)]);
        assert_eq!(rates(TrafficBy::Ingress), [("n/one".to_owned(), 5.0, 500), ("n/two".to_owned(), 1.0, 100)]);
        assert_eq!(rates(TrafficBy::Backend), [("n/web".to_owned(), 6.0, 600)]);
        assert_eq!(table.of(TrafficBy::Host, "a").map(|of| (of.errors, of.bytes_rate)), Some((0.1, 100.0)));
        assert_eq!(table.of(TrafficBy::Host, "c"), None);
    }

    #[test]
    fn quantiles_lie_within_the_bounds_of_their_bucket() {
        let table = TrafficTable::new(&[counted("a", "one", 100, &[(0, 50), (1, 40), (3, 10)])], 10.0, &[0.1, 0.2, 0.4]);
        let of = table.of(TrafficBy::Host, "a").unwrap();
        assert_eq!(of.p50, Some(0.1));
        assert_eq!(of.p99, Some(0.4), "what is above the last bound took at least that");
        let of = TrafficTable::new(&[counted("a", "one", 1, &[])], 10.0, &[0.1]).of(TrafficBy::Host, "a").unwrap();
        assert_eq!((of.p50, of.p99), (None, None));
    }
}
