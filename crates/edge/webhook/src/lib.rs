//! The admission webhook: reviews Ingresses and the ConfigMap with the settings before the API server stores them.
//!
//! A review parses: the object is merged into a clone of the controller's own builder ([`model::Builder::review`]), so the answer is what
//! `narthex run` would find. There is no way from here to NGINX, to the model that is served or to a file, whatever a request holds: any client
//! in the cluster can send one. Sizes, times, connections and reviews at one time are bounded (`server.rs`).

mod certificate;
mod log_budget;
mod metrics;
mod protocol;
mod review;
mod rotation;
mod server;

use std::sync::Arc;

use model::Builder;
use tokio::sync::watch;

pub use certificate::{Certificates, follow_files};
pub use metrics::Metrics;
pub use rotation::{Data, Registration, Rotation, Stored, rotate};
pub use server::serve;

/// The builder after the newest build; `None` until the first snapshot is complete.
pub type Reviewer = watch::Receiver<Option<Arc<Builder>>>;
