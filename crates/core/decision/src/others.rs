//! Rules that would serve a request if another one did not.

use std::sync::Arc;

use model::snapshot::Objects;
use model::{Built, Ingress, ObjectKey, ObjectRef, ProblemKind};
use serde::{Deserialize, Serialize};

use crate::host::{CATCH_ALL, Found};
use crate::location::LocationMatch;
use crate::outcome::Location;
use crate::pattern;
use crate::request::Seen;

/// A rule that matches the request, and does not serve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// `namespace/name` of the Ingress.
    pub ingress: String,
    /// Host of the rule; `_`: none.
    pub host: Arc<str>,
    /// Path of the rule.
    pub path: Arc<str>,
    /// Why it does not serve the request.
    pub because: String,
}

/// All of them, in order of the names. Cost: all rules of the cluster.
pub(crate) fn of(built: &Built, ingresses: &Objects<Ingress>, found: &Found, serving: Option<&Location>, seen: &Seen<'_>) -> Vec<Other> {
    let mut others = Vec::new();
    for (key, ingress) in ingresses {
        // The first of several rules of an Ingress with the same path serves.
        let mut serves = false;
        for (host, path, path_type) in rules(ingress) {
            let name: Arc<str> = if host.is_empty() { CATCH_ALL.into() } else { host.to_ascii_lowercase().into() };
            let candidate = Candidate { key, ingress, host: name, path, is_exact: path_type == "Exact" };
            if !covers(found, &candidate.host, seen) || !candidate.matches(found, seen) {
                continue;
            }
            if !serves && candidate.serves(found, serving) {
                serves = true;
                continue;
            }
            let because = candidate.reason(built, found, serving);
            others.push(Other { ingress: key.to_string(), host: candidate.host.clone(), path: candidate.path.clone(), because });
        }
    }
    others
}

fn rules(ingress: &Ingress) -> impl Iterator<Item = (&Arc<str>, Arc<str>, &str)> {
    let paths = ingress.rules.iter().flat_map(|rule| rule.paths.iter().map(move |path| (&rule.host, path)));
    paths.map(|(host, path)| (host, if path.path.is_empty() { "/".into() } else { path.path.clone() }, &*path.path_type))
}

/// Whether rules of a host could be about the request.
fn covers(found: &Found, host: &str, seen: &Seen<'_>) -> bool {
    *seen.host == *host
        || crate::host::above(&seen.host).is_some_and(|above| above == host)
        || found.covering.iter().any(|name| **name == *host)
}

struct Candidate<'a> {
    key: &'a ObjectKey,
    ingress: &'a Ingress,
    host: Arc<str>,
    path: Arc<str>,
    is_exact: bool,
}

impl Candidate<'_> {
    fn matches(&self, found: &Found, seen: &Seen<'_>) -> bool {
        let path = &*self.path;
        if self.host == found.shown.name && !found.record.regex.is_empty() {
            return pattern::caseless(&format!("^{path}")).is_some_and(|regex| regex.is_match(&seen.path).unwrap_or(false));
        }
        let bare = path.strip_suffix('/').unwrap_or(path).as_bytes();
        let below = seen.path.strip_prefix(bare).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        if self.is_exact { seen.path == path.as_bytes() } else { below }
    }

    fn serves(&self, found: &Found, serving: Option<&Location>) -> bool {
        let is_of = |location: &Location| location.ingress.as_deref() == Some(&*self.key.to_string()) && location.path == self.path;
        self.host == found.shown.name && serving.is_some_and(is_of)
    }

    fn reason(&self, built: &Built, found: &Found, serving: Option<&Location>) -> String {
        if let Some(reason) = built.quarantined.get(self.key) {
            return format!("it is quarantined: {reason}");
        }
        if !built.has_ingress(self.key) {
            return self.not_served(built);
        }
        if self.ingress.annotations.iter().any(|(name, value)| name.ends_with("/canary") && value == "true") {
            return "it is a canary, and only adds a backend to the rule with the same host and path".into();
        }
        let name = &found.shown.name;
        if self.host != *name {
            return format!("{name:?} is more specific than its host");
        }
        let Some(serving) = serving else { return "the host answers before a path is looked for".into() };
        let winner = serving.ingress.as_deref().unwrap_or("the default backend");
        let path = &serving.path;
        match &serving.by {
            _ if *path == self.path => {
                format!("{winner} has the same path, and comes first: the older Ingress does, of the same age the greater name")
            }
            LocationMatch::Regex(regex) => format!("{regex:?} of {winner} is tried first: of regular expressions the longest path is"),
            LocationMatch::Exact(exact) => format!("{exact:?} of {winner} matches exactly"),
            LocationMatch::Prefix(prefix) | LocationMatch::MissingSlash(prefix) => format!("{prefix:?} of {winner} is longer"),
            LocationMatch::Default => "NGINX has no usable form of its path".into(),
        }
    }

    fn not_served(&self, built: &Built) -> String {
        let object = ObjectRef::ingress(self.key);
        let refused = [ProblemKind::Refused, ProblemKind::Unclaimed, ProblemKind::NoRoom];
        let problems = built.problems();
        let problem = problems.iter().find(|problem| problem.object == object && refused.contains(&problem.kind));
        let any = problem.or_else(|| problems.iter().find(|problem| problem.object == object));
        match any {
            Some(problem) => format!("it is not served: {}", problem.detail),
            None => {
                let class =
                    self.ingress.class.as_deref().map_or_else(|| "without a class".to_owned(), |class| format!("of class {class:?}"));
                format!("it is not served: an Ingress {class} in this namespace is not this controller's")
            }
        }
    }
}
