//! Ports of TCP and UDP services that could not be opened: the reload that left them out is confirmed all the same, and another follows once they are free.

use std::collections::BTreeMap;
use std::time::Duration;

use model::StreamPort;
use tokio::time::Instant;
use tracing::info;

use super::Lane;
use crate::Feedback;
use crate::port::Nginx;

/// Time until the first look. Longer and longer where a port that seemed free could not be opened again.
const FIRST_LOOK: Duration = Duration::from_secs(2);
const LAST_LOOK: Duration = Duration::from_secs(60);

/// The ports that the last reload left out.
#[derive(Debug, Default)]
pub(super) struct ClosedPorts {
    ports: BTreeMap<StreamPort, String>,
    next: Option<Instant>,
    pause: Duration,
    /// The last reload was for ports that were free.
    retried: bool,
}

impl ClosedPorts {
    /// Time of the next look.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }
}

impl<N: Nginx> Lane<N> {
    /// Takes what a reload left out, and has it reported.
    pub(super) async fn left_out(&mut self, ports: BTreeMap<StreamPort, String>) {
        let closed = &mut self.closed;
        closed.pause = if std::mem::take(&mut closed.retried) { (closed.pause * 2).min(LAST_LOOK) } else { FIRST_LOOK };
        closed.next = (!ports.is_empty()).then(|| Instant::now() + closed.pause);
        if closed.ports != ports {
            closed.ports.clone_from(&ports);
            let _ = self.ends.feedback.send(Feedback::Closed(ports)).await;
        }
    }

    /// Looks whether one of them can be opened. What runs counts as without it then, so that a reload is due. `true`: one is.
    pub(super) async fn look_at_ports(&mut self) -> bool {
        if self.closed.next.is_none_or(|next| next > Instant::now()) {
            return false;
        }
        self.closed.next = Some(Instant::now() + self.closed.pause);
        let Some(running) = self.ends.loaded.borrow().fixed.clone() else { return false };
        let mut free = Vec::new();
        for port in self.closed.ports.keys().filter(|port| running.stream_services.contains_key(*port)) {
            if self.nginx.is_free(&running, *port).await {
                info!(%port, "the port of a TCP or UDP service can be opened now");
                free.push(*port);
            }
        }
        let any = !free.is_empty();
        if any {
            self.closed.retried = true;
            self.ends.loaded.send_modify(|loaded| {
                for port in &free {
                    loaded.fixed.iter_mut().for_each(|fixed| drop(fixed.stream_services.remove(port)));
                }
            });
        }
        any
    }
}
