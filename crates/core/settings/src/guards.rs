//! The access control of an Ingress, as written.

use std::collections::BTreeMap;

use crate::table::Guard;
use crate::{Entry, groups};

/// The annotations about access control: with them and without them the rest of an Ingress means the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guards(Box<[(&'static str, Box<str>)]>);

impl Guards {
    /// Those of an Ingress, valid or not. `prefix` has no slash.
    pub fn of(annotations: &BTreeMap<String, String>, prefix: &str) -> Self {
        let guards = annotations.iter().filter_map(|(key, value)| Some((guard(key, prefix)?.name, value.as_str().into())));
        Self(guards.collect())
    }

    /// Whether one of them closes the paths when it can't be used.
    pub fn protect(&self) -> bool {
        self.0.iter().any(|(name, value)| groups::annotation(name).is_some_and(|(entry, _)| entry.protects_with(value)))
    }

    /// The annotations of another version of the Ingress, with these in the place of its own.
    #[must_use]
    pub fn put_into(&self, other: &BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
        let rest = other.iter().filter(|(key, _)| guard(key, prefix).is_none());
        let own = self.0.iter().map(|(name, value)| (format!("{prefix}/{name}"), value.to_string()));
        rest.map(|(key, value)| (key.clone(), value.clone())).chain(own).collect()
    }
}

/// The row of an annotation about access control.
fn guard(key: &str, prefix: &str) -> Option<&'static Entry> {
    let (entry, _) = groups::annotation(key.strip_prefix(prefix)?.strip_prefix('/')?)?;
    (entry.guard != Guard::Nothing).then_some(entry)
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
        let protects = |pairs: &[(&str, &str)]| Guards::of(&map(pairs), PREFIX).protect();
        assert!(
            protects(&[("auth-url", "nonsense")]) && protects(&[("whitelist-source-range", "")]) && protects(&[("auth-type", "basic")])
        );
        assert!(!protects(&[("auth-url", " "), ("satisfy", "any"), ("limit-rps", "5"), ("no-such", "x")]));
    }
}
