//! From a frozen view of the cluster to what NGINX should do.
//!
//! [`Snapshot`] in, [`Model`] and [`Problem`]s out. Pure: no I/O, no clock, no environment, no runtime.
//! Kubernetes types enter here and none leave: what Lua reads ([`live`]) and what templates print ([`fixed`]) are our own types.
//!
//! - [`Model::fixed`] is text in `nginx.conf`; changing it needs a reload.
//! - [`Model::live`] is data in shared dictionaries and small files; changing it never does.
//!
//! [`Builder`] is incremental: its cost grows with what changed between two snapshots, and the result equals a build from nothing.

pub mod builder;
pub mod der;
pub mod fixed;
mod ingress;
pub mod key;
mod last_readable;
pub mod live;
mod modules;
pub mod object;
pub mod options;
mod part;
mod passes;
pub mod plan;
pub mod problem;
pub mod profile;
pub mod references;
mod rule;
pub mod shares;
pub mod snapshot;

pub use builder::{Basis, Builder, Built, ConfigValues, Data, KeyValue, Lack, Quarantine, Refusal, Review};
pub use fixed::dictionaries;
pub use fixed::{Fixed, GlobalHeaders, Globals, HostServer, Listen, StreamCertificate, StreamPort, StreamService};
pub use key::{BackendId, BackendPort, ObjectKey, ObjectRef};
pub use last_readable::LastReadable;
pub use live::{
    AddressLists, Alternative, AuthCache, BackendRecord, CertificateRecord, Delta, Errors, ExternalCheck, HashRule, HostRecord, Limits,
    Live, Op, PasswordCheck, Policy, Route, Stickiness, Table, UsersRecord, by_namespace, owners,
};
pub use modules::Module;
pub use ngx_value::Snippet;
pub use object::{EndpointSlice, Ingress, Protocol, Service};
pub use options::BuildOptions;
pub use part::Part;
pub use passes::certificate::{CertificateFacts, IncompleteChain, issuer_url};
pub use plan::{Plan, Reason, plan};
pub use problem::{Problem, ProblemKind};
pub use profile::{ErrorPages, FirewallText, Profile, ProfileId};
pub use shares::{Resource, Usage, Weight};
pub use snapshot::Snapshot;

/// The complete desired state of one NGINX: immutable, ordered, comparable. Cloning is cheap (shared structure).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// What must be text: a change needs a reload.
    pub fixed: Fixed,
    /// What is data: a change is posted to the running workers.
    pub live: Live,
}
