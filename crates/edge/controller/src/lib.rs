//! The sync loop: snapshots in, a served NGINX out.
//!
//! Tasks with one direction of data, joined by `watch` channels, so that only the newest state counts:
//!
//! ```text
//! snapshots ─▶ builder ─▶ Built ─┬─▶ live lane   (posts records, a task for each channel; milliseconds)
//!                 ▲              └─▶ fixed lane  (reloads; spaced) ─▶ Loaded ─▶ live lane
//!                 └────────── quarantined / confirmed ────┘
//! ```
//!
//! A reload that a client asks for ([`ReloadRequests`]) takes the same way: through the builder, so that what was there before is part of it, to the fixed lane.
//!
//! The lanes have separate clocks: a pending, slow or failing reload never delays an endpoint or a route.
//! Knows sources and NGINX through traits ([`port`]) only.

mod arrivals;
mod ask;
mod build;
#[cfg(test)]
mod fake;
mod fixed_lane;
pub mod journal;
mod live_lane;
mod loaded;
pub mod metrics;
pub mod port;
mod resolve;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::snapshot::{Issuers, Staples};
use model::{BuildOptions, Builder, Built, ConfigValues, KeyValue, Snapshot, StreamPort};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use arrivals::Arrivals;
use fixed_lane::Subject;
use live_lane::Counted;

pub use ask::{Attempt, ReloadRequests};
pub use journal::Journal;
pub use live_lane::LiveStatus;
pub use loaded::{Loaded, Locations};
pub use metrics::Metrics;
pub use port::{Addresses, Adopted, Applied, ApplyError, Channel, LiveError, LiveState, Nginx, Posted, Reporter};

/// The pace of the lanes.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Shortest time between two reloads (`--sync-rate-limit`).
    pub reload_interval: Duration,
    /// Time without a change before the first reload after a quiet time.
    pub reload_debounce: Duration,
    /// Shortest time between two posts; a first change after a quiet time is posted at once.
    pub live_window: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            reload_interval: Duration::from_secs_f64(1.0 / 0.3),
            reload_debounce: Duration::from_millis(30),
            live_window: Duration::from_millis(2),
        }
    }
}

/// Views of the running controller, for health and debugging.
#[derive(Clone)]
pub struct Handle {
    /// The newest build.
    pub built: watch::Receiver<Option<Arc<Built>>>,
    /// The configuration that NGINX runs.
    pub loaded: watch::Receiver<Loaded>,
    /// The records that it holds.
    pub live: watch::Receiver<LiveStatus>,
    /// The reason why the wanted configuration can't be applied, for as long as it can't.
    pub fault: watch::Receiver<Option<String>>,
    /// For callers that want a reload.
    pub requests: ReloadRequests,
}

impl Handle {
    /// Whether traffic can be served: NGINX runs a confirmed configuration and holds the data.
    pub fn ready(&self) -> bool {
        self.loaded.borrow().starts > 0 && self.live.borrow().synced()
    }
}

/// Messages to the builder from the fixed lane.
#[derive(Debug)]
pub(crate) enum Feedback {
    /// NGINX refused what these ask for in a build, each for its reason.
    Quarantine(Arc<Built>, Vec<(Subject, String)>),
    /// The ports of TCP and UDP services that the last reload could not open, each with the reason.
    Closed(BTreeMap<StreamPort, String>),
    /// NGINX refuses some of these keys of the ConfigMap, for this reason: none is used until it is known which.
    Suspend(Vec<(String, KeyValue)>, String),
    /// NGINX accepts again what these ask for.
    Release(Vec<Subject>),
    /// NGINX confirmed what was built.
    Confirmed(Arc<Built>),
}

/// The set of long-running tasks. One that ends gives its name; none may before the process does.
pub type Tasks = JoinSet<&'static str>;

/// The parts that the controller works with.
pub struct Parts<N, L, S> {
    /// Inputs of the build.
    pub settings: BuildOptions,
    /// The source's newest view; `None` until it is complete.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// OCSP responses; they become part of the snapshots.
    pub staples: watch::Receiver<Staples>,
    /// What certificate chains lack; that becomes part of them as well.
    pub issuers: watch::Receiver<Issuers>,
    /// The process.
    pub nginx: N,
    /// The channel to its shared dictionaries.
    pub live: L,
    /// The channel to the files that its stream block reads, where it has any.
    pub stream_map: Option<S>,
    /// Takes resolved names back into the snapshots.
    pub addresses: Arc<dyn Addresses>,
    /// The values of the ConfigMap that NGINX confirmed for an earlier controller of the same work directory.
    pub confirmed: ConfigValues,
    /// The receiver of findings.
    pub report: Arc<dyn Reporter>,
    /// The metrics.
    pub metrics: Metrics,
    /// The journal.
    pub journal: Journal,
    /// The pace.
    pub pace: Pace,
    /// Receives the builder after each build, to review objects with; `None` where none are reviewed.
    pub reviewer: Option<watch::Sender<Option<Arc<Builder>>>>,
}

/// Starts the tasks. They run until the set is aborted.
pub fn spawn<N: Nginx, L: Channel, S: Channel>(parts: Parts<N, L, S>, tasks: &mut Tasks) -> Handle {
    let Parts { settings, snapshots, staples, issuers, nginx, live, stream_map, addresses, confirmed, report, metrics, journal, pace, reviewer } =
        parts;
    let (built_tx, built) = watch::channel(None);
    let (loaded_tx, loaded) = watch::channel(Loaded::default());
    let (status_tx, status) = watch::channel(LiveStatus::of([L::NAME].into_iter().chain(stream_map.iter().map(|_| S::NAME))));
    // Bounded: the fixed lane says at most one thing per reload.
    let (feedback_tx, feedback) = mpsc::channel(16);

    let builder = Builder::new(settings).with_confirmed(&confirmed);
    let (attempts_tx, attempts) = watch::channel(None);
    let requests = ReloadRequests::new(attempts);
    let (passed, asked) = watch::channel(0);
    let inputs = build::Inputs { snapshots, staples, issuers, feedback, asked: requests.numbers() };
    let (arrivals, counted) = (Arrivals::default(), Counted::default());
    let outputs = build::Outputs { built: built_tx, arrivals: arrivals.clone(), passed, reviewer, journal: journal.clone() };
    tasks.spawn(build::run(builder, inputs, outputs, report.clone(), metrics.clone()));
    let (fault_tx, fault) = watch::channel(None);
    let ends = fixed_lane::Ends {
        live: status.clone(),
        loaded: loaded_tx,
        feedback: feedback_tx,
        attempts: attempts_tx,
        fault: fault_tx,
        journal: journal.clone(),
    };
    let lane = fixed_lane::Lane::new(nginx, ends, report, metrics.clone(), arrivals.clone(), confirmed, pace.reload_interval);
    tasks.spawn(fixed_lane::run(lane, built.clone(), asked, pace));
    let observers = live_lane::Observers { status: status_tx, metrics, journal, arrivals, counted };
    if let Some(stream_map) = stream_map {
        tasks.spawn(live_lane::run(stream_map, built.clone(), loaded.clone(), observers.clone(), pace));
    }
    tasks.spawn(live_lane::run(live, built.clone(), loaded.clone(), observers, pace));
    tasks.spawn(resolve::run(built.clone(), addresses));
    Handle { built, loaded, live: status, fault, requests }
}
