//! What an Ingress says about who may pass, as written.

use std::collections::BTreeMap;

use crate::groups;
use crate::table::Guard;

/// The annotations that decide who may pass: with them and without them the rest of an Ingress means the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guards(BTreeMap<String, String>);

impl Guards {
    /// Those of an Ingress, whatever they are worth. `prefix` has no slash.
    pub fn of(annotations: &BTreeMap<String, String>, prefix: &str) -> Self {
        let guards = annotations.iter().filter(|(key, _)| guard(key, prefix) != Guard::Nothing);
        Self(guards.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// Whether one of them closes the paths when it can't be used.
    pub fn protect(&self, prefix: &str) -> bool {
        self.0.iter().any(|(key, value)| entry(key, prefix).is_some_and(|entry| entry.protects_with(value)))
    }

    /// The annotations of another version of the Ingress, with these in the place of its own.
    #[must_use]
    pub fn put_into(&self, other: &BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
        let rest = other.iter().filter(|(key, _)| guard(key, prefix) == Guard::Nothing);
        rest.chain(&self.0).map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

fn entry(key: &str, prefix: &str) -> Option<&'static crate::Entry> {
    groups::annotation(key.strip_prefix(prefix)?.strip_prefix('/')?).map(|(entry, _)| entry)
}

fn guard(key: &str, prefix: &str) -> Guard {
    entry(key, prefix).map_or(Guard::Nothing, |entry| entry.guard)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "nginx.ingress.kubernetes.io";

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (format!("{PREFIX}/{name}"), (*value).to_owned())).collect()
    }

    #[test]
    fn another_version_is_served_with_the_protection_of_this_one() {
        let now = Guards::of(&map(&[("auth-url", "http://a/"), ("satisfy", "any"), ("limit-rps", "nonsense")]), PREFIX);
        let served = now.put_into(&map(&[("auth-type", "basic"), ("limit-rps", "5")]), PREFIX);
        assert_eq!(served, map(&[("auth-url", "http://a/"), ("limit-rps", "5"), ("satisfy", "any")]));
    }

    #[test]
    fn only_what_would_open_something_protects() {
        let protects = |pairs: &[(&str, &str)]| Guards::of(&map(pairs), PREFIX).protect(PREFIX);
        assert!(
            protects(&[("auth-url", "nonsense")]) && protects(&[("whitelist-source-range", "")]) && protects(&[("auth-type", "basic")])
        );
        assert!(!protects(&[("auth-url", " "), ("satisfy", "any"), ("limit-rps", "5"), ("no-such", "x")]));
    }
}
