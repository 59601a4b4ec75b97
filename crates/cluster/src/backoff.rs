//! Waiting between attempts: doubling, capped, with jitter.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// How long to wait after failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The wait after the first failure.
    pub first: Duration,
    /// The longest wait.
    pub most: Duration,
}

impl Default for Retry {
    /// 100 ms, doubling up to 2 s: a server that returns is noticed soon, and replicas do not flatten it.
    fn default() -> Self {
        Self { first: Duration::from_millis(100), most: Duration::from_secs(2) }
    }
}

/// The waits of one series of failures.
#[derive(Debug)]
pub(crate) struct Backoff {
    retry: Retry,
    failures: u32,
    random: u64,
}

impl Backoff {
    pub(crate) fn new(retry: Retry) -> Self {
        Self { retry, failures: 0, random: RandomState::new().build_hasher().finish() | 1 }
    }

    /// The wait before the next attempt: between half and all of the doubled base.
    pub(crate) fn next(&mut self) -> Duration {
        let base = self.retry.first.saturating_mul(1 << self.failures.min(20)).min(self.retry.most);
        self.failures = self.failures.saturating_add(1);
        // xorshift64: spreads replicas that lost the same server at the same moment.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let half = base / 2;
        half + half.mul_f64((self.random >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Attempts succeed again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_start_again_after_a_reset() {
        let mut backoff = Backoff::new(Retry { first: Duration::from_millis(100), most: Duration::from_secs(1) });
        for base in [100, 200, 400, 800, 1000, 1000] {
            let wait = backoff.next();
            assert!(wait >= Duration::from_millis(base / 2) && wait <= Duration::from_millis(base), "{wait:?} for {base}");
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(100));
    }

    #[test]
    fn many_failures_do_not_overflow() {
        let mut backoff = Backoff::new(Retry::default());
        for _ in 0..200 {
            assert!(backoff.next() <= Retry::default().most);
        }
    }
}
