//! The search for keys of the ConfigMap that NGINX refuses.
//!
//! A new Pod must not wait for it, nor changes of Ingresses: at first no key that changed is used, which takes no test at all, and NGINX gets what is
//! left. Then, between other work, the keys are tested by halves, one test at a time. What is accepted is used again with one reload in the end.
//!
//! The number of tests is bounded: what is not found by then is refused for now, and tested key by key as all that is refused.

use std::mem::take;
use std::time::Duration;

use model::{Built, ConfigValues, KeyValue};
use tokio::time::Instant;

/// Most tests of one search: enough for eight refused keys among two hundred.
const MOST_TESTS: usize = 128;
/// Time between two tests where one came to no result.
const PAUSE: Duration = Duration::from_secs(1);

/// A key with its value.
pub(super) type Setting = (String, KeyValue);

/// A search that goes on.
#[derive(Debug)]
pub(super) struct KeySearch {
    /// What NGINX said of all of them together.
    message: String,
    /// Keys that are still to be tested, the next group at the end.
    groups: Vec<Vec<Setting>>,
    accepted: Vec<Setting>,
    /// Each with what NGINX says against it.
    refused: Vec<(Setting, String)>,
    /// Refused keys are tested a second time: one may need another that came after it.
    is_second_pass: bool,
    tests: usize,
    /// Not before NGINX runs what is left of the settings.
    due: Option<Instant>,
}

/// What a search came to.
#[derive(Debug, Default)]
pub(super) struct FoundKeys {
    pub(super) accepted: Vec<Setting>,
    /// Each with the reason.
    pub(super) refused: Vec<(Setting, String)>,
}

impl KeySearch {
    /// A search among keys of which NGINX refuses some: it said `message`.
    pub(super) fn new(suspects: Vec<Setting>, message: String) -> Self {
        let mut search =
            Self { message, groups: Vec::new(), accepted: Vec::new(), refused: Vec::new(), is_second_pass: false, tests: 0, due: None };
        search.split(suspects);
        search
    }

    /// Takes in what else is suspected.
    pub(super) fn extend(&mut self, suspects: Vec<Setting>) {
        self.groups.push(suspects);
    }

    /// NGINX runs what is left of the settings.
    pub(super) fn begin(&mut self) {
        self.due.get_or_insert_with(Instant::now);
    }

    /// Time of the next test.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Forgets keys that have another value now, or are gone.
    pub(super) fn follow(&mut self, built: &Built) {
        let is_wanted =
            |(key, value): &Setting| built.refused_keys.get(key) == Some(value) || built.basis.values().get(key).as_ref() == Some(value);
        for group in &mut self.groups {
            group.retain(is_wanted);
        }
        self.groups.retain(|group| !group.is_empty());
        self.accepted.retain(is_wanted);
        self.refused.retain(|(setting, _)| is_wanted(setting));
    }

    /// The values to test next: those in effect, with what was accepted and the next group; `None` at the end of the search.
    pub(super) fn candidate(&mut self, in_effect: &ConfigValues) -> Option<ConfigValues> {
        if self.tests >= MOST_TESTS {
            self.give_up();
        } else if self.groups.is_empty() && !self.is_second_pass {
            self.is_second_pass = true;
            if !self.accepted.is_empty() {
                self.groups = take(&mut self.refused).into_iter().map(|(setting, _)| vec![setting]).collect();
            }
        }
        let group = self.groups.last()?;
        let mut values = in_effect.clone();
        self.accepted.iter().chain(group).for_each(|(key, value)| values.set(key, value));
        Some(values)
    }

    /// Takes the answer about the candidate: what NGINX says against it, or nothing.
    pub(super) fn judge(&mut self, refusal: Option<String>) {
        self.tests += 1;
        let group = self.groups.pop().unwrap_or_default();
        match (refusal, <[Setting; 1]>::try_from(group)) {
            (None, Ok([setting])) => self.accepted.push(setting),
            (None, Err(group)) => self.accepted.extend(group),
            (Some(message), Ok([setting])) => self.refused.push((setting, message)),
            (Some(_), Err(group)) => self.split(group),
        }
    }

