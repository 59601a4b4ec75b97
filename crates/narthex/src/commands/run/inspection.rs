//! What the running controller answers to the inspection API.

mod now;
mod texts;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use console::{Asked, Question, Refusal, Source, json};
use controller::metrics::Identity;
use controller::{Handle, Journal, Metrics};
use inspect::{Dictionary, Events, Generation, Index, List, Master, Setting, SourceKind, State, TrafficTable, Worker, Workers};
use model::{BuildOptions, Built, Snapshot};
use nginx::{LiveClient, Place, WorkerProcess};
use ops::RequestQuery;
use parking_lot::Mutex;
use render::Paths;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::warn;

use super::requests::Collector;
use super::source::LeaseView;
use crate::args::ConsoleArgs;
use crate::commands::explain::request;

/// Age of the sums of requests after which they are made again.
const FRESH: Duration = Duration::from_secs(1);

/// The running controller.
pub(super) struct Inspection {
    pub(super) handle: Handle,
    pub(super) snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    pub(super) journal: Journal,
    pub(super) metrics: Metrics,
    /// What counts requests, where they are counted.
    pub(super) collector: Option<Arc<Collector>>,
    pub(super) live: LiveClient,
    pub(super) place: Place,
    pub(super) paths: Paths,
    pub(super) options: Arc<BuildOptions>,
    /// With their values.
    pub(super) flags: Vec<Setting>,
    pub(super) identity: Identity,
    /// Version of NGINX.
    pub(super) nginx: String,
    pub(super) source: SourceKind,
    /// Whether we write statuses; `None`: there is no Lease.
    pub(super) lease: Option<LeaseView>,
    /// The checks of `/readyz`.
    pub(super) readiness: Arc<ops::Readiness>,
    /// When the controller began.
    pub(super) started: f64,
    pub(super) traffic: Mutex<Option<(Instant, Arc<TrafficTable>)>>,
    pub(super) index: Indexed,
}

/// The index of the newest build that was asked about. Publishing one costs nothing, and none is kept in memory by it.
#[derive(Default)]
pub(super) struct Indexed(Mutex<Option<IndexOf>>);

struct IndexOf {
    built: Weak<Built>,
    snapshot: Weak<Snapshot>,
    index: Arc<Index>,
}

impl Indexed {
    fn of(&self, built: &Arc<Built>, snapshot: &Arc<Snapshot>) -> Arc<Index> {
        let (built, snapshot) = (Arc::downgrade(built), Arc::downgrade(snapshot));
        let mut kept = self.0.lock();
        if let Some(known) = kept.as_ref().filter(|known| known.built.ptr_eq(&built) && known.snapshot.ptr_eq(&snapshot)) {
            return known.index.clone();
        }
        let index = Arc::new(Index::default());
        *kept = Some(IndexOf { built, snapshot, index: index.clone() });
        index
    }
}

/// The present time, in seconds since 1970.
pub(super) fn time() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The listener of the console, where there is one. A token that can't be used is no error: clients of NGINX are served, and those of the console are not.
pub(super) async fn bind(args: &ConsoleArgs) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = args.address()? else { return Ok(None) };
    if let Some(file) = &args.console_token_file
        && let Err(error) = console::Token::new(file).check().await
    {
        warn!(%error, "the console lets no client in until --console-token-file can be used");
    }
    let listener = TcpListener::bind(address).await;
    listener.map(Some).with_context(|| format!("can't listen on {address}, which --console-port and --console-address set"))
}

/// The port of the console with its flag.
pub(super) fn port(args: &ConsoleArgs) -> Option<(u16, &'static str)> {
    let address: Option<SocketAddr> = args.address().ok().flatten();
    address.map(|address| (address.port(), "--console-port"))
}

impl Source for Inspection {
    fn answer(&self, question: &Question) -> Result<Vec<u8>, Refusal> {
        let built = self.handle.built.borrow().clone().ok_or_else(|| Refusal::Unavailable("the source is not complete yet".to_owned()))?;
        let snapshot = self.snapshots.borrow().clone().unwrap_or_default();
        let loaded = self.handle.loaded.borrow().clone();
        let traffic = self.traffic();
        let index = self.index.of(&built, &snapshot);
        let state = State {
            built: &built,
            snapshot: &snapshot,
            index: &index,
            running: loaded.fixed.as_ref(),
            is_held: &|host, record| loaded.holds_back(host, record),
            since: &|problem| self.journal.since(problem),
            traffic: traffic.as_deref(),
            prefix: &self.options.annotations_prefix,
            configmap: self.options.configmap.as_ref(),
            time: time(),
        };
        match question {
            Question::Now => json(&self.now(&state, &loaded.revision)),
            Question::Ingresses(query) => json(&inspect::ingresses(&state, query)),
            Question::Hosts(query) => json(&inspect::hosts(&state, query)),
            Question::Host(host) => found(inspect::host(&state, host).as_ref(), || format!("no rule has the host {host:?}")),
            Question::Backends(query) => json(&inspect::backends(&state, query)),
            Question::Backend(name) => found(inspect::backend(&state, name).as_ref(), || {
                format!("no rule leads to a backend {name:?}, expected namespace/service:port")
            }),
            Question::Certificates(query) => json(&inspect::certificates(&state, query)),
            Question::Problems(query, kind) => json(&inspect::problems(&state, query, kind.as_deref())),
            Question::Settings(query, only_changed) => json(&inspect::settings(&state, &self.flags, query, *only_changed)),
            Question::Budgets(query) => json(&inspect::budgets(&state, &built.tenants.sums(), query)),
            Question::Revisions(query) => json(&List::of(self.journal.revisions(&loaded.revision), query)),
            Question::Diff(from, to) => json(&texts::diff(&self.journal, &loaded.revision, from.as_deref(), to.as_deref())?),
            Question::Traffic(by, query) => match state.traffic {
                Some(table) => json(&inspect::traffic(table, *by, query)),
                None => Err(Refusal::Unavailable("requests are not counted: --enable-metrics is false".to_owned())),
            },
            Question::Request(asked) => explained(&built, &snapshot, asked),
        }
    }

