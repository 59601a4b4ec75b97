//! Resolves the targets of ExternalName Services, so that NGINX only ever sees addresses.
//!
//! Each name is asked for again when its answer's lifetime ends (at least every 30 s, at most every second).
//! A failure keeps the last good addresses for a while: a name server that is away must not take a backend away.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use imbl::OrdMap;
use model::Built;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::port::Addresses;

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// Time for which addresses outlive a name server that does not answer or denies the name.
const SERVE_STALE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(2);

/// The addresses of one name, as far as known.
struct Name {
    addresses: Arc<[IpAddr]>,
    good_until: Option<Instant>,
    ask_at: Option<Instant>,
}

pub(crate) async fn run(mut built: watch::Receiver<Option<Arc<Built>>>, addresses: Arc<dyn Addresses>) -> &'static str {
    let mut names: BTreeMap<Arc<str>, Name> = BTreeMap::new();
    let mut published: OrdMap<Arc<str>, Arc<[IpAddr]>> = OrdMap::new();
    let mut requests: JoinSet<(Arc<str>, Result<Answer, String>)> = JoinSet::new();
    let mut resolver: Option<TokioResolver> = None;
    loop {
        let now = Instant::now();
        let next = names.values().filter_map(|name| name.ask_at).min();
        tokio::select! {
            changed = built.changed() => {
                if changed.is_err() { return "resolver" }
                let wanted = built.borrow_and_update().as_ref().map(|built| built.external_names()).unwrap_or_default();
                names.retain(|name, _| wanted.contains(name));
                for name in wanted {
                    names.entry(name).or_insert(Name { addresses: Arc::from([]), good_until: None, ask_at: Some(now) });
                }
            }
            Some(Ok((name, answer))) = requests.join_next(), if !requests.is_empty() => {
                if let Some(known) = names.get_mut(&name) {
                    known.learn(&name, answer);
                    let known = known.addresses.clone();
                    if published.get(&name) != Some(&known) {
                        let found: Vec<String> = known.iter().map(ToString::to_string).collect();
                        info!(%name, addresses = found.join(","), "external name resolved");
                        published.insert(name, known);
                        addresses.set(published.clone());
                    }
                }
            }
            () = tokio::time::sleep_until(next.unwrap_or(now)), if next.is_some() => {
                if resolver.is_none() {
                    resolver = TokioResolver::builder_tokio().and_then(|builder| builder.build()).map_err(|error| warn!(%error, "can't set up the resolver from /etc/resolv.conf")).ok();
                }
                let now = Instant::now();
                for (name, known) in names.iter_mut().filter(|(_, known)| known.ask_at.is_some_and(|at| at <= now)) {
                    match &resolver {
                        Some(resolver) => {
                            known.ask_at = None;
                            requests.spawn(ask(resolver.clone(), name.clone()));
                        }
                        None => known.ask_at = Some(now + RETRY),
                    }
                }
            }
        }
        if published.keys().any(|name| !names.contains_key(name)) {
            published =
                published.iter().filter(|(name, _)| names.contains_key(*name)).map(|(name, known)| (name.clone(), known.clone())).collect();
            addresses.set(published.clone());
        }
    }
}

struct Answer {
    addresses: Vec<IpAddr>,
    lifetime: Duration,
}

async fn ask(resolver: TokioResolver, name: Arc<str>) -> (Arc<str>, Result<Answer, String>) {
    let answer = resolver.lookup_ip(&*name).await.map_err(|error| error.to_string()).map(|found| {
        let mut addresses: Vec<IpAddr> = found.iter().collect();
        addresses.sort();
        addresses.dedup();
        Answer { addresses, lifetime: found.valid_until().saturating_duration_since(std::time::Instant::now()) }
    });
    (name, answer)
}

impl Name {
    fn learn(&mut self, name: &str, answer: Result<Answer, String>) {
        let now = Instant::now();
        match answer {
            Ok(answer) => {
                self.addresses = answer.addresses.into();
                self.good_until = Some(now + answer.lifetime + SERVE_STALE);
                self.ask_at = Some(now + answer.lifetime.clamp(SHORTEST, LONGEST));
            }
            Err(error) => {
                if self.good_until.is_none_or(|until| until <= now) {
                    if !self.addresses.is_empty() || self.good_until.is_none() {
                        warn!(name, error, "external name does not resolve");
                    }
                    self.addresses = Arc::from([]);
                    self.good_until = Some(now);
                }
                self.ask_at = Some(now + RETRY);
            }
        }
    }
}
