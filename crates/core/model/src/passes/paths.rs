//! From the locations of a host to the matches that Lua looks up: what NGINX's own location blocks would do, as data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One location of a host, in the order of precedence (oldest object first).
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) path: Arc<str>,
    pub(crate) exact: bool,
    /// Its own policy asks for regex matching or rewrites: in regex mode its path is used as it stands.
    pub(crate) own_regex: bool,
    /// Index of its route.
    pub(crate) route: u32,
}

/// The three lookups of a host. Either the first two or the last is filled.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Matches {
    pub(crate) exact: BTreeMap<Arc<str>, u32>,
    pub(crate) prefix: BTreeMap<Arc<str>, u32>,
    pub(crate) regex: Vec<(Arc<str>, u32)>,
}

/// Matches of a host without regexes.
///
/// `/foo` as Prefix is the prefix `/foo/` and the exact path `/foo`, which an Exact rule takes precedence over;
/// `/foo/` as Prefix is the prefix and the exact path `/foo/`; `/` is a prefix only. The first to claim a match keeps it.
pub(crate) fn plain(locations: &[Location]) -> Matches {
    let mut matches = Matches::default();
    for location in locations.iter().filter(|location| location.exact) {
        matches.exact.entry(location.path.clone()).or_insert(location.route);
    }
    for location in locations.iter().filter(|location| !location.exact) {
        let path = &location.path;
        let prefix = if path.ends_with('/') { path.clone() } else { format!("{path}/").into() };
        matches.prefix.entry(prefix).or_insert(location.route);
        if &**path != "/" {
            matches.exact.entry(path.clone()).or_insert(location.route);
        }
    }
    matches
}

/// Matches of a host where one object uses regexes or rewrites: every location becomes a start-anchored regex, longest path first.
///
/// Locations of objects that do neither are expanded as in plain mode first, and their text is used as a regex all the same.
pub(crate) fn regex(locations: &[Location]) -> Matches {
    let mut sorted: Vec<&Location> = locations.iter().collect();
    sorted.sort_by(|a, b| b.path.len().cmp(&a.path.len()).then_with(|| b.path.cmp(&a.path)));
    let (mut regex, mut known) = (Vec::new(), BTreeSet::new());
    let mut add = |pattern: String, route: u32| {
        let pattern: Arc<str> = pattern.into();
        if known.insert(pattern.clone()) {
            regex.push((pattern, route));
        }
    };
    for location in sorted {
        let path = &location.path;
        if !location.own_regex && !location.exact && !path.ends_with('/') {
            add(format!("^{path}/"), location.route);
        }
        add(format!("^{path}"), location.route);
    }
    Matches { regex, ..Matches::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(path: &str, exact: bool, route: u32) -> Location {
        Location { path: path.into(), exact, own_regex: false, route }
    }

    #[track_caller]
    fn check_plain(locations: &[(&str, bool)], exact: &[(&str, u32)], prefix: &[(&str, u32)]) {
        let locations: Vec<_> = locations.iter().enumerate().map(|(i, (path, exact))| location(path, *exact, i as u32)).collect();
        let map = |pairs: &[(&str, u32)]| pairs.iter().map(|(path, route)| (Arc::from(*path), *route)).collect::<BTreeMap<Arc<str>, u32>>();
        let matches = plain(&locations);
        assert_eq!(matches.exact, map(exact));
        assert_eq!(matches.prefix, map(prefix));
    }

    #[test]
    fn a_prefix_is_a_prefix_with_slash_and_an_exact_path_without() {
        check_plain(&[("/foo", false), ("/", false)], &[("/foo", 0)], &[("/foo/", 0), ("/", 1)]);
    }

    #[test]
    fn an_exact_rule_beats_an_older_prefix_on_the_same_path() {
        check_plain(&[("/foo", false), ("/foo", true)], &[("/foo", 1)], &[("/foo/", 0)]);
    }

    #[test]
    fn the_older_of_two_prefixes_that_differ_by_a_slash_keeps_the_prefix() {
        check_plain(&[("/x", false), ("/x/", false)], &[("/x", 0), ("/x/", 1)], &[("/x/", 0)]);
    }

    #[test]
    fn regexes_are_sorted_by_length_and_plain_paths_are_expanded_first() {
        let mut own = location("/a[0-9]+", false, 0);
        own.own_regex = true;
        let matches = regex(&[location("/", false, 1), own, location("/foo", false, 2), location("/bar", true, 3)]);
        let patterns: Vec<_> = matches.regex.iter().map(|(pattern, route)| (&**pattern, *route)).collect();
        assert_eq!(patterns, [("^/a[0-9]+", 0), ("^/foo/", 2), ("^/foo", 2), ("^/bar", 3), ("^/", 1)]);
    }
}
