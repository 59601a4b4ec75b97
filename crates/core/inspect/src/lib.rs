//! What a running controller says of itself: the answers of its inspection API (`docs/console.md`).
//!
//! Each type is both written by the controller and read by the command line, so that the two agree by construction.
//! Times are seconds since 1970, durations seconds. What is absent is left out.

mod backend;
mod budget;
mod certificate;
mod check;
mod event;
mod host;
mod ingress;
mod list;
mod now;
mod problem;
mod revision;
mod setting;
mod traffic;
mod workers;

pub use backend::{Backend, BackendDetail, Choice, Endpoint};
pub use budget::{Budget, NamespaceShare};
pub use certificate::Certificate;
pub use check::{Check, CheckState, Lease};
pub use event::{Event, EventKind, Events, Lane};
pub use host::{Host, HostDetail, HostServerKind, PathMatch, PathRow};
pub use ingress::{Ingress, IngressState};
pub use list::{Failure, List};
pub use now::{Counts, LastReload, LiveProgress, Now, Quantiles, ReloadProgress, Reloads, RunningRevision, SourceKind, TimeToEffect};
pub use problem::{Problem, Severity};
pub use revision::{Revision, RevisionDiff, RevisionKind};
pub use setting::{EffectiveSetting, Origin, Setting, SettingScope};
pub use traffic::{Traffic, TrafficBy, TrafficRow};
pub use workers::{Dictionary, Generation, Master, Worker, Workers};
