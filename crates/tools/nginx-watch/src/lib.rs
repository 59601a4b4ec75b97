//! Makes an NGINX follow its configuration files: the cycle behind `narthex watch`, its `/reload` and `narthex quit`.
//!
//! Every source of triggers (files, a signal, a request, a timer) only wakes the same run, of which there is one at a time:
//!
//! 1. a [`Snapshot`] of all files, and its digest: nothing happens when NGINX runs just that;
//! 2. NGINX's own `nginx -t`, where it runs, over exactly the bytes of the snapshot where that is permitted;
//! 3. the same bytes still stand there: NGINX is signalled;
//! 4. new workers serve and the old ones leave: only then it counts;
//! 5. the report: log, status file, error file, metrics, HTTP.
//!
//! Whatever fails, NGINX goes on with what it had, and the failure is reported and tried again.
//!
//! Modules: `snapshot`, `tree` (files), `follower` (events), `queue`, `state`, `cycle`, `service` (the run), `target`, `tester`, `job`, `helper` (tests),
//! `reading`, `dump` (what NGINX reads),
//! `apply` (signal, confirmation), `staging`, `policy` (files of other users), `report`, `outlet`, `state_change`, `metrics` (results), `http`, `access`, `peers`,
//! `before`, `lock`, `everywhere` (requests), `child`, `spawn`, `group`, `signal`, `quit` (processes).

mod access;
mod apply;
mod before;
mod beneath;
mod child;
mod cycle;
mod dump;
mod everywhere;
mod follower;
mod helper;
mod http;
mod job;
mod lock;
mod metrics;
mod outlet;
mod peers;
mod policy;
mod queue;
mod quit;
mod reading;
mod report;
mod service;
mod snapshot;
mod staging;
mod state;
mod state_change;
mod target;
mod tester;
mod tree;

pub use access::{Access, Peer};
pub use before::{Before, BeforeHandle};
pub use child::{ChildProcess, SignalRequest, Signals};
pub use cycle::CycleOptions;
pub use follower::{FollowOptions, warn_of_mounts};
pub use helper::run as run_helper;
pub use http::{HttpServer, Reloads, router};
pub use lock::{Boxed, Contender, FileLock, LocalLock, Lock, Mark, Tried, Wanted, Work, mark};
pub use metrics::Metrics;
pub use outlet::Outlets;
pub use peers::{Peers, own_addresses};
pub use policy::{NamePattern, Policy};
pub use queue::{Queue, TriggerSource};
pub use quit::{QuitError, QuitOptions, QuitOutcome, quit};
pub use report::{ReloadOutcome, ReloadReport, Tested};
pub use service::{Handle, Options, once, spawn};
pub use snapshot::{File, MAX_BYTES, Revision, Roots, Snapshot, SnapshotError, Tree};
pub use staging::Staging;
pub use state::Backoff;
pub use state_change::{EventReporter, StateChange};
pub use tester::TestOptions;
