//! Limits of requests and connections.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::Location;
use crate::live::wire::FromSettings;
use crate::live::{Limits, Policy};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let (spec, config) = (&location.given.spec, location.config);
    let record = Limits::of(spec, config);
    if record != Limits::default() {
        let limits = &spec.limits;
        let limit_burst_multiplier = limits.limit_burst_multiplier.map_or(record.limit_burst_multiplier, NonZeroU32::get);
        let limit_allowlist = limits.limit_allowlist.iter().flat_map(|set| set.iter()).map(|range| range.to_string().into()).collect();
        policy.limits = Some(Arc::new(Limits { limit_burst_multiplier, limit_allowlist, ..record }));
    }
}
