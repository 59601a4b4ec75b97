//! The result of a comparison.

mod text;

use std::collections::BTreeMap;

use model::ObjectKey;
use serde_json::{Value, json};

use crate::answer::RequestOutcome;
use crate::difference::{Aspect, Change};
use crate::ignore::Ignore;
use crate::judge::RequestVerdict;
use crate::known::{Context, Known, explain};
use crate::request::Request;

pub use text::Style;
pub(crate) use text::printable;

/// Differences between two controllers, those that are alike together.
#[derive(Debug, Default)]
pub struct CompareReport {
    /// Requests that both were asked.
    pub requests: usize,
    /// Hosts that these were for.
    pub hosts: usize,
    /// Differences without an explanation, in order of weight, then host.
    pub differences: Vec<Group>,
    /// Differences that the table of known ones explains.
    pub explained: Vec<Explained>,
    /// Aspects that a backend varies by itself, by host.
    pub varies: BTreeMap<(String, Aspect), Vec<String>>,
    /// Differences that a rule of `--ignore` covers.
    pub ignored: usize,
    /// Requests that neither controller answered at all.
    pub unreachable: Vec<String>,
    /// Further notes: lines of a log that were passed over, schemes that were not asked.
    pub notes: Vec<String>,
}

/// One difference and the requests that show it.
#[derive(Debug)]
pub struct Group {
    /// The difference.
    pub change: Change,
    /// The host.
    pub host: String,
    /// The Ingress of the first request's rule, where it is known.
    pub ingress: Option<ObjectKey>,
    /// The requests and what each tried; not empty.
    pub requests: Vec<(String, &'static str)>,
}

/// Differences that an entry of the table explains.
#[derive(Debug)]
pub struct Explained {
    /// The entry.
    pub known: &'static Known,
    /// The differences.
    pub groups: Vec<Group>,
}

impl CompareReport {
    /// `true` if there is nothing to look at: no difference that counts, and every request was answered.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.unreachable.is_empty() && !self.explained.iter().any(|explained| explained.known.counts)
    }

    /// Takes what a request came to. `first` are the answers of the first round.
    pub fn add(
        &mut self,
        request: &Request,
        verdict: &RequestVerdict,
        first: &(RequestOutcome, RequestOutcome),
        context: &Context,
        ignores: &[Ignore],
    ) {
        self.requests += 1;
        if verdict.unreachable {
            self.unreachable.push(request.to_string());
        }
        for aspect in &verdict.varies {
            match ignores.iter().any(|rule| rule.holds(request, aspect)) {
                true => self.ignored += 1,
                false => self.varies.entry((request.host.clone(), aspect.clone())).or_default().push(request.to_string()),
            }
        }
        for change in &verdict.confirmed {
            if ignores.iter().any(|rule| rule.holds(request, &change.aspect)) {
                self.ignored += 1;
                continue;
            }
            let known = match first {
                (Ok(old), Ok(new)) => explain(context, request, change, old, new),
                _ => None,
            };
            put(self.place(known), request, change);
        }
    }

    fn place(&mut self, known: Option<&'static Known>) -> &mut Vec<Group> {
        let Some(known) = known else { return &mut self.differences };
        let at = match self.explained.iter().position(|explained| explained.known.id == known.id) {
            Some(at) => at,
            None => {
                self.explained.push(Explained { known, groups: Vec::new() });
                self.explained.len() - 1
            }
        };
        &mut self.explained[at].groups
    }

    /// Puts everything into its order.
    pub fn sort(&mut self) {
        let by_weight = |group: &Group| (group.change.aspect.clone(), group.host.clone(), group.change.clone());
        self.differences.sort_by_key(by_weight);
        for explained in &mut self.explained {
            explained.groups.sort_by_key(by_weight);
        }
        self.explained.sort_by_key(|explained| (!explained.known.counts, explained.known.id));
    }

    /// For programs: everything, nothing cut.
    pub fn json(&self) -> Value {
        let groups = |groups: &[Group]| groups.iter().map(group_json).collect::<Vec<_>>();
        let explained = self.explained.iter().map(|explained| {
            let known = explained.known;
            json!({"id": known.id, "why": known.why, "counts": known.counts, "differences": groups(&explained.groups)})
        });
        let varies = self
            .varies
            .iter()
            .map(|((host, aspect), requests)| json!({"host": host, "kind": aspect.kind(), "name": aspect.name(), "requests": requests}));
        json!({
            "equal": self.is_equal(),
            "requests": self.requests,
            "hosts": self.hosts,
            "differences": groups(&self.differences),
            "explained": explained.collect::<Vec<_>>(),
            "varies": varies.collect::<Vec<_>>(),
            "ignored": self.ignored,
            "unreachable": self.unreachable,
            "notes": self.notes,
        })
    }
}

fn put(groups: &mut Vec<Group>, request: &Request, change: &Change) {
    let sent = (request.to_string(), request.purpose);
    match groups.iter_mut().find(|group| group.host == request.host && group.change == *change) {
        Some(group) => group.requests.push(sent),
        None => groups.push(Group {
            change: change.clone(),
            host: request.host.clone(),
            ingress: request.rule.as_ref().map(|rule| rule.ingress.clone()),
            requests: vec![sent],
        }),
    }
}

fn group_json(group: &Group) -> Value {
    let requests = group.requests.iter().map(|(url, purpose)| json!({"request": url, "tries": purpose}));
    json!({
        "kind": group.change.aspect.kind(),
        "name": group.change.aspect.name(),
        "host": group.host,
        "old": group.change.old,
        "new": group.change.new,
        "ingress": group.ingress.as_ref().map(ToString::to_string),
        "requests": requests.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
