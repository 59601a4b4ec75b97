//! A Service as clients behind a kube-proxy have it: new connections go to its ready endpoints, as they were a moment ago.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Interval at which EndpointSlices are looked at.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time until nodes follow a change.
const LAG: Duration = Duration::from_millis(900);

/// The addresses for new connections.
#[derive(Debug, Default)]
pub struct Targets {
    addresses: Mutex<Vec<IpAddr>>,
    /// When each address was first seen not to be ready any more.
    left: Mutex<BTreeMap<IpAddr, Instant>>,
    next: AtomicUsize,
}

impl Targets {
    /// One address after the other.
    pub fn pick(&self) -> Option<IpAddr> {
        let addresses = self.addresses.lock();
        addresses.get(self.next.fetch_add(1, Ordering::Relaxed) % addresses.len().max(1)).copied()
    }

    /// All of them, sorted.
    pub fn all(&self) -> Vec<IpAddr> {
        self.addresses.lock().clone()
    }

    /// When the Service gave an address up, as far as it did.
    pub fn left(&self, address: IpAddr) -> Option<Instant> {
        self.left.lock().get(&address).copied()
    }
}

/// A Service that is followed. Dropping it ends that.
#[derive(Debug)]
pub struct Service {
    targets: Arc<Targets>,
    tasks: Vec<JoinHandle<()>>,
}

impl Service {
    /// Follows the EndpointSlices of a Service.
    pub fn follow(api: Api<EndpointSlice>, name: &str) -> Self {
        let targets = Arc::new(Targets::default());
        let task =
            tokio::spawn(follow(api, ListParams::default().labels(&format!("kubernetes.io/service-name={name}")), Arc::clone(&targets)));
        Self { targets, tasks: vec![task] }
    }

    /// Where new connections go.
    pub fn targets(&self) -> Arc<Targets> {
        Arc::clone(&self.targets)
    }

    /// Forwards connections to an address, such as that of the Service, to this port of its endpoints.
    ///
    /// # Errors
    /// The address can't be listened on.
    pub async fn forward(&mut self, address: SocketAddr, port: u16) -> anyhow::Result<()> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let targets = self.targets();
        self.tasks.push(tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let target = targets.pick();
                connections.spawn(async move {
                    let target = target.context("no endpoint")?;
                    let mut server = TcpStream::connect((target, port)).await?;
                    anyhow::Ok(tokio::io::copy_bidirectional(&mut client, &mut server).await?)
                });
            }
        }));
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn follow(api: Api<EndpointSlice>, list: ListParams, targets: Arc<Targets>) {
    let mut pending = VecDeque::<(Instant, BTreeSet<IpAddr>)>::new();
    loop {
        if let Ok(slices) = api.list(&list).await {
            let now = ready(&slices.items);
            if pending.back().map_or_else(|| targets.all() != now.iter().copied().collect::<Vec<_>>(), |(_, newest)| *newest != now) {
                let before = pending.back().map_or_else(|| targets.all().into_iter().collect(), |(_, newest)| newest.clone());
                let mut left = targets.left.lock();
                now.iter().for_each(|address| {
                    left.remove(address);
                });
                before.difference(&now).for_each(|address| {
                    left.insert(*address, Instant::now());
                });
                pending.push_back((Instant::now() + LAG, now));
            }
        }
        while let Some((_, addresses)) = pending.pop_front_if(|(due, _)| *due <= Instant::now()) {
            *targets.addresses.lock() = addresses.into_iter().collect();
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The endpoints that are ready, or else those that end and still serve.
fn ready(slices: &[EndpointSlice]) -> BTreeSet<IpAddr> {
    let endpoints = || slices.iter().flat_map(|slice| slice.endpoints.iter());
    let chosen = |terminating: bool| -> BTreeSet<IpAddr> {
        let fits = |endpoint: &&k8s_openapi::api::discovery::v1::Endpoint| {
            let Some(conditions) = &endpoint.conditions else { return !terminating };
            if terminating {
                conditions.serving == Some(true) && conditions.terminating == Some(true)
            } else {
                conditions.ready != Some(false)
            }
        };
        endpoints().filter(fits).flat_map(|endpoint| &endpoint.addresses).filter_map(|address| address.parse().ok()).collect()
    };
    let ready = chosen(false);
    if ready.is_empty() { chosen(true) } else { ready }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slice(endpoints: &[(&str, bool, bool)]) -> EndpointSlice {
        let endpoint = |(address, ready, terminating): &(&str, bool, bool)| {
            let conditions = json!({"ready": ready, "serving": true, "terminating": terminating});
            json!({"addresses": [address], "conditions": conditions})
        };
        let endpoints: Vec<_> = endpoints.iter().map(endpoint).collect();
        serde_json::from_value(json!({"addressType": "IPv4", "endpoints": endpoints})).unwrap()
    }

    #[test]
    fn endpoints_that_end_are_used_only_when_no_other_is_left() {
        let (one, two) = ("10.77.16.1", "10.77.16.2");
        let addresses = |slice: EndpointSlice| ready(&[slice]).into_iter().map(|address| address.to_string()).collect::<Vec<_>>();
        assert_eq!(addresses(slice(&[(one, true, false), (two, false, true)])), [one]);
        assert_eq!(addresses(slice(&[(one, false, false), (two, false, true)])), [two]);
    }
}
