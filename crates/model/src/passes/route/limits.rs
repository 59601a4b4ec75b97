//! Limits of requests, connections and bandwidth.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::Location;
use crate::live::{Limits, Route};

pub(super) fn apply(location: &Location<'_>, route: &mut Route) {
    let limits = &location.entry.spec.limits;
    let rate = |rate: Option<NonZeroU32>| rate.map(|rate| [rate.get(), limits.burst(rate)]);
    let record = Limits {
        connections: limits.connections.map(NonZeroU32::get),
        per_second: rate(limits.rps),
        per_minute: rate(limits.rpm),
        allow: Vec::new(),
    };
    if record != Limits::default() {
        let allow = limits.allow.iter().flat_map(|set| set.iter()).map(|range| range.to_string().into()).collect();
        route.limits = Some(Arc::new(Limits { allow, ..record }));
    }

    let global = &location.config.answers;
    let global = [global.limit_rate, global.limit_rate_after];
    let bandwidth = [limits.rate_kib.unwrap_or(global[0]), limits.rate_after_kib.unwrap_or(global[1])];
    route.bandwidth_kib = (bandwidth != global).then_some(bandwidth);
}