    fn workers(&self) -> Pin<Box<dyn Future<Output = Result<Workers, Refusal>> + Send + '_>> {
        Box::pin(async {
            let processes = self.place.processes(&self.paths).await;
            let processes = processes.ok_or_else(|| Refusal::Unavailable("the container of NGINX does not answer".to_owned()))?;
            // One that is busy or gone has no dictionaries to show.
            let state = self.live.state().await.ok();
            let mut workers: Vec<Worker> = processes.workers.iter().map(|worker| self.worker(worker)).collect();
            workers.sort_by(|one, other| {
                other.start.unwrap_or_default().total_cmp(&one.start.unwrap_or_default()).then(one.pid.cmp(&other.pid))
            });
            Ok(Workers {
                masters: processes.masters.into_iter().map(|(pid, start)| Master { pid, start }).collect(),
                workers,
                dictionaries: state.into_iter().flat_map(|state| state.dicts).map(|(name, found)| dictionary(name, &found)).collect(),
            })
        })
    }

    fn events(&self, since: Option<u64>) -> Events {
        self.journal.events(since)
    }

    fn newest(&self) -> watch::Receiver<u64> {
        self.journal.newest()
    }
}

impl Inspection {
    /// The requests of the last seconds, where they are counted.
    fn traffic(&self) -> Option<Arc<TrafficTable>> {
        let collector = self.collector.as_ref()?;
        let mut kept = self.traffic.lock();
        if let Some((_, table)) = kept.as_ref().filter(|(made, _)| made.elapsed() < FRESH) {
            return Some(table.clone());
        }
        let table = Arc::new(collector.traffic());
        *kept = Some((Instant::now(), table.clone()));
        Some(table)
    }

    fn worker(&self, worker: &WorkerProcess) -> Worker {
        let WorkerProcess { pid, ticks, start, leaving, resident_bytes, connections } = *worker;
        let loaded = self.handle.loaded.borrow();
        let running = || Some(loaded.revision.clone()).filter(|revision| !revision.is_empty());
        Worker {
            pid,
            start,
            revision: if leaving { loaded.earlier.get(&(pid, ticks)).map(ToString::to_string) } else { running() },
            generation: if leaving { Generation::Old } else { Generation::Current },
            connections,
            closing: leaving,
            resident_bytes,
        }
    }
}

fn found<T: serde::Serialize>(found: Option<&T>, unknown: impl FnOnce() -> String) -> Result<Vec<u8>, Refusal> {
    found.map_or_else(|| Err(Refusal::Unknown(unknown())), json)
}

fn dictionary(name: String, found: &nginx::Dictionary) -> Dictionary {
    let used = 1.0 - found.free as f64 / found.capacity.max(1) as f64;
    Dictionary { name, bytes: found.capacity, free_bytes: found.free, used: used.clamp(0.0, 1.0) }
}

fn explained(built: &Built, snapshot: &Snapshot, asked: &Asked) -> Result<Vec<u8>, Refusal> {
    let headers: Vec<&str> = asked.headers.iter().map(String::as_str).collect();
    let query = RequestQuery { url: &asked.url, method: &asked.method, headers: &headers, client: asked.client.as_deref(), json: true };
    let answer = request::answer(built, snapshot, &query).map_err(|error| Refusal::Wrong(format!("{error:#}")))?;
    Ok(answer.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_one_index_and_the_next_one_another() {
        let indexed = Indexed::default();
        let (built, snapshot) = (Arc::new(Built::default()), Arc::new(Snapshot::default()));
        let first = indexed.of(&built, &snapshot);
        assert!(Arc::ptr_eq(&first, &indexed.of(&built, &snapshot)));
        let next = indexed.of(&built, &Arc::new(Snapshot::default()));
        assert!(!Arc::ptr_eq(&first, &next));
        let after = indexed.of(&Arc::new(Built::default()), &snapshot);
        assert!(!Arc::ptr_eq(&next, &after) && Arc::strong_count(&built) == 1, "no build is kept");
    }
}
