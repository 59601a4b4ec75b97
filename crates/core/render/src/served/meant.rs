//! The routes of a host that a path means: those of the rule that has it, or the one that a request for it comes to.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::HostRecord;

/// The record with nothing else than the routes that `path` means; without any where it leads to the default backend. `None`: it is no path, nor the
/// text of a match.
pub(super) fn narrowed(record: &HostRecord, path: &str) -> Option<HostRecord> {
    let of_rule = |name: &str, at: u32| name == path || record.routes.get(at as usize).is_some_and(|route| *route.path == *path);
    let mut wanted = matches(record).filter(|(name, at)| of_rule(name, *at)).map(|(_, at)| at).collect::<Vec<_>>();
    if wanted.is_empty() {
        let path = decision::uri::normalised(path.as_bytes())?;
        wanted.extend(decision::location::find(record, &path, |_| false).and_then(|(_, at)| at));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let new = |at: &u32| wanted.iter().position(|wanted| wanted == at).and_then(|at| u32::try_from(at).ok());
    let kept = |all: &BTreeMap<Arc<str>, u32>| all.iter().filter_map(|(name, at)| Some((name.clone(), new(at)?))).collect();
    Some(HostRecord {
        exact: kept(&record.exact),
        prefix: kept(&record.prefix),
        regex: record.regex.iter().filter_map(|(regex, at)| Some((regex.clone(), new(at)?))).collect(),
        routes: wanted.iter().filter_map(|at| record.routes.get(*at as usize).cloned()).collect(),
        ..record.clone()
    })
}

/// Every match with the index of its route.
fn matches(record: &HostRecord) -> impl Iterator<Item = (&str, u32)> {
    let regexes = record.regex.iter().map(|(regex, at)| (&**regex, *at));
    record.exact.iter().chain(&record.prefix).map(|(name, at)| (&**name, *at)).chain(regexes)
}
