//! Metrics of TCP and UDP services on their way from the log of NGINX to the scraper.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Built, StreamPort, StreamService};
use nginx::StreamLog;
use ops::{Exposition, StreamMetrics};
use parking_lot::Mutex;
use render::Paths;
use tokio::sync::watch;
use tracing::debug;

/// What is counted, and where it is read.
pub(super) struct Streams {
    counted: Arc<Mutex<Counted>>,
    built: watch::Receiver<Option<Arc<Built>>>,
}

struct Counted {
    log: StreamLog,
    metrics: StreamMetrics,
}

impl Streams {
    pub(super) fn new(paths: &Paths, built: watch::Receiver<Option<Arc<Built>>>) -> Self {
        let counted = Counted { log: StreamLog::new(paths.stream_log()), metrics: StreamMetrics::default() };
        Self { counted: Arc::new(Mutex::new(counted)), built }
    }

    /// Adds what NGINX has logged since the last time.
    pub(super) async fn fetch(&self) {
        // Without the services it is unknown whose the connections are.
        let Some(built) = self.built.borrow().clone() else { return };
        let counted = self.counted.clone();
        let _ = tokio::task::spawn_blocking(move || counted.lock().fetch(&built)).await;
    }

    /// Appends what was fetched.
    pub(super) fn write(&self, constant: &str, out: &mut Exposition) {
        self.counted.lock().metrics.write(constant, out);
    }
}

impl Counted {
    fn fetch(&mut self, built: &Built) {
        let services = &built.model.fixed.stream_services;
        let known: BTreeSet<String> = services.iter().map(|(port, service)| labels(*port, service)).collect();
        self.metrics.retain(|service| known.contains(service));
        loop {
            let lines = match self.log.lines() {
                Ok(lines) if lines.is_empty() => return,
                Ok(lines) => lines,
                Err(error) => return debug!(%error, "the log of TCP and UDP services is not read"),
            };
            self.metrics.add(&lines, |protocol, number| {
                let (port, service) = services.iter().find(|(port, _)| port.number == number && port.protocol.to_string() == protocol)?;
                Some(labels(*port, service))
            });
        }
    }
}

fn labels(port: StreamPort, service: &StreamService) -> String {
    let key = &service.backend.service;
    ops::labels(&[
        ("protocol", port.protocol.label()),
        ("port", &port.number.to_string()),
        ("namespace", &key.namespace),
        ("service", &key.name),
        ("service_port", &service.backend.port.to_string()),
    ])
}
