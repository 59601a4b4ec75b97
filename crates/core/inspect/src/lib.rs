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
mod index;
mod ingress;
mod kind;
mod list;
mod now;
mod problem;
mod revision;
mod setting;
mod state;
mod traffic;
mod workers;

pub use backend::{Backend, BackendDetail, Choice, Endpoint, backend, backends};
pub use budget::{Budget, NamespaceShare, budgets};
pub use certificate::{Certificate, certificates};
pub use check::{Check, CheckState, Lease};
pub use event::{Event, EventKind, Events, Lane};
pub use host::{Host, HostDetail, HostServerKind, PathMatch, PathRow, host, hosts};
pub use index::Index;
pub use ingress::{Ingress, IngressState, ingresses};
pub use kind::{KINDS, KindFacts, facts};
pub use list::{Failure, List, Query};
pub use now::{Counts, LastReload, LiveProgress, Now, Quantiles, ReloadProgress, Reloads, RunningRevision, SourceKind, TimeToEffect};
pub use problem::{Problem, Severity, problems};
pub use revision::{Revision, RevisionDiff, RevisionKind};
pub use setting::{EffectiveSetting, Origin, Setting, SettingScope, settings};
pub use state::State;
pub use traffic::{Counted, Recent, Traffic, TrafficBy, TrafficRow, TrafficTable, traffic};
pub use workers::{Dictionary, Generation, Master, Worker, Workers};

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests;
