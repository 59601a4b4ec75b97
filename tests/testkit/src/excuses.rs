//! Requests that may fail beside faults: those in the moments of a killed process.

use std::time::{Duration, Instant};

use crate::load::{Failure, LoadReport};

/// Time from the end of a process until another accepts, on a busy machine.
const MOMENT: Duration = Duration::from_secs(2);
/// Failures count from when a request was due, and it was under way before the process ended.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// Notes faults beside a load that was started at the same time.
#[derive(Debug)]
pub struct Excuses {
    started: Instant,
    /// Each from the first request that it may cost.
    killed: Vec<Duration>,
    /// Since when something keeps a killed process from being replaced.
    hindered: Option<Duration>,
    repaired: Option<Duration>,
}

impl Default for Excuses {
    fn default() -> Self {
        Self { started: Instant::now(), killed: Vec::new(), hindered: None, repaired: None }
    }
}

impl Excuses {
    /// Processes of NGINX are killed now.
    pub fn kill(&mut self) {
        self.killed.push(self.started.elapsed());
    }

    /// From now on to the repair a killed process may find no successor.
    pub fn hinder(&mut self) {
        self.hindered.get_or_insert(self.started.elapsed());
    }

    /// All is repaired now.
    pub fn repaired(&mut self) {
        self.repaired = Some(self.started.elapsed());
    }

    /// The failures that nothing excuses.
    pub fn unexcused<'a>(&'a self, report: &'a LoadReport) -> impl Iterator<Item = &'a Failure> {
        report.failures.iter().filter(|failure| !self.excuses(failure.at))
    }

    fn excuses(&self, at: Duration) -> bool {
        self.killed.iter().any(|&killed| {
            let (from, to) = match (self.hindered, self.repaired) {
                (Some(hindered), Some(repaired)) => (killed.min(hindered), killed.max(repaired)),
                _ => (killed, killed),
            };
            (from.saturating_sub(UNDER_WAY)..to + MOMENT).contains(&at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_moments_of_a_kill_excuse_and_longer_ones_where_nothing_can_replace_it() {
        let seconds = Duration::from_secs;
        let mut excuses = Excuses { killed: vec![seconds(10)], ..Excuses::default() };
        assert!(excuses.excuses(seconds(9)) && excuses.excuses(seconds(11)));
        assert!(!excuses.excuses(seconds(8)) && !excuses.excuses(seconds(12)));
        (excuses.hindered, excuses.repaired) = (Some(seconds(5)), Some(seconds(20)));
        assert!(excuses.excuses(seconds(5)) && excuses.excuses(seconds(21)));
        assert!(!excuses.excuses(seconds(3)) && !excuses.excuses(seconds(22)));
        excuses.killed.clear();
        assert!(!excuses.excuses(seconds(10)), "a fault alone costs no request");
    }
}
