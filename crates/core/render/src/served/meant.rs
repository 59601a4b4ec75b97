//! The routes of a host that a path means: those of the rule that has it, or the one that a request for it comes to.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::HostRecord;
use ngx_value::PathRegex;

/// The record with nothing else than the routes that `path` means; without any where it leads to the default backend. `None`: it is no path, nor the
/// text of a match.
pub(super) fn narrowed(record: &HostRecord, path: &str) -> Option<HostRecord> {
    let of_rule = |name: &str, at: u32| name == path || record.routes.get(at as usize).is_some_and(|route| *route.path == *path);
    let mut wanted = matches(record).filter(|(name, at)| of_rule(name, *at)).map(|(_, at)| at).collect::<Vec<_>>();
    if wanted.is_empty() {
        wanted.extend(serving(record, &normalised(path)?));
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

/// What the router does with a normalised path: the exact one, the first regex, the one that only a slash is missing to, the longest prefix.
fn serving(record: &HostRecord, uri: &str) -> Option<u32> {
    let fits = |regex: &str| regex.parse::<PathRegex>().is_ok_and(|regex| regex.is_match(uri));
    let regex = || record.regex.iter().find(|(regex, _)| fits(regex)).map(|(_, at)| at);
    let longest =
        || record.prefix.iter().filter(|(name, _)| uri.starts_with(&***name)).max_by_key(|(name, _)| name.len()).map(|(_, at)| at);
    let with_slash = || record.prefix.get(&*format!("{uri}/"));
    record.exact.get(uri).or_else(regex).or_else(with_slash).or_else(longest).copied()
}

/// As NGINX has it in `$uri`: without arguments, decoded, with single slashes and without segments of dots. `None`: no path, or one that leads out.
fn normalised(path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next().filter(|path| path.starts_with('/'))?;
    let decoded = decoded(path);
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split('/').filter(|segment| !segment.is_empty() && *segment != ".") {
        if segment == ".." {
            segments.pop()?;
        } else {
            segments.push(segment);
        }
    }
    let ends_in_slash = ["/", "/.", "/.."].iter().any(|end| decoded.ends_with(end)) && !segments.is_empty();
    Some(format!("/{}{}", segments.join("/"), if ends_in_slash { "/" } else { "" }))
}

fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_as_nginx_does_it() {
        for (path, uri) in [
            ("/", "/"),
            ("/cart/5?x=/y", "/cart/5"),
            ("//cart///5/", "/cart/5/"),
            ("/a/./b/../c", "/a/c"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/%63art%2F5", "/cart/5"),
            ("/100%", "/100%"),
        ] {
            assert_eq!(normalised(path).as_deref(), Some(uri), "{path}");
        }
        for path in ["", "cart", "/..", "/a/../../b"] {
            assert_eq!(normalised(path), None, "{path}");
        }
    }
}
