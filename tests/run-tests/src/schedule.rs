//! The order of the tests: the longest first, so that at the end all processors have work; then, one by one, those that run alone.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use crate::durations::Durations;
use crate::limits;
use crate::test::Test;

/// A test to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// Index among the tests of the run.
    pub(crate) test: usize,
    /// It has failed when it takes longer.
    pub(crate) longest: Duration,
}

/// The tests that are not started yet.
#[derive(Debug)]
pub(crate) struct Schedule {
    beside_others: VecDeque<Next>,
    alone: VecDeque<Next>,
}

impl Schedule {
    /// One without a duration is taken for a twentieth of its limit: limits are about that much longer than tests. What is equal keeps its order.
    pub(crate) fn of(tests: &[Test<'_>], durations: &Durations, limit: Option<Duration>) -> Self {
        let mut all: Vec<_> = (0..tests.len()).map(|at| (at, limits::limit(&tests[at]))).collect();
        all.sort_by_cached_key(|(at, limit)| Reverse(durations.get(&tests[*at].to_string()).copied().unwrap_or(limit.longest / 20)));
        let (alone, beside_others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, limit)| limit.alone);
        let queue = |tests: Vec<(usize, limits::Limit)>| {
            tests.into_iter().map(|(test, own)| Next { test, longest: limit.unwrap_or(own.longest) }).collect()
        };
        Self { beside_others: queue(beside_others), alone: queue(alone) }
    }

    /// The next test where so many run; none where it has to wait, or all are started.
    pub(crate) fn next(&mut self, running: usize) -> Option<Next> {
        match self.beside_others.pop_front() {
            None if running == 0 => self.alone.pop_front(),
            next => next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::{Binary, binary};

    const SECOND: Duration = Duration::from_secs(1);

    fn of<'a>(tests: &[(&'a Binary, &str)]) -> Vec<Test<'a>> {
        tests.iter().map(|(binary, name)| Test { binary, name: (*name).into() }).collect()
    }

    #[test]
    fn long_tests_begin_first() {
        let (model, faults) = (binary("model", "model"), binary("narthex", "faults"));
        let tests = of(&[(&model, "short"), (&model, "unknown"), (&model, "other"), (&model, "long"), (&faults, "slow::a")]);
        let durations = Durations::from([("model short".to_owned(), SECOND), ("model long".to_owned(), 30 * SECOND)]);
        let mut schedule = Schedule::of(&tests, &durations, None);
        // Without a duration: 1200 / 20, and 300 / 20.
        let order: Vec<_> = std::iter::from_fn(|| schedule.next(0)).map(|next| (tests[next.test].name.as_str(), next.longest)).collect();
        let expected = [("slow::a", 1200), ("long", 300), ("unknown", 300), ("other", 300), ("short", 300)];
        assert_eq!(order, expected.map(|(name, seconds)| (name, seconds * SECOND)));
        let next = Schedule::of(&tests, &durations, Some(SECOND)).next(0);
        assert_eq!(next, Some(Next { test: 4, longest: SECOND }));
    }

    #[test]
    fn those_that_run_alone_wait_for_all_others() {
        let (image, cases) = (binary("e2e", "image"), binary("e2e", "cases"));
        let tests = of(&[(&image, "a"), (&image, "b"), (&cases, "c"), (&cases, "d")]);
        let mut schedule = Schedule::of(&tests, &Durations::new(), None);
        let mut next = |running| schedule.next(running).map(|next| tests[next.test].name.as_str());
        assert_eq!([next(0), next(1), next(2), next(1)], [Some("c"), Some("d"), None, None]);
        assert_eq!([next(0), next(1), next(0), next(0)], [Some("a"), None, Some("b"), None]);
    }
}
