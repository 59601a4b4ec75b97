//! The requests of the last seconds by rule, for people: rates, errors and durations of now.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use inspect::{Counted, Recent};

use super::line::{Labels, Line};

/// Length of the window.
const WINDOW: Duration = Duration::from_secs(10);
/// What is counted in it leaves it by such steps.
const STEP: Duration = Duration::from_secs(1);

/// Whose requests are counted apart: namespace, Ingress, Service, host.
type Rule = [Box<str>; 4];

/// Requests by rule. Memory: the number of rules that got requests; of the window, of those that got some lately.
#[derive(Debug)]
pub(super) struct Traffic {
    began: Instant,
    totals: BTreeMap<Rule, (Labels, u64)>,
    steps: VecDeque<(Instant, BTreeMap<Rule, Recent>)>,
}

impl Traffic {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), totals: BTreeMap::new(), steps: VecDeque::new() }
    }

    /// Adds a line, its durations only if their bounds are ours. `host`: its label.
    pub(super) fn add(&mut self, line: &Line, host: &str, comparable: bool, now: Instant) {
        let rule: Rule = [line.labels.namespace.clone(), line.labels.ingress.clone(), line.service.as_str().into(), host.into()];
        self.totals.entry(rule.clone()).or_insert_with(|| (line.labels.clone(), 0)).1 += line.count;
        let [durations, .., sizes] = &line.observed;
        let durations = if comparable { durations.buckets.iter().copied().collect() } else { BTreeMap::new() };
        let errors = if line.status / 100 == 5 { line.count } else { 0 };
        let recent = Recent { requests: line.count, errors, bytes: sizes.sum, durations };
        self.forget(now);
        if self.steps.back().is_none_or(|(began, _)| *began + STEP <= now) {
            self.steps.push_back((now, BTreeMap::new()));
        }
        if let Some((_, rules)) = self.steps.back_mut() {
            rules.entry(rule).or_default().add(&recent);
        }
    }

    fn forget(&mut self, now: Instant) {
        while self.steps.front().is_some_and(|(began, _)| *began + WINDOW <= now) {
            self.steps.pop_front();
        }
    }

    /// Forgets the rules that are not `known` any more.
    pub(super) fn retain(&mut self, known: impl Fn(&Labels) -> bool) {
        self.totals.retain(|_, (labels, _)| known(labels));
    }

    /// All rules that got requests, and the seconds that the recent ones are of.
    pub(super) fn counted(&mut self, now: Instant) -> (Vec<Counted>, f64) {
        self.forget(now);
        let counted = self.totals.iter().map(|(rule, (_, requests))| {
            let mut recent = Recent::default();
            self.steps.iter().filter_map(|(_, rules)| rules.get(rule)).for_each(|step| recent.add(step));
            let [namespace, ingress, service, host] = rule.each_ref().map(ToString::to_string);
            Counted { namespace, ingress, service, host, requests: *requests, recent }
        });
        (counted.collect(), now.duration_since(self.began).clamp(STEP, WINDOW).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(host: &str, status: u16, count: u64) -> Line {
        let rest = format!(r#"{status}, false, {count}, [[7, 1, {count}], [], [], [], [], [], [50]]"#);
        format!(r#"[["n", "web", "web", "/", "{host}", "", "GET"], {rest}]"#).parse().unwrap()
    }

    #[test]
    fn what_leaves_the_window_counts_in_the_totals_only() {
        let mut traffic = Traffic::new();
        let start = traffic.began;
        let at = |seconds| start + Duration::from_secs(seconds);
        traffic.add(&line("a", 200, 3), "a", true, at(1));
        traffic.add(&line("a", 503, 2), "a", false, at(2));
        let of = |(counted, seconds): (Vec<Counted>, f64)| {
            let [one] = &*counted else { panic!("{counted:?}") };
            (one.requests, one.recent.requests, one.recent.errors, one.recent.bytes, one.recent.durations.clone(), seconds)
        };
        assert_eq!(of(traffic.counted(at(4))), (5, 5, 2, 100, [(1, 3)].into(), 4.0));
        assert_eq!(of(traffic.counted(at(11))), (5, 2, 2, 50, BTreeMap::new(), 10.0));
        assert_eq!(of(traffic.counted(at(60))), (5, 0, 0, 0, BTreeMap::new(), 10.0));
        traffic.retain(|labels| &*labels.ingress != "web");
        assert_eq!(traffic.counted(at(60)).0, []);
    }
}
