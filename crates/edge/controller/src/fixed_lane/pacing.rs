//! The pace of reloads.
//!
//! Each namespace has a turn in an interval, and one more for new hosts that a pattern makes wait. Four reloads may begin in an interval: one that has a
//! turn begins at once, so that a namespace whose changes reload all the time delays no other. What has no turn comes an interval after the last reload.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::causes::{Causes, Turn};

/// Number of reloads that may begin in an interval.
const MOST: usize = 4;

/// The last reloads, oldest first, and when each turn was used last.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    last: VecDeque<Instant>,
    turns: BTreeMap<Turn, Instant>,
}

impl Pacing {
    /// Takes a reload that has just ended.
    pub(super) fn reloaded(&mut self, causes: &Causes, interval: Duration) {
        let now = Instant::now();
        self.turns.retain(|_, last| *last + interval > now);
        self.turns.extend(causes.turns.iter().map(|turn| (turn.clone(), now)));
        if self.last.len() == MOST {
            self.last.pop_front();
        }
        self.last.push_back(now);
    }

    /// Before when no reload for these causes begins. `None`: there was none yet.
    pub(super) fn earliest(&self, causes: &Causes, interval: Duration) -> Option<Instant> {
        let last = *self.last.back()?;
        // The first of them that has its turn takes the others along.
        let turn = causes.turns.iter().map(|turn| self.turns.get(turn).map_or(last, |used| *used + interval)).min();
        let room = self.last.front().filter(|_| self.last.len() == MOST).map_or(last, |first| *first + interval);
        Some(turn.unwrap_or(last + interval).max(room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(4);

    fn causes(turns: impl IntoIterator<Item = Turn>) -> Causes {
        Causes { turns: turns.into_iter().collect(), ..Causes::default() }
    }

    fn of(namespace: &str) -> Causes {
        causes([Turn::Own(namespace.into())])
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_that_reloads_all_the_time_delays_no_other() {
        let mut pacing = Pacing::default();
        assert_eq!(pacing.earliest(&of("evil"), INTERVAL), None);
        pacing.reloaded(&of("evil"), INTERVAL);
        let now = Instant::now();
        assert_eq!(pacing.earliest(&of("evil"), INTERVAL), Some(now + INTERVAL));
        assert_eq!(pacing.earliest(&of("shop"), INTERVAL), Some(now));
        let both = causes([Turn::Own("evil".into()), Turn::Own("shop".into())]);
        assert_eq!(pacing.earliest(&both, INTERVAL), Some(now));
        // What uses no turn has the whole interval.
        assert_eq!(pacing.earliest(&Causes::default(), INTERVAL), Some(now + INTERVAL));
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_has_its_next_turn_after_the_interval_whatever_others_do_between() {
        let mut pacing = Pacing::default();
        pacing.reloaded(&of("shop"), INTERVAL);
        let first = Instant::now();
        tokio::time::sleep(INTERVAL / 2).await;
        pacing.reloaded(&of("other"), INTERVAL);
        assert_eq!(pacing.earliest(&of("shop"), INTERVAL), Some(first + INTERVAL));
        // A pattern of another namespace makes its new host wait.
        let caught = causes([Turn::Caught("shop".into())]);
        assert_eq!(pacing.earliest(&caught, INTERVAL), Some(Instant::now()));
        pacing.reloaded(&caught, INTERVAL);
        assert_eq!(pacing.earliest(&caught, INTERVAL), Some(Instant::now() + INTERVAL));
    }

    #[tokio::test(start_paused = true)]
    async fn at_most_four_reloads_begin_in_an_interval() {
        let mut pacing = Pacing::default();
        let began = Instant::now();
        for namespace in ["a", "b", "c", "d"] {
            assert!(pacing.earliest(&of(namespace), INTERVAL).is_none_or(|earliest| earliest <= Instant::now()), "{namespace}");
            pacing.reloaded(&of(namespace), INTERVAL);
            tokio::time::sleep(INTERVAL / 8).await;
        }
        assert_eq!(pacing.earliest(&of("e"), INTERVAL), Some(began + INTERVAL));
        tokio::time::sleep(INTERVAL / 2).await;
        pacing.reloaded(&of("e"), INTERVAL);
        assert_eq!(pacing.earliest(&of("a"), INTERVAL), Some(began + INTERVAL + INTERVAL / 8));
    }
}
