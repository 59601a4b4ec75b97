//! How far reloads are apart.
//!
//! At least the interval lies between two reloads that the same namespaces ask for. One of another namespace comes after a quarter of it, so that a
//! namespace whose changes reload all the time delays no other by the whole interval.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::causes::Causes;

/// What part of the interval lies between reloads of different namespaces.
const PART: u32 = 4;

/// The last reload, and the last one of each namespace.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    last: Option<Instant>,
    namespaces: BTreeMap<Arc<str>, Instant>,
}

impl Pacing {
    /// Takes a reload that has just ended.
    pub(super) fn reloaded(&mut self, causes: &Causes, interval: Duration) {
        let now = Instant::now();
        self.namespaces.retain(|_, last| *last + interval > now);
        self.namespaces.extend(causes.namespaces.iter().map(|namespace| (namespace.clone(), now)));
        self.last = Some(now);
    }

    /// Before when no reload for these causes begins. `None`: there was none yet.
    pub(super) fn earliest(&self, causes: &Causes, interval: Duration) -> Option<Instant> {
        let last = self.last?;
        let is_recent = |namespace: &Arc<str>| self.namespaces.get(namespace).is_some_and(|last| *last + interval > Instant::now());
        let is_another = !causes.namespaces.iter().all(is_recent);
        Some(last + if is_another { interval / PART } else { interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(4);

    fn causes(names: &[&str]) -> Causes {
        Causes { namespaces: names.iter().map(|name| Arc::from(*name)).collect(), general: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_that_reloads_all_the_time_delays_others_by_a_part_of_the_interval() {
        let mut pacing = Pacing::default();
        assert_eq!(pacing.earliest(&causes(&["evil"]), INTERVAL), None);
        pacing.reloaded(&causes(&["evil"]), INTERVAL);
        let now = Instant::now();
        assert_eq!(pacing.earliest(&causes(&["evil"]), INTERVAL), Some(now + INTERVAL));
        assert_eq!(pacing.earliest(&causes(&["shop"]), INTERVAL), Some(now + INTERVAL / 4));
        assert_eq!(pacing.earliest(&causes(&["evil", "shop"]), INTERVAL), Some(now + INTERVAL / 4));
        // What is of no namespace has the whole interval.
        assert_eq!(pacing.earliest(&causes(&[]), INTERVAL), Some(now + INTERVAL));
    }

    #[tokio::test(start_paused = true)]
    async fn two_reloads_of_a_namespace_are_the_interval_apart_whatever_others_do_between() {
        let mut pacing = Pacing::default();
        pacing.reloaded(&causes(&["shop"]), INTERVAL);
        tokio::time::sleep(INTERVAL / 2).await;
        pacing.reloaded(&causes(&["other"]), INTERVAL);
        assert_eq!(pacing.earliest(&causes(&["shop"]), INTERVAL), Some(Instant::now() + INTERVAL));
    }
}
