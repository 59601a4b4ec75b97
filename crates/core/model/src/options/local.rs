//! Where requests must not go: addresses that no Pod has, and what the controller itself listens on.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ngx_value::local_address;

/// Addresses that tenants may not name as endpoints, ExternalNames, authentication services and mirrors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalEndpoints {
    /// All are allowed: `--allow-local-endpoints`, or a directory, whose author is the administrator.
    pub allowed: bool,
    /// Addresses of this machine or Pod, as far as a Pod can have them.
    pub own: BTreeSet<IpAddr>,
    /// Ports of it that are for operators.
    pub control_ports: BTreeSet<u16>,
}

impl LocalEndpoints {
    /// What is wrong with an address, where anything is. `port`: `None` where it is not known.
    pub fn refusal(&self, address: IpAddr, port: Option<u16>) -> Option<&'static str> {
        if self.allowed {
            return None;
        }
        let is_control = || self.own.contains(&address.to_canonical()) && port.is_some_and(|port| self.control_ports.contains(&port));
        local_address(address).or_else(|| is_control().then_some("a control port of this controller"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_for_operators_are_refused_of_the_own_addresses() {
        let own: IpAddr = "10.0.0.7".parse().unwrap();
        let mut local = LocalEndpoints { allowed: false, own: [own].into(), control_ports: [10254].into() };
        let mapped: IpAddr = "::ffff:10.0.0.7".parse().unwrap();
        for (address, port, refused) in
            [(own, 10254, true), (mapped, 10254, true), (own, 443, false), ("10.0.0.8".parse().unwrap(), 10254, false)]
        {
            assert_eq!(local.refusal(address, Some(port)).is_some(), refused, "{address} {port}");
        }
        let loopback = "127.0.0.1".parse().unwrap();
        assert_eq!(local.refusal(loopback, None), Some("a loopback address"));
        local.allowed = true;
        assert_eq!(local.refusal(loopback, Some(10254)), None);
    }
}
