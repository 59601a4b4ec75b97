//! Endpoints as the script of the stream block reads them (`njs/stream.js`).
//!
//! Each takes the same number of bytes, so that the script reads the few that it needs of thousands. Addresses are hexadecimal digits, as they
//! are in the names by which NGINX resolves them; those with the same port are next to each other, as a name has one port.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Bytes of an endpoint: 32 digits, a colon, 5 digits, and at least one blank.
const WIDTH: usize = 40;

/// The text of a list of endpoints. Empty: there is none, and connections are closed.
pub(crate) fn encode(endpoints: impl IntoIterator<Item = (IpAddr, u16)>) -> Arc<str> {
    let mut endpoints: Vec<(u16, IpAddr)> = endpoints.into_iter().map(|(address, port)| (port, address)).collect();
    endpoints.sort_unstable();
    let endpoint = |(port, address)| match address {
        IpAddr::V4(v4) => format!("{:08x}:{port}", v4.to_bits()),
        IpAddr::V6(v6) => format!("{:032x}:{port}", v6.to_bits()),
    };
    endpoints.into_iter().map(|of| format!("{:WIDTH$}", endpoint(of))).collect::<String>().into()
}

/// The endpoints of such a text. What is none is left out.
pub fn decode(text: &str) -> impl Iterator<Item = SocketAddr> {
    text.split_ascii_whitespace().filter_map(|endpoint| {
        let (digits, port) = endpoint.split_once(':')?;
        let address = match digits.len() {
            8 => IpAddr::V4(u32::from_str_radix(digits, 16).ok()?.into()),
            32 => IpAddr::V6(u128::from_str_radix(digits, 16).ok()?.into()),
            _ => return None,
        };
        Some(SocketAddr::new(address, port.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written_by_port() {
        let endpoints = [("10.0.0.2", 9), ("2001:db8::1", 80), ("10.0.0.1", 80)].map(|(address, port)| (address.parse().unwrap(), port));
        let text = encode(endpoints);
        assert_eq!(&text[..WIDTH], format!("{:40}", "0a000002:9"));
        assert_eq!(text.len(), 3 * WIDTH);
        assert_eq!(
            decode(&text).map(|endpoint| endpoint.to_string()).collect::<Vec<_>>(),
            ["10.0.0.2:9", "10.0.0.1:80", "[2001:db8::1]:80"]
        );
        let longest = encode([("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap(), 65535)]);
        assert_eq!((longest.len(), longest.trim_end().len()), (WIDTH, WIDTH - 2));
        assert_eq!((&*encode([]), decode("nothing 0a000001 0a:1").count()), ("", 0));
    }
}
