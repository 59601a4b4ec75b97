//! Waiting between attempts: doubling, capped, with jitter.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// The waits after failures.
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

impl Retry {
    /// Waits between half and all of the doubled base, without end: replicas that lost the same server at the same moment are spread.
    pub(crate) fn waits(self) -> ExponentialBuilder {
        // The jitter is up to as much again.
        ExponentialBuilder::new().with_min_delay(self.first / 2).with_max_delay(self.most / 2).with_jitter().without_max_times()
    }
}

/// The waits of one series of failures.
#[derive(Debug)]
pub(crate) struct Backoff {
    retry: Retry,
    waits: <ExponentialBuilder as BackoffBuilder>::Backoff,
}

impl Backoff {
    pub(crate) fn new(retry: Retry) -> Self {
        Self { retry, waits: retry.waits().build() }
    }

    /// The wait before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        self.waits.next().unwrap_or(self.retry.most)
    }

    /// Attempts succeed again.
    pub(crate) fn reset(&mut self) {
        self.waits = self.retry.waits().build();
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
