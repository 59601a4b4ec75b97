//! What is known about names beside the tables: which had an effect once, and what to say about one that does not exist.

use crate::config::CONFIG_KEYS;
use crate::groups;

/// One line each: key, and `idle` where it never had an effect or `removed` where it lost it.
const CONFIG: &str = include_str!("known/config.txt");

/// Annotations of older releases, and what came of them.
const FORMER: &[(&str, &str)] = &[
    ("add-base-url", "it was removed"),
    ("alias", "server-alias took its place"),
    ("base-url-scheme", "it was removed"),
    ("enable-influxdb", "it was removed"),
    ("enable-opentracing", "enable-opentelemetry took its place"),
    ("global-rate-limit", "it was removed"),
    ("global-rate-limit-ignored-cidrs", "it was removed"),
    ("global-rate-limit-key", "it was removed"),
    ("global-rate-limit-window", "it was removed"),
    ("grpc-backend", "backend-protocol took its place"),
    ("influxdb-host", "it was removed"),
    ("influxdb-measurement", "it was removed"),
    ("influxdb-port", "it was removed"),
    ("influxdb-server-name", "it was removed"),
    ("opentracing-trust-incoming-span", "opentelemetry-trust-incoming-span took its place"),
    ("secure-backends", "backend-protocol took its place"),
    ("secure-verify-ca-secret", "proxy-ssl-secret took its place"),
    ("session-cookie-hash", "it was removed"),
];

/// What to say about an annotation that does not exist, and what happens.
pub(crate) fn no_annotation(name: &str) -> String {
    format!("{}; it is ignored", no_annotation_at_all(name))
}

/// What to say about an annotation that does not exist.
pub(crate) fn no_annotation_at_all(name: &str) -> String {
    match FORMER.iter().find(|(former, _)| *former == name) {
        Some((_, fate)) => format!("no such annotation any more: {fate}"),
        None => format!("no such annotation{}", did_you_mean(name, groups::names())),
    }
}

/// What to say about a key of the ConfigMap that is not in our table.
pub(crate) fn config_key(name: &str) -> String {
    let keys = || CONFIG.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    match keys().find(|(key, _)| *key == name) {
        Some((_, "removed")) => "this key was removed; it is ignored".to_owned(),
        Some((_, "idle")) => "this key has no effect; it is ignored".to_owned(),
        Some(_) => "Narthex does not support this key yet; it is ignored".to_owned(),
        None => {
            let names = keys().map(|(key, _)| key).chain(CONFIG_KEYS.iter().map(|entry| entry.name));
            format!("no such key{}; it is ignored", did_you_mean(name, names))
        }
    }
}

/// `, did you mean ...?` with the nearest of `names`, if one is near.
pub fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    names
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 6)
        .min()
        .map(|(_, nearest)| format!(", did you mean {nearest}?"))
        .unwrap_or_default()
}

/// How many letters must be inserted, removed, replaced or swapped with their neighbour to get from one to the other. Large at once if one is very long.
fn distance(one: &str, other: &str) -> usize {
    if one.len() > 100 {
        return usize::MAX;
    }
    let other: Vec<char> = other.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    let mut previous = None;
    for (line, a) in one.chars().enumerate() {
        let above = &rows[line];
        let mut row = vec![line + 1];
        for (column, b) in other.iter().enumerate() {
            let mut cost = (above[column] + usize::from(a != *b)).min(row[column] + 1).min(above[column + 1] + 1);
            if column > 0 && previous == Some(*b) && other[column - 1] == a {
                cost = cost.min(rows[line - 1][column - 1] + 1);
            }
            row.push(cost);
        }
        rows.push(row);
        previous = Some(a);
    }
    rows[rows.len() - 1][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Since;

    /// Every name that ingress-nginx has, and its risk there.
    const PREDECESSOR: &str = include_str!("known/annotations.txt");

    #[test]
    fn the_table_has_the_predecessor_s_annotations_with_their_risks() {
        let entries = groups::names().filter_map(|name| Some((name, groups::annotation(name)?.0)));
        let (inherited, ours): (Vec<_>, Vec<_>) = entries.partition(|(_, entry)| entry.since == Since::IngressNginx);
        let inherited: Vec<String> = inherited.into_iter().map(|(name, entry)| format!("{name} {}", entry.risk)).collect();
        assert_eq!(inherited, PREDECESSOR.lines().collect::<Vec<_>>());
        let is_known = |name: &str| PREDECESSOR.lines().any(|line| line.split(' ').next() == Some(name));
        assert_eq!(ours.iter().map(|(name, _)| *name).find(|name| is_known(name)), None, "it is no addition");
    }

    #[test]
    fn every_supported_key_is_the_predecessor_s_and_alive_or_an_addition() {
        for entry in CONFIG_KEYS.iter() {
            let known = CONFIG.lines().find(|line| line.split(' ').next() == Some(entry.name));
            assert_eq!(known, (entry.since == Since::IngressNginx).then_some(entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn a_near_name_is_suggested() {
        for (name, expected) in [
            ("rewrite-targt", "no such annotation, did you mean rewrite-target?; it is ignored"),
            ("proxy-body-sise", "no such annotation, did you mean proxy-body-size?; it is ignored"),
            ("whatever", "no such annotation; it is ignored"),
            ("", "no such annotation; it is ignored"),
            ("grpc-backend", "no such annotation any more: backend-protocol took its place; it is ignored"),
        ] {
            assert_eq!(no_annotation(name), expected);
        }
        assert_eq!(no_annotation(&"a".repeat(10_000)), "no such annotation; it is ignored");
    }

    #[test]
    fn a_key_that_is_not_in_the_table_is_told_apart() {
        for (name, expected) in [
            ("plugins", "this key was removed; it is ignored"),
            ("app-root", "this key has no effect; it is ignored"),
            ("ssl-protocol", "no such key, did you mean ssl-protocols?; it is ignored"),
            ("xyzzy", "no such key; it is ignored"),
        ] {
            assert_eq!(config_key(name), expected);
        }
    }
}
