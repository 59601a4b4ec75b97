//! Addresses and names that lead to the machine itself or stay on its own link. No Pod has one.

use std::net::IpAddr;

/// Networks of such addresses, and what each is. An IPv4 address that is written as an IPv6 one belongs to the networks of its IPv4 form.
pub const LOCAL_NETWORKS: &[(&str, &str)] = &[
    ("0.0.0.0/8", "an unspecified address"),
    ("127.0.0.0/8", "a loopback address"),
    ("169.254.0.0/16", "a link-local address"),
    ("224.0.0.0/4", "a multicast address"),
    ("255.255.255.255/32", "the broadcast address"),
    ("::1/128", "a loopback address"),
    // IPv4 addresses in a form that is out of use.
    ("::/96", "an unspecified address"),
    ("fe80::/10", "a link-local address"),
    ("ff00::/8", "a multicast address"),
];

/// The sort of local address, with its article; `None`: a Pod can have it.
pub fn local_address(address: IpAddr) -> Option<&'static str> {
    let address = address.to_canonical();
    LOCAL_NETWORKS.iter().find(|(network, _)| contains(network, address)).map(|(_, what)| *what)
}

/// `true` if a DNS name means the machine itself (RFC 6761, 6.3), whatever name servers say of it. A dot at its end and the letter case don't count.
pub fn is_local_name(name: &str) -> bool {
    let bare = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    bare == "localhost" || bare.ends_with(".localhost")
}

fn contains(network: &str, address: IpAddr) -> bool {
    let Some((Ok(network), Ok(bits))) = network.split_once('/').map(|(network, bits)| (network.parse(), bits.parse::<u32>())) else {
        return false;
    };
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => (u32::from(network) ^ u32::from(address)).leading_zeros() >= bits,
        (IpAddr::V6(network), IpAddr::V6(address)) => (u128::from(network) ^ u128::from(address)).leading_zeros() >= bits,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_no_pod_has_are_local_in_each_of_their_forms() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.0.9",
            "169.254.169.254",
            "224.0.0.1",
            "239.1.1.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:0.0.0.0",
            "::ffff:169.254.169.254",
            "::ffff:224.0.0.1",
        ] {
            assert!(local_address(text.parse().unwrap()).is_some(), "{text}");
        }
        for text in ["10.0.0.1", "1.0.0.1", "126.255.255.255", "128.0.0.1", "169.253.1.1", "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"] {
            assert_eq!(local_address(text.parse().unwrap()), None, "{text}");
        }
        assert_eq!(local_address("::1".parse().unwrap()), Some("a loopback address"));
    }

    #[test]
    fn localhost_is_local_whatever_its_case() {
        for (name, local) in
            [("localhost", true), ("LOCALHOST.", true), ("a.localhost", true), ("localhost.example.com", false), ("nolocalhost", false)]
        {
            assert_eq!(is_local_name(name), local, "{name}");
        }
    }
}
