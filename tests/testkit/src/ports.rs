//! Ports and addresses that no test running beside this one uses.
//!
//! Each test process owns a slot: `NARTHEX_TEST_SLOT` where that is set (by `run-tests`), else the first free lock file in the temporary
//! directory. A slot is 100 ports below the range from which the kernel takes client ports, and the addresses 10.77.(64+slot).1–254,
//! which are local inside a bed.

use std::fs::{File, OpenOptions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::Context;
use nix::fcntl::{Flock, FlockArg};

/// Number of test processes that can run side by side.
const SLOTS: u16 = 120;
/// Ports per slot. 20000 + 120 × 100 stays under 32768, where client ports begin.
const PER_SLOT: u16 = 100;
const FIRST_PORT: u16 = 20_000;

struct Slot {
    number: u16,
    /// Held for the life of the process.
    _lock: Option<Flock<File>>,
}

/// Ports for the caller alone.
#[derive(Debug, Clone, Copy)]
pub struct Ports;

impl Ports {
    /// `n` ports on which nothing listens, on any address, at the moment. A port comes back only after the slot's other ones were handed out.
    ///
    /// # Errors
    /// No slot is free, or fewer than `n` ports of the slot are.
    pub fn take(n: usize) -> anyhow::Result<Vec<u16>> {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let base = FIRST_PORT + slot()? * PER_SLOT;
        let free = std::iter::repeat_with(|| base + NEXT.fetch_add(1, Ordering::Relaxed) % PER_SLOT).take(PER_SLOT.into());
        let ports: Vec<u16> = free.filter(|port| is_free(*port)).take(n).collect();
        anyhow::ensure!(ports.len() == n, "only {} of {n} ports are free between {base} and {}", ports.len(), base + PER_SLOT - 1);
        Ok(ports)
    }

    /// One port; see [`Ports::take`].
    ///
    /// # Errors
    /// As [`Ports::take`].
    pub fn one() -> anyhow::Result<u16> {
        Ok(Self::take(1)?[0])
    }
}

/// `n` addresses for the caller alone, local inside a bed (elsewhere nothing can listen there).
///
/// # Errors
/// No slot is free. More than 254 per process wrap around.
pub fn addresses(n: usize) -> anyhow::Result<Vec<Ipv4Addr>> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let slot = u8::try_from(slot()?).expect("there are 120 slots");
    let host = || u8::try_from(NEXT.fetch_add(1, Ordering::Relaxed) % 254 + 1).expect("at most 254");
    Ok(std::iter::repeat_with(|| Ipv4Addr::new(10, 77, 64 + slot, host())).take(n).collect())
}

/// The number of this process among the test processes that run now, below 120.
///
/// # Errors
/// All slots are taken, or no lock file can be made.
pub fn slot() -> anyhow::Result<u16> {
    static SLOT: OnceLock<Result<Slot, String>> = OnceLock::new();
    match SLOT.get_or_init(|| find_slot().map_err(|e| format!("{e:#}"))) {
        Ok(slot) => Ok(slot.number),
        Err(error) => Err(anyhow::anyhow!("{error}")),
    }
}

fn find_slot() -> anyhow::Result<Slot> {
    if let Ok(text) = std::env::var("NARTHEX_TEST_SLOT") {
        let number: u16 = text.parse().with_context(|| format!("NARTHEX_TEST_SLOT {text:?} is not a number"))?;
        anyhow::ensure!(number < SLOTS, "NARTHEX_TEST_SLOT is {number}: at most {SLOTS} tests can run at once");
        return Ok(Slot { number, _lock: None });
    }
    for number in 0..SLOTS {
        let path = std::env::temp_dir().join(format!("narthex-test-slot-{number}.lock"));
        // A lock for all users: another user's tests on this machine must be able to take it.
        let Ok(file) = OpenOptions::new().create(true).append(true).mode(0o666).open(&path) else { continue };
        if let Ok(lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            return Ok(Slot { number, _lock: Some(lock) });
        }
    }
    anyhow::bail!("all {SLOTS} lock files narthex-test-slot-*.lock in {} are taken or can't be opened", std::env::temp_dir().display())
}

fn is_free(port: u16) -> bool {
    let binds = |ip: IpAddr| TcpListener::bind(SocketAddr::new(ip, port)).is_ok();
    binds(Ipv4Addr::UNSPECIFIED.into()) && (binds(Ipv6Addr::UNSPECIFIED.into()) || !has_ipv6())
}

fn has_ipv6() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_and_lie_in_the_slot() {
        let ports = Ports::take(8).unwrap();
        let base = FIRST_PORT + slot().unwrap() * PER_SLOT;
        assert!(ports.iter().all(|p| (base..base + PER_SLOT).contains(p)), "{ports:?}");
        assert_eq!(ports.iter().collect::<std::collections::BTreeSet<_>>().len(), 8);
    }

    #[test]
    fn a_port_in_use_is_not_handed_out() {
        let port = Ports::one().unwrap();
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(!is_free(port));
    }

    #[test]
    fn addresses_belong_to_the_slot() {
        let slot = u8::try_from(slot().unwrap()).unwrap();
        assert!(addresses(3).unwrap().iter().all(|a| a.octets()[..3] == [10, 77, 64 + slot]));
    }
}
