//! Reasons of reloads, for people.

use model::Built;
use model::plan::Reason;

/// A reason with the Ingress that is behind it.
pub(super) fn explain(reason: &Reason, wanted: &Built) -> String {
    let who = match reason {
        Reason::ProfileAdded(id, _) => wanted.users_of_profile(id),
        Reason::Shell(host) => wanted.users_of_shell(host),
        Reason::Stream(ingress) => ingress.iter().cloned().collect(),
        Reason::Start | Reason::Globals(_) | Reason::Literal(_) | Reason::Asked => Vec::new(),
    };
    match (reason, who.as_slice()) {
        (Reason::ProfileAdded(_, what), [first, ..]) => format!("{first} is the first to use {what}"),
        (_, [first, ..]) => format!("{reason} ({first})"),
        _ => reason.to_string(),
    }
}