    /// A test came to no result.
    pub(super) fn wait(&mut self) {
        self.due = Some(Instant::now() + PAUSE);
    }

    /// The result.
    pub(super) fn finish(self) -> FoundKeys {
        FoundKeys { accepted: self.accepted, refused: self.refused }
    }

    fn split(&mut self, mut group: Vec<Setting>) {
        let half = group.split_off(group.len() / 2);
        self.groups.extend([half, group].into_iter().filter(|group| !group.is_empty()));
    }

    /// Refuses what is left.
    fn give_up(&mut self) {
        let left: Vec<Setting> = take(&mut self.groups).into_iter().flatten().collect();
        let reason = format!("{} (which of {} keys it is about was not found in {MOST_TESTS} tests)", self.message, left.len());
        self.refused.extend(left.into_iter().map(|setting| (setting, reason.clone())));
    }
}

#[cfg(test)]
mod tests {
    use model::{ConfigValues, KeyValue};

    use super::*;

    fn settings(count: usize) -> Vec<Setting> {
        (0..count).map(|at| (format!("key-{at:03}"), KeyValue { text: at.to_string(), named: None })).collect()
    }

    /// Runs a search over an NGINX with this judgement of the keys that are set: names of refused keys, and the number of tests.
    fn search(suspects: usize, refuses: impl Fn(&ConfigValues) -> bool) -> (Vec<String>, usize) {
        let mut search = KeySearch::new(settings(suspects), "no".into());
        let mut tests = 0;
        while let Some(values) = search.candidate(&ConfigValues::default()) {
            tests += 1;
            search.judge(refuses(&values).then(|| "no".to_owned()));
        }
        let found = search.finish();
        assert_eq!(found.accepted.len() + found.refused.len(), suspects);
        let mut refused: Vec<String> = found.refused.into_iter().map(|((key, _), _)| key).collect();
        refused.sort();
        (refused, tests)
    }

    fn name(at: usize) -> String {
        format!("key-{at:03}")
    }

    #[test]
    fn refused_keys_are_found_by_halves() {
        for bad in [vec![], vec![0], vec![189], vec![3, 4], vec![0, 90, 91, 189]] {
            let (refused, tests) = search(190, |values| bad.iter().any(|at| values.data.contains_key(&name(*at))));
            assert_eq!(refused, bad.iter().copied().map(name).collect::<Vec<_>>());
            assert!(tests <= 2 + bad.len() * 18, "{bad:?}: {tests} tests");
        }
    }

    #[test]
    fn a_key_that_needs_a_later_one_is_accepted() {
        let refuses = |values: &ConfigValues| {
            values.data.contains_key(&name(7)) || (values.data.contains_key(&name(0)) && !values.data.contains_key(&name(5)))
        };
        assert_eq!(search(8, refuses).0, [name(7)]);
    }

    #[test]
    fn the_number_of_tests_is_bounded_where_many_keys_are_refused() {
        let (refused, tests) = search(190, |values| !values.data.is_empty());
        assert_eq!((refused.len(), tests), (190, MOST_TESTS));
    }

    #[test]
    fn keys_that_changed_meanwhile_are_forgotten() {
        let mut search = KeySearch::new(settings(4), "no".into());
        let mut built = Built::default();
        let mut all = settings(4);
        let (second, first) = (all.swap_remove(1), all.swap_remove(0));
        let changed = KeyValue { text: "other".into(), named: None };
        built.refused_keys = std::sync::Arc::new([first.clone(), (second.0, changed)].into());
        search.follow(&built);
        assert_eq!(search.candidate(&ConfigValues::default()).unwrap().iter().collect::<Vec<_>>(), [(first.0.as_str(), first.1)]);
    }
}
