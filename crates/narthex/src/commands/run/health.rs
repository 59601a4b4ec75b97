//! What the probes of a kubelet are told: whether a restart helps, and whether traffic should come here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use controller::Handle;
use ops::{Check, Finding, Health, Readiness, ReadinessCheck};
use tokio::sync::watch;

use super::probe::Answer;

/// Of all hosts, so many may wait for room or for a reload before traffic should go elsewhere: one in this number.
const MOST_HELD: usize = 10;

/// Life, as the predecessor's probes ask for it. Its chart asks the same for readiness, so it fails until traffic is served for the first time.
pub(super) fn alive(handle: Handle, stopping: Arc<AtomicBool>) -> Health {
    let serving = move || {
        if stopping.load(Ordering::Relaxed) {
            return Err("the controller is stopping".to_owned());
        }
        if handle.built.borrow().is_none() {
            return Err("the source is not complete yet".to_owned());
        }
        if !handle.ready() {
            return Err("nginx has not confirmed a first configuration yet".to_owned());
        }
        Ok(())
    };
    Health {
        checks: vec![Check { name: "ping", run: Box::new(|| Ok(())) }, Check { name: "nginx-ingress-controller", run: Box::new(serving) }],
    }
}

/// Whether this process serves what it should, check by check.
pub(super) fn readiness(handle: Handle, stopping: Arc<AtomicBool>, answer: watch::Receiver<Answer>) -> Readiness {
    let check = |name, run: Box<dyn Fn() -> Finding + Send + Sync>| ReadinessCheck { name, run };
    let (source, fixed, live) = (handle.clone(), handle.clone(), handle);
    Readiness(vec![
        check(
            "process",
            Box::new(move || if stopping.load(Ordering::Relaxed) { failed("the controller is stopping") } else { Finding::Sound }),
        ),
        check(
            "source",
            Box::new(move || if source.built.borrow().is_none() { failed("the source is not complete yet") } else { Finding::Sound }),
        ),
        check("configuration", Box::new(move || configuration(&fixed))),
        check("records", Box::new(move || records(&live))),
        check("nginx", Box::new(move || answer.borrow().finding())),
    ])
}

fn failed(reason: &str) -> Finding {
    Finding::Failed(reason.to_owned())
}

fn configuration(handle: &Handle) -> Finding {
    let fault = handle.fault.borrow().clone();
    match fault {
        Some(fault) if handle.loaded.borrow().starts == 0 => Finding::Failed(fault),
        // What runs is the last known good configuration.
        Some(fault) => Finding::Degraded(fault),
        None if handle.loaded.borrow().starts == 0 => failed("nginx was not started yet"),
        None => {
            let quarantined = handle.built.borrow().as_ref().map_or(0, |built| built.quarantined.len() + built.refused_keys.len());
            if quarantined == 0 {
                Finding::Sound
            } else {
                Finding::Degraded(format!("{quarantined} Ingresses or settings are quarantined"))
            }
        }
    }
}

fn records(handle: &Handle) -> Finding {
    let live = handle.live.borrow();
    if !live.synced {
        return failed("nginx does not hold the routes and endpoints yet");
    }
    let hosts = handle.built.borrow().as_ref().map_or(0, |built| built.model.live.hosts.len());
    let (held, without_room) = (live.held, live.without_room.len());
    if held + without_room == 0 {
        return Finding::Sound;
    }
    let reason = format!("of {hosts} hosts {held} wait for a reload, and {without_room} records find no room in nginx");
    if without_room * MOST_HELD > hosts.max(MOST_HELD) { Finding::Failed(reason) } else { Finding::Degraded(reason) }
}
