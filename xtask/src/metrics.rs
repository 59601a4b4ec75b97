//! The controller's own metrics and their list for people.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

const SOURCE: &str = "crates/edge/controller/src/metrics.rs";
/// Files with families that are made when a scraper asks for them.
const FETCHED: [&str; 3] = ["figures.rs", "tenants.rs", "certificates.rs"];
const FETCHED_IN: &str = "crates/narthex/src/commands/run";
const LIST: &str = "docs/reference/metrics.md";
/// Not the controller's: other commands have pages of their own.
const OTHERS: [&str; 2] = ["narthex_watch_", "narthex_rollout_"];

/// Metrics that are registered and not in the list, and the other way round.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"));
    let (mut registered, listed) = (registered(&read(SOURCE)?), listed(&read(LIST)?));
    for file in FETCHED {
        registered.extend(fetched(&read(&format!("{FETCHED_IN}/{file}"))?));
    }
    let missing = registered.difference(&listed).map(|name| format!("{LIST}: {name} is not in the list"));
    let stale = listed.difference(&registered).map(|name| format!("{LIST}: neither {SOURCE} nor {FETCHED_IN} has {name}"));
    Ok(missing.chain(stale).collect())
}

/// What stands in quotes first in each `ours(...)`.
fn registered(source: &str) -> BTreeSet<String> {
    let calls = source.split("ours(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
    calls.filter_map(|rest| rest.split_once('"')).map(|(name, _)| format!("narthex_{name}")).collect()
}

/// The first argument of each `Family::...` that is one of ours.
fn fetched(source: &str) -> BTreeSet<String> {
    let families = source.split("Family::").skip(1).filter_map(|rest| rest.split_once('(')?.1.trim_start().strip_prefix('"'));
    families
        .filter_map(|rest| rest.split_once('"'))
        .filter(|(name, _)| name.starts_with("narthex_"))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The first column of the rows.
fn listed(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name);
    names.filter(|name| name.starts_with("narthex_") && !OTHERS.iter().any(|other| name.starts_with(other))).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_the_call_is_broken_into_lines() {
        let found = registered("let ours = |name| 1; a(ours(\"one\", \"x\")), b(ours(\n    \"two\",\n    \"y\"))");
        assert_eq!(found, ["narthex_one", "narthex_two"].map(str::to_owned).into());
        let found =
            fetched("Family::gauge(\"narthex_a\", \"x\"), Family::counter(\n    \"narthex_b\", \"y\"), Family::gauge(\"other\", \"z\")");
        assert_eq!(found, ["narthex_a", "narthex_b"].map(str::to_owned).into());
        assert_eq!(listed("| `narthex_one` | gauge | x |\n| `narthex_watch_runs` | |\n"), ["narthex_one".to_owned()].into());
    }
}
