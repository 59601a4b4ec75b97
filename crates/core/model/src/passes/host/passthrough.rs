//! `ssl-passthrough`: TLS connections to the host go to the backend of `/` as they are.

use super::Draft;
use crate::key::BackendId;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{CATCH_ALL, Field, PathKind, RuleSet};

/// The backend of `/`, if an object of the host asks for it. Says what has no effect on such connections.
pub(super) fn target(host: &str, sets: &[&RuleSet], drafts: &[Draft<'_>], problems: &mut Vec<Problem>) -> Option<BackendId> {
    let asking = sets.iter().find(|rules| rules.policy.spec.client_tls.ssl_passthrough)?;
    let mut refuse = |kind, why: String| {
        let detail = format!("ssl-passthrough: {why}; NGINX decrypts connections to it");
        problems.push(asking.origin.problem(Field::Whole, kind, detail));
    };
    if host == CATCH_ALL || host.starts_with("*.") {
        refuse(ProblemKind::Surprise, format!("{host:?} is not the whole name of a host, which is what tells connections apart"));
        return None;
    }
    let Some(root) = root(drafts) else {
        refuse(
            ProblemKind::InvalidValue,
            format!("no rule gives the path \"/\" of host {host:?} a backend, which connections could go to"),
        );
        return None;
    };
    problems.extend(drafts.iter().filter(|draft| !std::ptr::eq(*draft, root)).filter_map(|draft| ignored(host, draft)));
    root.backends.primary.clone()
}

/// The location of `/` with a backend: a rule of type Prefix, else of type Exact, else the fallback of the oldest object.
fn root<'a, 'b>(drafts: &'a [Draft<'b>]) -> Option<&'a Draft<'b>> {
    let rank = |draft: &&Draft<'_>| (draft.placeholder, draft.kind == PathKind::Exact);
    drafts.iter().filter(|draft| *draft.path == *"/" && draft.backends.primary.is_some()).min_by_key(rank)
}

fn ignored(host: &str, draft: &Draft<'_>) -> Option<Problem> {
    let detail = format!(
        "{:?} applies to plain HTTP only: TLS connections to host {host:?} go undecrypted to the backend of \"/\", as ssl-passthrough says",
        draft.path
    );
    draft.problem(ProblemKind::Surprise, detail)
}
