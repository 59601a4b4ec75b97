//! The ports of the controller: an NGINX, its live interface, and a receiver of reports.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use imbl::OrdMap;
use model::dictionaries::Dictionaries;
use model::{ConfigValues, Fixed, Part, Problem, StreamPort, Table};

use crate::Locations;

/// The process: start, reload, watch. Applies text and confirms it.
pub trait Nginx: Send + 'static {
    /// Applies this text: starts NGINX if it does not run, else reloads it; nothing if it runs it already.
    fn apply(&mut self, fixed: &Fixed) -> impl Future<Output = Result<Applied, ApplyError>> + Send;

    /// The same, but it reads everything again even if it runs this text already.
    fn reload(&mut self, fixed: &Fixed) -> impl Future<Output = Result<Applied, ApplyError>> + Send;

    /// Whether the port of a TCP or UDP service, which could not be opened, can be now.
    fn is_free(&mut self, fixed: &Fixed, port: StreamPort) -> impl Future<Output = bool> + Send;

    /// Longest test of a text that is applied.
    fn patience(&self) -> Duration;

    /// Whether NGINX would accept this text, and how long the test takes; after `limit` it is ended as too slow. Changes nothing. Fails at once when
    /// NGINX is lost meanwhile, as [`Self::lost`] says next: what serves comes before what is asked.
    fn test(&mut self, fixed: &Fixed, limit: Duration) -> impl Future<Output = Result<Duration, ApplyError>> + Send;

    /// Restores what was lost, with the last text it confirmed. `true` if it was started, so that its dictionaries are empty.
    fn restore(&mut self, loss: Loss) -> impl Future<Output = Result<bool, ApplyError>> + Send;

    /// The NGINX that ran before this process did, if there is one.
    fn adopted(&self) -> Option<Adopted>;

    /// Keeps the values of the ConfigMap that NGINX confirmed, for a controller that starts while the present one is refused. A failure is logged.
    fn keep(&mut self, confirmed: &ConfigValues);

    /// Whether it runs.
    fn runs(&mut self) -> impl Future<Output = bool> + Send;

    /// The workers of earlier configurations.
    fn old(&mut self) -> impl Future<Output = Old> + Send;

    /// Resolves when the master process is gone, or lacks workers and does not start others by itself.
    fn lost(&mut self) -> impl Future<Output = Loss> + Send;
}

/// A process: its pid and when it was started.
pub type WorkerId = (i32, u64);

/// Workers of earlier configurations, which finish what they have begun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Old {
    /// The processes.
    pub workers: BTreeSet<WorkerId>,
    /// A reload begins with fewer than so many.
    pub most: usize,
}

/// The part of NGINX that is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All of it: no master runs.
    Master,
    /// The master runs, and some or all of its workers are gone for good.
    Workers,
}

/// An NGINX that was found running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// Content address of its text.
    pub revision: String,
    /// The format of the records that its Lua reads ([`model::live::wire::format`]); `None` where it does not say.
    pub format: Option<String>,
    /// The locations that its workers have.
    pub locations: Locations,
    /// The shared dictionaries that it has.
    pub dictionaries: Dictionaries,
}

/// A confirmed application of text.
#[derive(Debug, Clone)]
pub struct Applied {
    /// Content address of the text; the new workers answered it.
    pub revision: String,
    /// NGINX was started, so that its dictionaries are empty.
    pub started: bool,
    /// NGINX ran this text already: no reload was needed.
    pub unchanged: bool,
    /// Time from the signal to the confirmation.
    pub duration: Duration,
    /// TCP and UDP services that were left out, as their ports could not be opened, each with the reason.
    pub closed: BTreeMap<StreamPort, String>,
}

/// The reason why text was not applied. The last known good configuration stays active.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApplyError {
    /// NGINX refuses the text, and will at any other time.
    #[error("nginx refuses the configuration: {message}")]
    Refused {
        /// Its message.
        message: String,
        /// The part that it points at, when its message has a line.
        culprit: Option<Part>,
    },
    /// NGINX complains, perhaps about something outside of the text: a file, the system.
    #[error("nginx does not accept the configuration: {message}")]
    Doubtful {
        /// Its message.
        message: String,
        /// The part that it points at, when its message has a line.
        culprit: Option<Part>,
    },
    /// The test or the confirmation took too long: because of the text, or because the machine is slow.
    #[error("{0}")]
    Slow(String),
    /// The attempt came to no result; another may succeed.
    #[error("{0}")]
    Failed(String),
}

/// A way for records to a running NGINX. The live lane confirms, retries and audits what goes over it.
pub trait Channel: Clone + Send + Sync + 'static {
    /// Its name in logs and in the list of tasks.
    const NAME: &'static str;
    /// Whether its records are lost when NGINX starts again. Nothing is posted before the first start then.
    const LOST_WITH_NGINX: bool;
    /// Interval of audits although nothing has failed; `None` where no other process can change its records.
    const AUDIT_EVERY: Option<Duration>;

    /// Whether it is the one that carries a table.
    fn carries(table: Table) -> bool;
    /// Its present state, counted again over every record, so that counters which a killed worker left wrong are right again.
    fn audit(&self) -> impl Future<Output = Result<LiveState, LiveError>> + Send;
    /// Applies lines of the live protocol; answers the state after, and what found no room.
    fn post(&self, lines: String) -> impl Future<Output = Result<Posted, LiveError>> + Send;
    /// The keys it holds, as `letter\tkey`.
    fn keys(&self) -> impl Future<Output = Result<Vec<String>, LiveError>> + Send;
    /// Marks its content as complete.
    fn set_generation(&self, marker: &str) -> impl Future<Output = Result<(), LiveError>> + Send;
}

/// The records of an NGINX.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveState {
    /// Marker of a complete content; none after a start.
    pub generation: Option<String>,
    /// Sum over all records.
    pub digest: u64,
    /// Number of records.
    pub entries: u64,
}

/// The result of posted lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posted {
    /// The state of NGINX after it.
    pub state: LiveState,
    /// Records (`letter\tkey`) for which a dictionary has no room: what it held of them stays. All others were applied.
    pub refused: Vec<String>,
}

/// The reason why a live request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LiveError {
    /// No answer, or not a good one. The request may have been applied in part; sending it again is safe.
    #[error("{0}")]
    Unreachable(String),
}

/// Takes resolved addresses of ExternalName targets into the snapshots.
pub trait Addresses: Send + Sync + 'static {
    /// Replaces all of them.
    fn set(&self, addresses: OrdMap<Arc<str>, Arc<[IpAddr]>>);
}

/// The receiver of what the controller finds and does.
pub trait Reporter: Send + Sync + 'static {
    /// The complete list of findings after a build, in order.
    fn problems(&self, problems: &[Problem]);
    /// The Ingresses that are served now.
    fn served(&self, ingresses: Vec<model::ObjectKey>);
    /// A reload was confirmed, or failed with a message.
    fn reload(&self, outcome: Result<&str, &str>);
}
