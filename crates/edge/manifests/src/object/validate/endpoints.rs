//! EndpointSlice.

use std::net::{Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::super::names::{is_label, is_subdomain};
use super::{Check, Refusals, is_port};

impl Check for EndpointSlice {
    fn check(&self, refusals: &mut Refusals) {
        let good: fn(&str) -> bool = match self.address_type.as_str() {
            "IPv4" => |text| text.parse::<Ipv4Addr>().is_ok(),
            "IPv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
            "FQDN" => is_subdomain,
            "" => return refusals.add("addressType", "not given: expected IPv4, IPv6 or FQDN"),
            other => return refusals.add("addressType", format!("{other:?} is none of IPv4, IPv6 and FQDN")),
        };
        for (at, endpoint) in self.endpoints.iter().enumerate() {
            let field = || format!("endpoints[{at}].addresses");
            refusals.require(!endpoint.addresses.is_empty(), field, || "at least one address is required".into());
            for (number, address) in endpoint.addresses.iter().enumerate() {
                let field = || format!("endpoints[{at}].addresses[{number}]");
                refusals.require(good(address), field, || format!("{address:?} is not an address of type {}", self.address_type));
            }
        }
        for (at, port) in self.ports.iter().flatten().enumerate() {
            let number = port.port;
            refusals.require(
                number.is_none_or(is_port),
                || format!("ports[{at}].port"),
                || format!("{} is not between 1 and 65535", number.unwrap_or_default()),
            );
            let name = port.name.as_deref().unwrap_or_default();
            refusals.require(
                name.is_empty() || is_label(name),
                || format!("ports[{at}].name"),
                || format!("{name:?} is not the name of a port: expected a DNS label"),
            );
        }
    }
}
