//! EndpointSlices.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::discovery::v1;

use super::{Protocol, text};

const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// What is read of an EndpointSlice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointSlice {
    /// `metadata.uid`.
    pub uid: Option<Box<str>>,
    /// The Service that it belongs to, by its label; its own name means nothing.
    pub service: Option<Arc<str>>,
    /// The TCP and UDP ports with a number, in their order.
    pub ports: Box<[SlicePort]>,
    /// One for each address, in their order. Names of hosts (`addressType: FQDN`) are not kept.
    pub endpoints: Box<[SliceEndpoint]>,
}

/// A port of all endpoints of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlicePort {
    /// `name`; empty when it has none.
    pub name: Box<str>,
    /// `port`.
    pub number: u16,
    /// `protocol`: TCP or UDP.
    pub protocol: Protocol,
}

/// One address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceEndpoint {
    /// The address.
    pub address: IpAddr,
    /// `conditions.ready`, true when it is not given.
    pub ready: bool,
    /// It terminates and still serves.
    pub lingering: bool,
    /// `hints.forZones`. Empty: it has no hint.
    pub zones: Box<[Box<str>]>,
}

impl From<v1::EndpointSlice> for EndpointSlice {
    fn from(object: v1::EndpointSlice) -> Self {
        let service = object.metadata.labels.and_then(|mut labels| labels.remove(SERVICE_LABEL));
        let ports = object.ports.into_iter().flatten().filter_map(|port| {
            let number = u16::try_from(port.port?).ok()?;
            let protocol = Protocol::of(port.protocol.as_deref());
            (protocol != Protocol::Other).then(|| SlicePort { name: port.name.unwrap_or_default().into(), number, protocol })
        });
        Self {
            uid: text(object.metadata.uid),
            service: service.map(Arc::from),
            ports: ports.collect(),
            endpoints: object.endpoints.into_iter().flat_map(endpoints).collect(),
        }
    }
}

fn endpoints(endpoint: v1::Endpoint) -> impl Iterator<Item = SliceEndpoint> {
    let conditions = endpoint.conditions.unwrap_or_default();
    // Both are to be read as true when they are not given, and "serving" as "ready".
    let ready = conditions.ready != Some(false);
    let lingering = conditions.terminating == Some(true) && conditions.serving.unwrap_or(ready);
    let zones = endpoint.hints.and_then(|hints| hints.for_zones).unwrap_or_default();
    let zones: Box<[Box<str>]> = zones.into_iter().map(|zone| zone.name.into_boxed_str()).collect();
    let addresses = endpoint.addresses.into_iter().filter_map(|address| address.parse().ok());
    addresses.map(move |address| SliceEndpoint { address, ready, lingering, zones: zones.clone() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read_is_kept() {
        let slice: v1::EndpointSlice = serde_json::from_value(json!({
            "metadata": {"name": "shop-1", "uid": "u", "labels": {SERVICE_LABEL: "shop", "app": "shop"}},
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "any"}, {"port": 81}],
            "endpoints": [
                {"addresses": ["10.1.0.1", "10.1.0.2"], "nodeName": "n", "hints": {"forZones": [{"name": "a"}, {"name": "b"}]}},
                {"addresses": ["10.1.0.3"], "conditions": {"ready": false, "serving": true, "terminating": true}},
                {"addresses": ["10.1.0.4"], "conditions": {"ready": false, "terminating": true}},
                {"addresses": ["pod.example.com"]},
            ],
        }))
        .unwrap();
        let slice = EndpointSlice::from(slice);
        assert_eq!((slice.uid.as_deref(), slice.service.as_deref()), (Some("u"), Some("shop")));
        let port = |name: &str, number, protocol| SlicePort { name: name.into(), number, protocol };
        assert_eq!(*slice.ports, [port("http", 8080, Protocol::Tcp), port("dns", 53, Protocol::Udp), port("", 81, Protocol::Tcp)]);
        let seen: Vec<String> = slice
            .endpoints
            .iter()
            .map(|endpoint| format!("{} {} {} {}", endpoint.address, endpoint.ready, endpoint.lingering, endpoint.zones.join("+")))
            .collect();
        assert_eq!(seen, ["10.1.0.1 true false a+b", "10.1.0.2 true false a+b", "10.1.0.3 false true ", "10.1.0.4 false false "]);
        assert!(size_of::<EndpointSlice>() <= 64 && size_of::<SliceEndpoint>() <= 40);
    }
}
