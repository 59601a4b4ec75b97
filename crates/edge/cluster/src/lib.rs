//! The cluster as a source, and what is written back to it. The only crate that talks to the Kubernetes API.
//!
//! - [`connect`]: a client from the flags.
//! - [`ClusterSource`]: watches the kinds that matter and publishes [`model::Snapshot`]s.
//! - [`ListWatch`]: one kind, listed and watched for ever.
//! - [`Editor`]: reads and changes single objects, for commands that end.
//! - [`EventWriter`], [`Election`], [`StatusWriter`]: Events, the leader's Lease and the addresses in Ingress status.
//! - [`clean_up`]: removes after a controller's end what it left behind.
//! - [`Registration`]: the admission webhook's registration and the Secret with its certificate.
//! - [`LeaseLock`]: a Lease for the time of one piece of work.
//!
//! # How the watching works
//!
//! One task per kind (a *feed*: a kind and the part of the cluster it covers) lists in pages, then watches, and sends what it reads to one owner task.
//! The owner holds every store, applies what arrives, and publishes a new snapshot as soon as nothing more is waiting; there are no locks.
//!
//! - **Nothing is emptied by trouble.** A lost watch is resumed from where it was. When the server no longer knows that point (410), the kind is listed again *beside* the
//!   store, and the difference is applied at the end of the list. Errors are retried for ever with backoff, and only the [`SourceStatus`] shows them.
//! - **No change, no snapshot.** Objects are cut down to what the model reads as soon as they are decoded, `resourceVersion` not included; an object that is then
//!   equal to the one held is dropped. So status writes and `managedFields` cost nothing further on.
//! - **Secrets and ConfigMaps** are held while something refers to them. A reference that is new is fetched; the data is dropped with the last reference.
//!   Ingresses are listed first, so that the first list of Secrets already knows which to keep.
//! - **An object that can't be decoded** becomes a Problem that names it. Its last good version stays, and the stream goes on.

mod address;
mod backoff;
mod chain;
mod claim;
mod cleanup;
mod connect;
mod decode;
mod edit;
mod election;
mod event;
mod feed;
mod fetch;
mod hash;
mod kinds;
mod lease;
mod lease_lock;
mod limit;
mod list_watch;
mod message;
mod publish;
mod references;
mod registration;
mod source;
mod state;
mod status;
mod store;
mod watch;
mod zone;

#[cfg(test)]
mod fake;

pub use address::{Address, InvalidAddress, parse_addresses};
pub use backoff::Retry;
pub use chain::chain;
pub use cleanup::{Cleaned, clean_up};
pub use connect::{ConnectError, ConnectOptions, connect, own_namespace};
pub use edit::{EditError, Editor};
pub use election::{Election, ElectionHandle, ElectionOptions};
pub use event::{EventSender, EventWriter, EventWriterOptions};
pub use kinds::Kind;
pub use kube::Client;
pub use lease_lock::{LeaseError, LeaseLock};
pub use list_watch::{Closed, ListWatch, Sink, Step};
pub use publish::AddressSource;
pub use registration::Registration;
pub use source::{ClusterSource, FeedStatus, SourceHandle, SourceOptions, SourceStatus};
pub use state::Statuses;
pub use status::{StatusHandle, StatusOptions, StatusWriter};
pub use zone::zone;

/// The set that all long-running tasks of the process sit in. A task that ends gives its name; none is expected to end before the process does.
pub type Tasks = tokio::task::JoinSet<&'static str>;

/// Our name for the API server: user agent and field manager.
const PRODUCT: &str = concat!("narthex/", env!("CARGO_PKG_VERSION"));
