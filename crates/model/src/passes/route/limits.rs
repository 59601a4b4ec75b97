//! Limits of requests, connections and bandwidth.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::{Location, differing};
use crate::live::{Limits, Policy};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let limits = &location.entry.spec.limits;
    let record = Limits {
        limit_connections: limits.connections.map(NonZeroU32::get),
        limit_rps: limits.rps.map(NonZeroU32::get),
        limit_rpm: limits.rpm.map(NonZeroU32::get),
        ..Limits::default()
    };
    if record != Limits::default() {
        let limit_burst_multiplier = limits.burst_multiplier.map_or(record.limit_burst_multiplier, NonZeroU32::get);
        let limit_allowlist = limits.allow.iter().flat_map(|set| set.iter()).map(|range| range.to_string().into()).collect();
        policy.limits = Some(Arc::new(Limits { limit_burst_multiplier, limit_allowlist, ..record }));
    }

    let global = &location.config.answers;
    policy.limit_rate = differing(limits.rate_kib, global.limit_rate);
    policy.limit_rate_after = differing(limits.rate_after_kib, global.limit_rate_after);
}
