//! A token bucket.

use std::time::Duration;

use tokio::time::Instant;

/// Lets `burst` through at once and `rate` a second in the long run.
#[derive(Debug)]
pub(crate) struct Limiter {
    rate: f64,
    burst: f64,
    tokens: f64,
    updated: Instant,
}

impl Limiter {
    /// A full bucket. `rate` and `burst` are at least one.
    pub(crate) fn new(rate: u32, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst.max(1));
        Self { rate: f64::from(rate.max(1)), burst, tokens: burst, updated: now }
    }

    /// Time until one is allowed; zero when one is allowed now.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        let missing = 1.0 - self.level(now);
        if missing <= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(missing / self.rate) }
    }

    /// One passes.
    pub(crate) fn take(&mut self, now: Instant) {
        self.tokens = self.level(now) - 1.0;
        self.updated = now;
    }

    fn level(&self, now: Instant) -> f64 {
        let grown = now.saturating_duration_since(self.updated).as_secs_f64() * self.rate;
        (self.tokens + grown).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_per_interval() {
        let start = Instant::now();
        let mut limiter = Limiter::new(20, 3, start);
        for _ in 0..3 {
            assert_eq!(limiter.wait(start), Duration::ZERO);
            limiter.take(start);
        }
        let wait = limiter.wait(start);
        assert!(wait > Duration::from_millis(49) && wait < Duration::from_millis(51), "{wait:?}");
        assert_eq!(limiter.wait(start + Duration::from_millis(51)), Duration::ZERO);
        let later = start + Duration::from_secs(3600);
        for _ in 0..3 {
            limiter.take(later);
        }
        assert!(limiter.wait(later) > Duration::ZERO, "a long rest fills no more than the burst");
    }
}
