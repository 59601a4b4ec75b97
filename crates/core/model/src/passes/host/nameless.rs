//! Server-level settings of rules without a host.
//!
//! One server block is the default one and serves every host that has none of its own, of all namespaces: a new host needs no reload. So a setting of
//! that block would hold for all of them. It could hold for unknown hosts only if the block named all others, at the price of a reload for each new one.

use std::collections::BTreeSet;

use super::whole::{SHELL, asks_for};
use crate::key::ObjectKey;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{CATCH_ALL, Field, RuleSet};

/// The objects whose paths of no host answer 503: their text is not used there, and it may have been what kept clients out.
pub(super) fn closed<'a>(host: &str, sets: &[&'a RuleSet], problems: &mut Vec<Problem>) -> BTreeSet<&'a ObjectKey> {
    let mut closed = BTreeSet::new();
    for rules in sets.iter().filter(|_| host == CATCH_ALL) {
        // About client certificates see `clients`.
        for annotation in SHELL.into_iter().filter(|annotation| *annotation != "auth-tls-secret" && asks_for(&rules.policy, annotation)) {
            // The predecessor takes no such setting from what is nothing but a default backend.
            let closes = annotation == "server-snippet" && !rules.is_catch_all();
            let (kind, consequence) = if closes {
                closed.insert(rules.key());
                (ProblemKind::AnnotationParsingFailed, "its paths of no host answer 503")
            } else {
                (ProblemKind::InvalidValue, "it has no effect on the rules without one")
            };
            let detail = format!(
                "{annotation}: expected rules with a host, as what has none shares its server block with the hosts of others; {consequence}"
            );
            problems.push(rules.origin.problem(Field::Whole, kind, detail));
        }
    }
    closed
}
