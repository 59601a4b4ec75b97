//! The endpoints of one Service port out of its EndpointSlices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint as SliceEndpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::key::BackendPort;

/// The Service port that an Ingress means: the first whose number, target port or name equals the reference.
pub(crate) fn service_port<'a>(service: &'a Service, wanted: &BackendPort) -> Option<&'a ServicePort> {
    let ports = service.spec.as_ref()?.ports.as_deref()?;
    ports.iter().find(|port| {
        let tcp = port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP");
        tcp && match wanted {
            BackendPort::First => true,
            BackendPort::Number(number) => {
                port.port == i32::from(*number)
                    || matches!(&port.target_port, Some(IntOrString::Int(target)) if *target == i32::from(*number))
            }
            BackendPort::Name(name) => {
                port.name.as_deref() == Some(name) || matches!(&port.target_port, Some(IntOrString::String(target)) if **target == **name)
            }
        }
    })
}

/// Addresses and ports of a Service port, ordered, without duplicates, all address families together.
///
/// Ready endpoints; where there is none, those that terminate and still serve (KEP-1669), so that a rollout of a single
/// pod has no gap. With `zone`, topology hints are honoured.
pub(crate) fn resolve<'a>(
    service: &Service,
    port: &ServicePort,
    slices: impl Iterator<Item = &'a EndpointSlice> + Clone,
    zone: Option<&str>,
) -> BTreeSet<(IpAddr, u16)> {
    let hints = Hints::new(service, slices.clone(), zone);
    let ready = collect(port, slices.clone(), &hints, |endpoint| condition(endpoint).0);
    if ready.is_empty() { collect(port, slices, &hints, |endpoint| condition(endpoint).1) } else { ready }
}

/// (ready, terminating but serving)
fn condition(endpoint: &SliceEndpoint) -> (bool, bool) {
    let Some(conditions) = &endpoint.conditions else { return (true, false) };
    let terminating = conditions.terminating == Some(true);
    // `serving` unset means "as ready" (API: nil is to be read as ready).
    let serving = conditions.serving.unwrap_or(conditions.ready != Some(false));
    (conditions.ready != Some(false), terminating && serving)
}

fn collect<'a>(
    port: &ServicePort,
    slices: impl Iterator<Item = &'a EndpointSlice>,
    hints: &Hints<'_>,
    usable: impl Fn(&SliceEndpoint) -> bool,
) -> BTreeSet<(IpAddr, u16)> {
    let mut found = BTreeSet::new();
    for slice in slices {
        let numbers = port_numbers(port, slice);
        for endpoint in slice.endpoints.iter().filter(|endpoint| usable(endpoint) && hints.allows(endpoint)) {
            for address in endpoint.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok()) {
                found.extend(numbers.iter().map(|number| (address, *number)));
            }
        }
    }
    found
}

/// Port numbers of a slice that belong to a Service port.
fn port_numbers(port: &ServicePort, slice: &EndpointSlice) -> Vec<u16> {
    let numeric_target = match &port.target_port {
        Some(IntOrString::Int(number)) => u16::try_from(*number).ok(),
        None => u16::try_from(port.port).ok(),
        Some(IntOrString::String(_)) => None,
    };
    let ports = slice.ports.as_deref().unwrap_or_default();
    if ports.is_empty() {
        return numeric_target.into_iter().collect();
    }
    let tcp = ports.iter().filter(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"));
    let wanted = port.name.as_deref().unwrap_or_default();
    let matching: Vec<u16> = tcp
        .filter(|port| wanted.is_empty() || port.name.as_deref().unwrap_or_default() == wanted)
        .filter_map(|port| u16::try_from(port.port?).ok())
        .collect();
    if matching.is_empty() { numeric_target.into_iter().collect() } else { matching }
}

/// Topology-aware routing: only endpoints hinted for our zone, when the Service asks for it and every endpoint has a hint.
///
/// Decided over all slices of the Service together, and given up when nothing would be left: a Service never loses all
/// its endpoints to its hints.
struct Hints<'a> {
    zone: Option<&'a str>,
}

impl<'a> Hints<'a> {
    fn new<'s>(service: &Service, slices: impl Iterator<Item = &'s EndpointSlice>, zone: Option<&'a str>) -> Self {
        let Some(zone) = zone.filter(|_| wants_hints(service)) else { return Self { zone: None } };
        let mut any_ours = false;
        for endpoint in slices.flat_map(|slice| &slice.endpoints) {
            match zones(endpoint) {
                Some(mut zones) => any_ours |= zones.any(|hinted| hinted == zone) && endpoint_is_ready(endpoint),
                None => return Self { zone: None },
            }
        }
        Self { zone: any_ours.then_some(zone) }
    }

    fn allows(&self, endpoint: &SliceEndpoint) -> bool {
        self.zone.is_none_or(|zone| zones(endpoint).is_some_and(|mut zones| zones.any(|hinted| hinted == zone)))
    }
}

fn endpoint_is_ready(endpoint: &SliceEndpoint) -> bool {
    condition(endpoint).0
}

fn zones(endpoint: &SliceEndpoint) -> Option<impl Iterator<Item = &str>> {
    let zones = endpoint.hints.as_ref()?.for_zones.as_deref().filter(|zones| !zones.is_empty())?;
    Some(zones.iter().map(|zone| zone.name.as_str()))
}

fn wants_hints(service: &Service) -> bool {
    let annotation = |key: &str| service.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key));
    let mode = annotation("service.kubernetes.io/topology-mode").or_else(|| annotation("service.kubernetes.io/topology-aware-hints"));
    let distribution = service.spec.as_ref().and_then(|spec| spec.traffic_distribution.as_deref());
    mode.is_some_and(|mode| mode.eq_ignore_ascii_case("auto")) || matches!(distribution, Some("PreferClose" | "PreferSameZone"))
}
