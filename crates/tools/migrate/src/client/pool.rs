//! Connections that carry one request after the other.

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::answer::Shown;
use crate::request::Scheme;

/// Connections that are kept while they are unused.
const IDLE: usize = 64;

/// The requests that a connection may carry: over TLS the host is the server's name, so that it may not carry others.
pub(super) type Use = (Scheme, String);

/// An open connection and the task that drives it, which ends with it.
pub(super) struct Link {
    pub(super) sender: SendRequest<Empty<Bytes>>,
    pub(super) driver: JoinHandle<()>,
    pub(super) certificate: Option<Shown>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Idle connections, the one used last at the end.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<(Use, Link)>>);

impl Pool {
    /// An open one.
    pub(super) fn take(&self, wanted: &Use) -> Option<Link> {
        let mut idle = self.0.lock();
        idle.retain(|(_, link)| !link.sender.is_closed());
        let at = idle.iter().rposition(|(own, _)| own == wanted)?;
        Some(idle.remove(at).1)
    }

    /// One that is free again.
    pub(super) fn put(&self, own: Use, link: Link) {
        let mut idle = self.0.lock();
        if idle.len() >= IDLE {
            idle.remove(0);
        }
        idle.push((own, link));
    }
}
