//! Answers to the probes of a kubelet: whether a restart helps, and whether traffic should come here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cluster::{FeedStatus, Kind, SourceStatus};
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
pub(super) fn readiness(
    handle: Handle,
    stopping: Arc<AtomicBool>,
    answer: watch::Receiver<Answer>,
    feeds: Option<watch::Receiver<SourceStatus>>,
) -> Readiness {
    let check = |name, run: Box<dyn Fn() -> Finding + Send + Sync>| ReadinessCheck { name, run };
    let (source, fixed, live) = (handle.clone(), handle.clone(), handle);
    Readiness(vec![
        check(
            "process",
            Box::new(move || if stopping.load(Ordering::Relaxed) { failed("the controller is stopping") } else { Finding::Sound }),
        ),
        check(
            "source",
            Box::new(move || {
                let trouble = feeds.as_ref().and_then(|feeds| unwatched(&feeds.borrow()));
                watching(source.built.borrow().is_some(), trouble)
            }),
        ),
        check("configuration", Box::new(move || configuration(&fixed))),
        check("records", Box::new(move || records(&live))),
        check("nginx", Box::new(move || answer.borrow().finding())),
    ])
}

fn watching(complete: bool, trouble: Option<String>) -> Finding {
    match (complete, trouble) {
        (true, None) => Finding::Sound,
        // Every replica is cut off from the API server at the same time: what is known stays in use.
        (true, Some(trouble)) => Finding::Degraded(trouble),
        (false, None) => failed("the source is not complete yet"),
        (false, Some(trouble)) => Finding::Failed(format!("the source is not complete yet: {trouble}")),
    }
}

/// What can't be watched, and why. IngressClasses are optional: an installation in one namespace has no right to list them.
fn unwatched(status: &SourceStatus) -> Option<String> {
    let optional = |feed: &FeedStatus| feed.forbidden && feed.kind == Kind::IngressClass;
    let failing = status.feeds.iter().filter(|feed| feed.error.is_some() && !optional(feed));
    let kinds: BTreeSet<&str> = failing.clone().map(|feed| feed.kind.name()).collect();
    let first = failing.min_by_key(|feed| feed.since)?;
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    let error = first.error.as_deref().unwrap_or_default();
    Some(format!("{kinds} can't be watched since {}: {error}", first.since.strftime("%FT%TZ")))
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
    if !live.synced() {
        return failed("nginx does not hold the routes and endpoints yet");
    }
    let built = handle.built.borrow();
    let (hosts, over) = built.as_ref().map_or((0, 0), |built| (built.model.live.hosts.len(), built.usage.held));
    let (held, without_room) = (live.held(), live.without_room());
    if held + without_room + over == 0 {
        return Finding::Sound;
    }
    // What is beyond the share of a namespace is that namespace's problem.
    let reason = format!(
        "of {hosts} hosts {held} wait for a reload, {without_room} records find no room in nginx, \
         and {over} Ingresses, Secrets and Services are beyond the share of their namespace"
    );
    if without_room * MOST_HELD > hosts.max(MOST_HELD) { Finding::Failed(reason) } else { Finding::Degraded(reason) }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn feed(kind: Kind, error: Option<&str>, forbidden: bool) -> FeedStatus {
        let since = Timestamp::from_second(if forbidden { 1 } else { 2 }).unwrap();
        FeedStatus { kind, scope: "everywhere".into(), initialised: true, forbidden, objects: 1, error: error.map(Into::into), since }
    }

    fn trouble(feeds: Vec<FeedStatus>) -> Option<String> {
        unwatched(&SourceStatus { feeds, ..Default::default() })
    }

    #[test]
    fn what_cannot_be_watched_degrades_and_names_kinds_time_and_error() {
        let refused = Some("connection refused");
        let found =
            trouble(vec![feed(Kind::Service, refused, false), feed(Kind::Ingress, refused, false), feed(Kind::Secret, None, false)]);
        let reason = "Ingress, Service can't be watched since 1970-01-01T00:00:02Z: connection refused";
        assert_eq!(watching(true, found.clone()), Finding::Degraded(reason.to_owned()));
        assert_eq!(watching(false, found), Finding::Failed(format!("the source is not complete yet: {reason}")));
    }

    #[test]
    fn a_missing_right_to_ingress_classes_alone_is_sound() {
        let classes = || feed(Kind::IngressClass, Some("forbidden"), true);
        assert_eq!(watching(true, trouble(vec![classes()])), Finding::Sound);
        assert!(trouble(vec![classes(), feed(Kind::Ingress, Some("gone"), false)]).unwrap().starts_with("Ingress can't"));
    }
}
