//! The endpoints of one Service port out of its EndpointSlices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::key::BackendPort;
use crate::object::{EndpointSlice, Protocol, Service, ServicePort, SliceEndpoint, Target};

/// The Service port that an Ingress means: the first whose number, target port or name equals the reference.
pub(crate) fn service_port<'a>(service: &'a Service, wanted: &BackendPort) -> Option<&'a ServicePort> {
    service.ports.iter().find(|port| {
        port.protocol == Protocol::Tcp
            && match wanted {
                BackendPort::First => true,
                BackendPort::Number(number) => {
                    port.port == i32::from(*number) || matches!(port.target, Target::Number(target) if target == i32::from(*number))
                }
                BackendPort::Name(name) => {
                    port.name.as_deref() == Some(name) || matches!(&port.target, Target::Name(target) if **target == **name)
                }
            }
    })
}

/// The Service port that a TCP or UDP service means: by its number, which is not that of its target, or its name.
pub(crate) fn stream_port<'a>(service: &'a Service, wanted: &BackendPort, protocol: Protocol) -> Option<&'a ServicePort> {
    service.ports.iter().filter(|port| port.protocol == protocol).find(|port| match wanted {
        BackendPort::First => true,
        BackendPort::Number(number) => port.port == i32::from(*number),
        BackendPort::Name(name) => port.name.as_deref() == Some(name),
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
    let ready = collect(port, slices.clone(), &hints, |endpoint| endpoint.ready);
    if ready.is_empty() { collect(port, slices, &hints, |endpoint| endpoint.lingering) } else { ready }
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
            found.extend(numbers.iter().map(|number| (endpoint.address, *number)));
        }
    }
    found
}

/// Port numbers of a slice that belong to a Service port.
fn port_numbers(port: &ServicePort, slice: &EndpointSlice) -> Vec<u16> {
    let wanted = port.name.as_deref().unwrap_or_default();
    let ours = slice.ports.iter().filter(|of_slice| of_slice.protocol == port.protocol);
    let matching: Vec<u16> = ours.filter(|port| wanted.is_empty() || *port.name == *wanted).map(|port| port.number).collect();
    if !matching.is_empty() {
        return matching;
    }
    let target = match port.target {
        Target::Same => port.port,
        Target::Number(number) => number,
        Target::Name(_) => return Vec::new(),
    };
    u16::try_from(target).into_iter().collect()
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
        let Some(zone) = zone.filter(|_| service.prefers_zone) else { return Self { zone: None } };
        let mut any_ours = false;
        for endpoint in slices.flat_map(|slice| &slice.endpoints) {
            if endpoint.zones.is_empty() {
                return Self { zone: None };
            }
            any_ours |= endpoint.ready && hinted(endpoint, zone);
        }
        Self { zone: any_ours.then_some(zone) }
    }

    fn allows(&self, endpoint: &SliceEndpoint) -> bool {
        self.zone.is_none_or(|zone| hinted(endpoint, zone))
    }
}

fn hinted(endpoint: &SliceEndpoint, zone: &str) -> bool {
    endpoint.zones.iter().any(|hinted| **hinted == *zone)
}
