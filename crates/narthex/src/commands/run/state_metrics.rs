//! Metrics of the present state: who leads, and which Ingresses lack a Service or endpoints.

use std::collections::BTreeSet;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use controller::metrics::Identity;
use model::{Built, Lack, ObjectKey};
use ops::{Exposition, Family, Fetched, labels};
use parking_lot::Mutex;
use tokio::sync::watch;

const LEADER: Family = Family::gauge("leader_election_status", "Whether this replica leads; absent of one that never did.");
const ORPHAN: Family =
    Family::gauge("orphan_ingress", "Whether an Ingress has a backend without a Service (no-service) or endpoints (no-endpoint).");

type Writing<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The labels that each of these families has.
pub(super) fn constant_labels(identity: &Identity) -> String {
    labels(&[("controller_class", &identity.class), ("controller_namespace", &identity.namespace), ("controller_pod", &identity.pod)])
}

/// Whether we lead.
pub(super) struct Leadership {
    pub(super) leads: watch::Receiver<bool>,
    /// All labels.
    pub(super) labels: String,
    /// We have led before.
    pub(super) led: AtomicBool,
}

impl Fetched for Leadership {
    fn write<'a>(&'a self, out: &'a mut Exposition) -> Writing<'a> {
        let leads = *self.leads.borrow();
        if leads || self.led.load(Ordering::Relaxed) {
            self.led.store(true, Ordering::Relaxed);
            LEADER.write(&[(self.labels.clone(), if leads { 1.0 } else { 0.0 })], out);
        }
        Box::pin(ready(()))
    }
}

/// Ingresses with a backend that can answer no request. Those that had one and are there stay, with 0.
pub(super) struct Orphans {
    pub(super) built: watch::Receiver<Option<Arc<Built>>>,
    pub(super) constant: String,
    pub(super) seen: Mutex<BTreeSet<(ObjectKey, Lack)>>,
}

impl Fetched for Orphans {
    fn write<'a>(&'a self, out: &'a mut Exposition) -> Writing<'a> {
        let built = self.built.borrow().clone();
        if let Some(built) = built {
            let now = built.orphans();
            let mut seen = self.seen.lock();
            seen.retain(|(ingress, _)| built.has_ingress(ingress));
            seen.extend(now.iter().cloned());
            let value = |orphan: &(ObjectKey, Lack)| (self.labels(orphan), if now.contains(orphan) { 1.0 } else { 0.0 });
            let values: Vec<(String, f64)> = seen.iter().map(value).collect();
            if !values.is_empty() {
                ORPHAN.write(&values, out);
            }
        }
        Box::pin(ready(()))
    }
}

impl Orphans {
    fn labels(&self, (ingress, lack): &(ObjectKey, Lack)) -> String {
        let lack = match lack {
            Lack::Service => "no-service",
            Lack::Endpoint => "no-endpoint",
        };
        let own = labels(&[("ingress", &ingress.name), ("namespace", &ingress.namespace), ("type", lack)]);
        format!("{},{own}", self.constant)
    }
}
