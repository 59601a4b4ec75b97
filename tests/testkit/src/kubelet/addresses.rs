//! The addresses of Pods.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use parking_lot::Mutex;

const FIRST: Ipv4Addr = Ipv4Addr::new(10, 77, 16, 0);
const LAST: Ipv4Addr = Ipv4Addr::new(10, 77, 63, 255);

/// Addresses from 10.77.16.0 to 10.77.63.255. The one that was given back longest ago is handed out next.
#[derive(Debug)]
pub struct Addresses(Mutex<VecDeque<u32>>);

impl Addresses {
    /// All free.
    #[expect(clippy::new_without_default, reason = "a second pool of the same addresses is a mistake, so none comes by accident")]
    pub fn new() -> Self {
        Self(Mutex::new((u32::from(FIRST)..=u32::from(LAST)).collect()))
    }

    /// An address that no other Pod has, until it is given back.
    pub fn take(&self) -> Option<Ipv4Addr> {
        self.0.lock().pop_front().map(Ipv4Addr::from)
    }

    /// Gives an address back.
    pub fn give_back(&self, address: Ipv4Addr) {
        self.0.lock().push_back(address.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_last() {
        let pool = Addresses::new();
        let first = pool.take().unwrap();
        assert_eq!(first, FIRST);
        pool.give_back(first);
        let all: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!((all.len(), all[0], *all.last().unwrap()), (48 * 256, Ipv4Addr::new(10, 77, 16, 1), FIRST));
    }
}
