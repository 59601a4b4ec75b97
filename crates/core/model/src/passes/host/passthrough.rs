//! `ssl-passthrough`: TLS connections to the host go to the backend of `/` as they are.

use super::{CATCH_ALL, Draft, Entry, field};
use crate::key::{BackendId, ObjectRef};
use crate::problem::{Problem, ProblemKind};

/// The backend of `/`, if an Ingress of the host asks for it. Says what has no effect on such connections.
pub(super) fn target(host: &str, entries: &[&Entry], drafts: &[Draft<'_>], problems: &mut Vec<Problem>) -> Option<BackendId> {
    let asking = entries.iter().find(|entry| entry.spec.client_tls.ssl_passthrough)?;
    let mut refuse = |kind, why: String| {
        let detail = format!("ssl-passthrough: {why}; NGINX decrypts connections to it");
        problems.push(Problem { object: ObjectRef::ingress(asking.key()), field: String::new(), kind, detail });
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
    root.backend.cloned()
}

/// The location of `/` with a backend: a rule of type Prefix, else of type Exact, else the default backend of the oldest Ingress.
fn root<'a, 'b>(drafts: &'a [Draft<'b>]) -> Option<&'a Draft<'b>> {
    let rank = |draft: &&Draft<'_>| (draft.placeholder, draft.exact);
    drafts.iter().filter(|draft| *draft.path == *"/" && draft.backend.is_some()).min_by_key(rank)
}

fn ignored(host: &str, draft: &Draft<'_>) -> Option<Problem> {
    let (entry, at) = (draft.entry?, draft.at?);
    let detail = format!(
        "{:?} holds for plain HTTP only: TLS connections to host {host:?} go undecrypted to the backend of \"/\", as ssl-passthrough says",
        draft.path
    );
    Some(Problem { object: ObjectRef::ingress(entry.key()), field: field(at), kind: ProblemKind::Surprise, detail })
}
