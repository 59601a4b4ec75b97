//! File descriptors: each connection of NGINX takes one or two, and the workers inherit our limit.

use rustix::process::{Resource, getrlimit, setrlimit};
use tracing::{debug, warn};

/// More than any NGINX uses; programs that walk through all possible descriptors take their time beyond it.
const ENOUGH: u64 = 1 << 20;
/// With fewer a busy ingress stops to accept connections.
const FEW: u64 = 4096;

/// Raises our limit as far as it goes, and says once when that is not far.
pub(crate) fn raise() {
    let mut limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(ENOUGH);
    let wanted = hard.min(ENOUGH);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        match setrlimit(Resource::Nofile, limit) {
            Ok(()) => debug!(limit = wanted, "the limit of descriptors was raised"),
            Err(error) => warn!(%error, "the limit of descriptors can't be raised"),
        }
    }
    if wanted < FEW {
        warn!(
            limit = wanted,
            "few file descriptors: each connection takes up to two; raise the hard limit (ulimit -Hn, LimitNOFILE=) to 4096 or more"
        );
    }
}
