//! Address ranges.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::Invalid;

/// An address, or a range of addresses with the host bits cleared. A range of one address is that address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cidr {
    address: IpAddr,
    prefix: u8,
}

const ITEM: Invalid = Invalid::new("an IP address or a range such as 10.0.0.0/8");
const LIST: Invalid = Invalid::new("a comma-separated list of IP addresses and ranges such as 10.0.0.0/8, without an empty item");

impl Cidr {
    /// The range of `prefix` leading bits around `address`. `None` if there are not that many bits.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask(prefix, 32)? as u32)),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) if prefix >= 96 => return Self::new(IpAddr::V4(v4), prefix - 96),
                _ => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask(prefix, 128)?)),
            },
        };
        Some(Self { address, prefix })
    }

    /// The first address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The number of leading bits that count.
    pub const fn prefix(&self) -> u8 {
        self.prefix
    }

    /// `true` if `address` lies in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        let full = if address.is_ipv4() { 32 } else { 128 };
        Self::new(address, full).and_then(|one| Self::new(one.address, self.prefix)).is_some_and(|range| range == *self)
    }
}

/// `bits` ones followed by zeros, in a number of `width` bits.
fn mask(bits: u8, width: u8) -> Option<u128> {
    let zeros = width.checked_sub(bits)?;
    let all = if width == 128 { u128::MAX } else { (1 << width) - 1 };
    Some(all & u128::MAX.checked_shl(zeros.into()).unwrap_or(0))
}

impl FromStr for Cidr {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (address, prefix) = match text.split_once('/') {
            None => (text, None),
            Some((address, prefix)) => (address, Some(prefix)),
        };
        let address: IpAddr = address.parse().map_err(|_| ITEM)?;
        let prefix = match prefix {
            None if address.is_ipv4() => 32,
            None => 128,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().map_err(|_| ITEM)?,
            Some(_) => return Err(ITEM),
        };
        Self::new(address, prefix).ok_or(ITEM)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = if self.address.is_ipv4() { 32 } else { 128 };
        if self.prefix == full { write!(f, "{}", self.address) } else { write!(f, "{}/{}", self.address, self.prefix) }
    }
}

/// Address ranges without duplicates, sorted by their text. Read from a comma-separated list; one bad or empty item spoils it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CidrSet(Vec<Cidr>);

impl CidrSet {
    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = &Cidr> {
        self.0.iter()
    }

    /// `true` if there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `true` if one of the ranges holds `address`.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(address))
    }
}

impl FromIterator<Cidr> for CidrSet {
    fn from_iter<I: IntoIterator<Item = Cidr>>(ranges: I) -> Self {
        let sorted: BTreeSet<(String, Cidr)> = ranges.into_iter().map(|range| (range.to_string(), range)).collect();
        Self(sorted.into_iter().map(|(_, range)| range).collect())
    }
}

impl FromStr for CidrSet {
    type Err = Invalid;

    /// The empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        text.split(',').map(|item| item.trim().parse()).collect::<Result<Self, Invalid>>().map_err(|_| LIST)
    }
}

impl fmt::Display for CidrSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            write!(f, "{}{range}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_loses_its_host_bits() {
        for (text, printed) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("1.1.1.1", "1.1.1.1"),
            ("1.1.1.1/32", "1.1.1.1"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("9.9.9.9/0", "0.0.0.0/0"),
            ("2001:DB8::1/32", "2001:db8::/32"),
            ("::/0", "::/0"),
            ("::1", "::1"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("::ffff:1.2.3.4/120", "1.2.3.0/24"),
        ] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), printed, "{text}");
        }
        for text in ["", "1.1.1", "1.1.1.1/33", "::1/129", "1.1.1.1/", "1.1.1.1/+8", "1.1.1.1/8/8", "a", "1.1.1.1;", "01.1.1.1"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_list_is_sorted_as_text_and_has_no_duplicates() {
        for (text, printed) in [
            ("", ""),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("9.9.9.9, 10.1.1.1/8 ,10.2.2.2/8", "10.0.0.0/8,9.9.9.9"),
            ("::1,127.0.0.1", "127.0.0.1,::1"),
        ] {
            assert_eq!(text.parse::<CidrSet>().unwrap().to_string(), printed, "{text}");
        }
        for text in [",", "1.1.1.1,", "1.1.1.1,,2.2.2.2", "1.1.1.1 2.2.2.2", " ", "1.1.1.1,x"] {
            assert!(text.parse::<CidrSet>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_set_contains_the_addresses_of_its_ranges() {
        let set: CidrSet = "10.0.0.0/8,2001:db8::/32,0.0.0.1".parse().unwrap();
        for (address, inside) in [
            ("10.9.9.9", true),
            ("11.0.0.0", false),
            ("0.0.0.1", true),
            ("2001:db8::9", true),
            ("2001:db9::", false),
            ("::ffff:10.0.0.1", true),
        ] {
            assert_eq!(set.contains(address.parse().unwrap()), inside, "{address}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_set_parses_back(v4 in prop::collection::vec((any::<u32>(), 0u8..=32), 0..4), v6 in prop::collection::vec((any::<u128>(), 0u8..=128), 0..4)) {
            let v4 = v4.into_iter().map(|(bits, prefix)| Cidr::new(IpAddr::V4(Ipv4Addr::from_bits(bits)), prefix).unwrap());
            let v6 = v6.into_iter().map(|(bits, prefix)| Cidr::new(IpAddr::V6(Ipv6Addr::from_bits(bits)), prefix).unwrap());
            let set: CidrSet = v4.chain(v6).collect();
            prop_assert_eq!(set.to_string().parse(), Ok(set));
        }

        #[test]
        fn any_text_is_a_set_or_an_error(text in "[0-9a-f.:/, ]{0,30}") {
            if let Ok(set) = text.parse::<CidrSet>() {
                prop_assert_eq!(set.to_string().parse(), Ok(set));
            }
        }
    }
}
