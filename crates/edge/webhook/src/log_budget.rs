//! Lines of the log that any client can cause: so many a second, and a number of those that were left out.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

const WINDOW: Duration = Duration::from_secs(1);

/// The lines of one kind.
#[derive(Debug)]
pub(crate) struct LogBudget {
    most: u32,
    window: Mutex<Window>,
}

#[derive(Debug, Default)]
struct Window {
    begun: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl LogBudget {
    /// At most so many in a second.
    pub(crate) fn new(most: u32) -> Self {
        Self { most, window: Mutex::default() }
    }

    /// The number of lines that were left out since the last one, if there is room for one now.
    pub(crate) fn take(&self, now: Instant) -> Option<u64> {
        let mut window = self.window.lock();
        if window.begun.is_none_or(|begun| now.saturating_duration_since(begun) >= WINDOW) {
            window.begun = Some(now);
            window.lines = 0;
        }
        if window.lines < self.most {
            window.lines += 1;
            Some(std::mem::take(&mut window.left_out))
        } else {
            window.left_out += 1;
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted_in_the_next_line() {
        let (budget, now) = (LogBudget::new(2), Instant::now());
        let taken: Vec<_> = (0..5).map(|_| budget.take(now)).collect();
        assert_eq!(taken, [Some(0), Some(0), None, None, None]);
        assert_eq!(budget.take(now + WINDOW), Some(3));
        assert_eq!(budget.take(now + WINDOW), Some(0));
        assert_eq!(budget.take(now + WINDOW), None);
    }
}
