//! Limits of one location, and the zones that count.

use std::collections::BTreeMap;
use std::sync::Arc;

use annotations::Config;
use model::{Limits, Model, Route};
use serde::Serialize;

use crate::RenderError;
use crate::print::Printed;

/// What `equivalent/limits.conf` prints in a location.
#[derive(Serialize)]
pub(super) struct LimitsView {
    connections: Option<Limit>,
    requests: Vec<Limit>,
    rate: Option<Printed>,
    rate_after: Option<Printed>,
}

#[derive(Serialize)]
struct Limit {
    zone: Printed,
    /// Concurrent requests, or the burst.
    number: u32,
}

impl LimitsView {
    pub(super) fn new(config: &Config, route: &Route) -> Result<Self, RenderError> {
        let rate = route.limit_rate.unwrap_or(config.limits.limit_rate);
        let after = route.limit_rate_after.unwrap_or(config.limits.limit_rate_after);
        let positive = |kib: u32| (kib > 0).then(|| Printed::size_kib(kib));
        let none = Limits::default();
        let limits = route.limits.as_deref().unwrap_or(&none);
        let limit = |kind: &str, number: u32| Ok::<_, RenderError>(Limit { zone: Printed::word(zone(route, kind))?, number });
        let requests = [("rps", limits.limit_rps), ("rpm", limits.limit_rpm)];
        let burst = |rate: u32| rate.saturating_mul(limits.limit_burst_multiplier);
        Ok(Self {
            connections: limits.limit_connections.map(|connections| limit("conn", connections)).transpose()?,
            requests: requests.into_iter().filter_map(|(kind, rate)| Some(limit(kind, burst(rate?)))).collect::<Result<_, _>>()?,
            rate: positive(rate),
            rate_after: positive(after),
        })
    }
}

/// Unambiguous, as names of Kubernetes hold no underscore.
fn zone(route: &Route, kind: &str) -> String {
    format!("{}_{}_{kind}", route.namespace, route.ingress)
}

/// What `equivalent/zones.conf` prints in the `http` block.
#[derive(Serialize)]
pub(in crate::equivalent) struct ZonesView {
    ingresses: Vec<ZoneView>,
}

/// The zones of one Ingress.
#[derive(Serialize)]
struct ZoneView {
    /// Tells its variables from those of others.
    number: usize,
    allow: Vec<Printed>,
    /// What is counted by, and the same for clients outside of the allow list.
    key: Printed,
    limited_key: Printed,
    connections: Option<Printed>,
    requests: Vec<Rate>,
}

#[derive(Serialize)]
struct Rate {
    zone: Printed,
    rate: Printed,
}

impl ZonesView {
    pub(in crate::equivalent) fn new(model: &Model) -> Result<Self, RenderError> {
        let routes = model.live.hosts.values().flat_map(|record| record.routes.iter());
        let limited = routes.filter_map(|route| Some(((&route.namespace, &route.ingress), (route, route.limits.as_deref()?))));
        let limited: BTreeMap<_, _> = limited.collect();
        let key = &model.fixed.globals.config.limits.limit_conn_zone_variable;
        let view =
            |(number, (route, limits)): (usize, (&Arc<Route>, &Limits))| ZoneView::new(number, route, limits, Printed::template(key));
        Ok(Self { ingresses: limited.into_values().enumerate().map(view).collect::<Result<_, _>>()? })
    }
}

impl ZoneView {
    fn new(number: usize, route: &Route, limits: &Limits, key: Printed) -> Result<Self, RenderError> {
        let name = |kind: &str| Printed::word(zone(route, kind));
        let rate = |kind: &str, unit: char, rate: u32| {
            Ok::<_, RenderError>(Rate { zone: name(kind)?, rate: Printed::word(format!("{rate}r/{unit}"))? })
        };
        let rates = [("rps", 's', limits.limit_rps), ("rpm", 'm', limits.limit_rpm)];
        let limited_key =
            if limits.limit_allowlist.is_empty() { key.clone() } else { Printed::variable(&format!("narthex_limit_key_{number}"))? };
        Ok(Self {
            number,
            allow: limits.limit_allowlist.iter().map(Printed::word).collect::<Result<_, _>>()?,
            key,
            limited_key,
            connections: limits.limit_connections.map(|_| name("conn")).transpose()?,
            requests: rates.into_iter().filter_map(|(kind, unit, given)| Some(rate(kind, unit, given?))).collect::<Result<_, _>>()?,
        })
    }
}
