//! What works as the predecessor did, and surprises people.

use std::collections::BTreeSet;

use super::Draft;
use crate::problem::{Problem, ProblemKind};
use crate::rule::PathKind;

/// Says what the rules of a host lead to that their authors may not expect.
pub(super) fn find(host: &str, drafts: &[Draft<'_>], regex_mode: bool, problems: &mut Vec<Problem>) {
    let cause = drafts.iter().find(|draft| draft.wants_regex());
    let paths: BTreeSet<&str> = drafts.iter().map(|draft| &*draft.path).collect();
    for draft in drafts {
        let found = if regex_mode { cause.and_then(|cause| regex(host, draft, cause)) } else { slash(host, draft, &paths) };
        problems.extend(found.and_then(|detail| draft.problem(ProblemKind::Surprise, detail)));
        problems.extend(unreachable(draft, regex_mode).and_then(|detail| draft.problem(ProblemKind::Surprise, detail)));
    }
}

/// A path that another object turns into a regular expression. Its own asked for one, and knows.
fn regex(host: &str, draft: &Draft<'_>, cause: &Draft<'_>) -> Option<String> {
    if draft.own_regex() || draft.path.as_ref() == "/" && draft.kind == PathKind::Prefix {
        return None;
    }
    let owner = cause.owner?.origin.object();
    let annotation = if cause.rewrite().is_some() { "rewrite-target" } else { "use-regex" };
    let kind = if draft.kind == PathKind::Exact { "although its type is Exact, " } else { "" };
    Some(format!(
        "{:?} is a regular expression because {owner} has {annotation} on the host {host:?}: {kind}it matches whatever begins with it, in any letter case",
        draft.path
    ))
}

/// A prefix that ends in a slash: the path without it is redirected.
fn slash(host: &str, draft: &Draft<'_>, paths: &BTreeSet<&str>) -> Option<String> {
    let shorter = draft.path.strip_suffix('/').filter(|shorter| !shorter.is_empty() && draft.kind == PathKind::Prefix)?;
    (!paths.contains(shorter)).then(|| format!("{shorter:?} of host {host:?} is not served but redirected with 301 to {:?}", draft.path))
}

/// A path that no request has once it is decoded and its slashes and dots are resolved.
fn unreachable(draft: &Draft<'_>, regex_mode: bool) -> Option<String> {
    if regex_mode {
        return None;
    }
    let path = &*draft.path;
    let dots = path.split('/').any(|segment| segment == "." || segment == "..");
    let escaped = path.as_bytes().windows(3).any(|text| text[0] == b'%' && text[1..].iter().all(u8::is_ascii_hexdigit));
    let what = if path.contains("//") {
        "two slashes"
    } else if dots {
        "a segment of dots"
    } else if escaped {
        "a percent-encoding"
    } else {
        return None;
    };
    Some(format!("{path:?} has {what}, but paths are compared with what is left after decoding and resolving; no usual request matches it"))
}
