//! The addresses that Ingress status holds: where clients reach us.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Service;
use thiserror::Error;

/// One address of a load balancer (`status.loadBalancer.ingress[]` of an Ingress); ports are not looked at.
///
/// Ordered by host name, then IP, which is the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// `hostname`; empty when absent.
    pub hostname: String,
    /// `ip`; empty when absent.
    pub ip: String,
}

/// A piece of `--publish-status-address` that is neither an IP address nor a host name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("--publish-status-address: {value:?} is neither an IP address nor a host name")]
pub struct InvalidAddress {
    /// The piece.
    pub value: String,
}

impl Address {
    /// An IP address.
    pub fn ip(ip: impl Into<String>) -> Self {
        Self { hostname: String::new(), ip: ip.into() }
    }

    /// A host name.
    pub fn hostname(hostname: impl Into<String>) -> Self {
        Self { hostname: hostname.into(), ip: String::new() }
    }

    /// An IP address if it is one, else a host name.
    fn of_text(text: &str) -> Self {
        if text.parse::<IpAddr>().is_ok() { Self::ip(text) } else { Self::hostname(text) }
    }
}

/// Parses `--publish-status-address`: separated by commas and optional spaces. Sorted, without duplicates.
///
/// # Errors
///
/// The first piece that the API server would refuse in a status.
pub fn parse_addresses(text: &str) -> Result<Vec<Address>, InvalidAddress> {
    let pieces = text.split(',').map(str::trim).filter(|piece| !piece.is_empty());
    let addresses = pieces.map(|piece| {
        let valid = piece.parse::<IpAddr>().is_ok() || is_hostname(piece);
        valid.then(|| Address::of_text(piece)).ok_or_else(|| InvalidAddress { value: piece.to_owned() })
    });
    Ok(sorted(addresses.collect::<Result<_, _>>()?))
}

/// The addresses at which a Service (`--publish-service`) is reached. Sorted, without duplicates; empty while it has none.
pub(crate) fn of_service(service: &Service) -> Vec<Address> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let cluster_ip = spec.cluster_ip.as_deref().filter(|ip| !ip.is_empty() && *ip != "None");
    let external = || spec.external_ips.iter().flatten().map(Address::ip);
    sorted(match spec.type_.as_deref() {
        Some("ExternalName") => spec.external_name.iter().map(|name| Address::of_text(name)).collect(),
        Some("NodePort") => match external().collect::<Vec<_>>() {
            external if external.is_empty() => cluster_ip.map(Address::ip).into_iter().collect(),
            external => external,
        },
        Some("LoadBalancer") => {
            let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
            let assigned = balancer
                .iter()
                .flat_map(|balancer| balancer.ingress.iter().flatten())
                .map(|entry| Address { hostname: entry.hostname.clone().unwrap_or_default(), ip: entry.ip.clone().unwrap_or_default() });
            let mut addresses: Vec<Address> = assigned.filter(|address| !(address.ip.is_empty() && address.hostname.is_empty())).collect();
            for address in external() {
                if !addresses.iter().any(|known| known.ip == address.ip) {
                    addresses.push(address);
                }
            }
            addresses
        }
        _ => cluster_ip.map(Address::ip).into_iter().collect(),
    })
}

/// The addresses in the order of writing, without duplicates.
pub(crate) fn sorted(mut addresses: Vec<Address>) -> Vec<Address> {
    addresses.sort();
    addresses.dedup();
    addresses
}

/// RFC 1123: what the API server takes for `hostname`.
fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        !label.is_empty() && label.len() <= 63 && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(service: serde_json::Value, expected: &[Address]) {
        let service: Service = serde_json::from_value(service).unwrap();
        assert_eq!(of_service(&service), expected);
    }

    #[test]
    fn each_type_of_service_has_its_addresses() {
        let ip = Address::ip;
        check(json!({"spec": {"type": "ExternalName", "externalName": "lb.example"}}), &[Address::hostname("lb.example")]);
        check(json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1"}}), &[ip("10.0.0.1")]);
        check(json!({"spec": {"clusterIP": "None"}}), &[]);
        check(json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.1"}}), &[ip("10.0.0.1")]);
        check(json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "externalIPs": ["b", "a"]}}), &[ip("a"), ip("b")]);
    }

    #[test]
    fn a_load_balancer_gives_what_it_was_assigned_and_external_ips_not_yet_listed() {
        check(
            json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "externalIPs": ["192.0.2.1", "192.0.2.9"]},
                "status": {"loadBalancer": {"ingress": [{"hostname": "lb.example"}, {"ip": "192.0.2.1"}]}}}),
            &[Address::ip("192.0.2.1"), Address::ip("192.0.2.9"), Address::hostname("lb.example")],
        );
        check(json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}}), &[]);
    }

    #[test]
    fn the_flag_takes_ips_and_host_names() {
        let parsed = parse_addresses(" lb.example, 192.0.2.1,2001:db8::1,,192.0.2.1").unwrap();
        assert_eq!(parsed, [Address::ip("192.0.2.1"), Address::ip("2001:db8::1"), Address::hostname("lb.example")]);
        assert_eq!(parse_addresses("a b").unwrap_err().value, "a b");
    }
}
