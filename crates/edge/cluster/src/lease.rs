//! The decision about leadership, without I/O.
//!
//! The rules of client-go, so that replicas of either make agree. A lease is read as "a replica holds this, and it changed when *I* last saw it change":
//! the clocks of two machines are never compared. It may be taken when it has no holder, or when it has not changed for as long as it says it lasts.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

/// The observed state of the lease.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    spec: Option<LeaseSpec>,
    changed: Option<Instant>,
}

/// The step to take about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Write this: it makes us the leader, or keeps us.
    Write(LeaseSpec),
    /// Another replica leads, for this long unless it renews.
    Wait(Duration),
}

impl Observed {
    /// Takes what the server holds now; `None` when there is no lease.
    pub(crate) fn observe(&mut self, spec: Option<LeaseSpec>, now: Instant) {
        if self.spec != spec || self.changed.is_none() {
            self.spec = spec;
            self.changed = Some(now);
        }
    }

    /// Decides for `me`. `wall` is what is written as the time.
    pub(crate) fn decide(&self, me: &str, ttl: Duration, now: Instant, wall: MicroTime) -> Step {
        let held = self.spec.clone().unwrap_or_default();
        let seconds = i32::try_from(ttl.as_secs().max(1)).unwrap_or(i32::MAX);
        let holder = held.holder_identity.as_deref().unwrap_or_default();
        if holder == me {
            return Step::Write(LeaseSpec {
                acquire_time: held.acquire_time.or_else(|| Some(wall.clone())),
                renew_time: Some(wall),
                lease_duration_seconds: Some(seconds),
                ..held
            });
        }
        if !holder.is_empty() {
            let lasts = held.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).map_or(ttl, Duration::from_secs);
            let ends = self.changed.map_or(now, |changed| changed + lasts);
            if ends > now {
                return Step::Wait(ends - now);
            }
        }
        let transitions = held.lease_transitions.unwrap_or(0).saturating_add(i32::from(self.spec.is_some()));
        Step::Write(LeaseSpec {
            holder_identity: Some(me.to_owned()),
            acquire_time: Some(wall.clone()),
            renew_time: Some(wall),
            lease_duration_seconds: Some(seconds),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        })
    }

    /// The lease to write on exit so that another replica takes over at once; `None` when the lease is not ours.
    pub(crate) fn release(&self, me: &str, wall: MicroTime) -> Option<LeaseSpec> {
        let held = self.spec.clone().filter(|held| held.holder_identity.as_deref() == Some(me))?;
        Some(LeaseSpec { holder_identity: Some(String::new()), renew_time: Some(wall), lease_duration_seconds: Some(1), ..held })
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn wall() -> MicroTime {
        MicroTime(Timestamp::UNIX_EPOCH)
    }

    fn lease(holder: &str, renewed: i64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.into()),
            lease_duration_seconds: Some(30),
            lease_transitions: Some(4),
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            ..LeaseSpec::default()
        }
    }

    #[track_caller]
    fn written(step: Step) -> (String, i32) {
        let Step::Write(spec) = step else { panic!("{step:?}") };
        assert_eq!((spec.renew_time, spec.lease_duration_seconds), (Some(wall()), Some(30)));
        (spec.holder_identity.unwrap(), spec.lease_transitions.unwrap_or(-1))
    }

    #[test]
    fn a_lease_that_no_replica_holds_is_taken() {
        let now = Instant::now();
        let mut observed = Observed::default();
        observed.observe(None, now);
        assert_eq!(written(observed.decide("a", TTL, now, wall())), ("a".into(), 0));
        observed.observe(Some(lease("", 1)), now);
        assert_eq!(written(observed.decide("a", TTL, now, wall())), ("a".into(), 5));
    }

    #[test]
    fn our_own_lease_is_renewed_without_a_transition() {
        let now = Instant::now();
        let mut observed = Observed::default();
        observed.observe(Some(lease("a", 1)), now);
        assert_eq!(written(observed.decide("a", TTL, now, wall())), ("a".into(), 4));
    }

    #[test]
    fn anothers_lease_is_taken_only_when_it_stood_still_for_its_duration() {
        let now = Instant::now();
        let mut observed = Observed::default();
        observed.observe(Some(lease("b", 1)), now);
        assert_eq!(observed.decide("a", TTL, now, wall()), Step::Wait(TTL));
        let later = now + Duration::from_secs(20);
        observed.observe(Some(lease("b", 2)), later);
        assert_eq!(observed.decide("a", TTL, later, wall()), Step::Wait(TTL));
        let still = later + Duration::from_secs(29);
        observed.observe(Some(lease("b", 2)), still);
        assert_eq!(observed.decide("a", TTL, still, wall()), Step::Wait(Duration::from_secs(1)));
        assert_eq!(written(observed.decide("a", TTL, later + TTL, wall())), ("a".into(), 5));
    }

    #[test]
    fn only_our_own_lease_is_released() {
        let mut observed = Observed::default();
        observed.observe(Some(lease("b", 1)), Instant::now());
        assert_eq!(observed.release("a", wall()), None);
        assert_eq!(observed.release("b", wall()).unwrap().holder_identity.as_deref(), Some(""));
    }
}
