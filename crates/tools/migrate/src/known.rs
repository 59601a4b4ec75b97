//! Known differences between ingress-nginx and Narthex, as data: a predicate and the sentence why.
//! docs/differences.md and docs/migrate.md have the same list for people.

use std::collections::BTreeMap;

use crate::answer::Answer;
use crate::difference::{Aspect, Change};
use crate::request::Request;
use crate::site::{Rule, Site};

mod decided;
mod unlike;

/// All sites, to look up what a difference is about.
#[derive(Debug, Default)]
pub struct Context(BTreeMap<String, Site>);

impl Context {
    /// All sites.
    pub fn sites(&self) -> impl Iterator<Item = &Site> {
        self.0.values()
    }

    /// Of these sites.
    pub fn new(sites: impl IntoIterator<Item = Site>) -> Self {
        Self(sites.into_iter().map(|site| (crate::probe::concrete(&site.host), site)).collect())
    }

    /// The host of a request as rules write it.
    fn host(&self, request: &Request) -> Option<&str> {
        self.0.get(&request.host).map(|site| site.host.as_str())
    }

    fn rules(&self, request: &Request) -> &[std::sync::Arc<Rule>] {
        self.0.get(&request.host).map(|site| site.rules.as_slice()).unwrap_or_default()
    }
}

/// A difference that may be known.
struct Case<'a> {
    context: &'a Context,
    request: &'a Request,
    change: &'a Change,
    old: &'a Answer,
    new: &'a Answer,
}

impl Case<'_> {
    /// `true` if a rule of the host has one of these annotations.
    fn annotated(&self, names: &[&str]) -> bool {
        self.context.rules(self.request).iter().any(|rule| names.iter().any(|name| rule.annotation(name).is_some()))
    }

    /// An annotation of the rule that the request is about.
    fn of_rule(&self, name: &str) -> Option<&str> {
        self.request.rule.as_ref()?.annotation(name)
    }

    fn origin(&self) -> Option<&str> {
        self.request.header("origin")
    }

    /// `true` if it is the status that differs, from one of these to one of those.
    fn status(&self, old: impl Fn(u16) -> bool, new: impl Fn(u16) -> bool) -> bool {
        self.change.aspect == Aspect::Status && old(self.old.status) && new(self.new.status)
    }

    /// `true` if it is this header that differs.
    fn is_header(&self, name: &str) -> bool {
        self.change.aspect.name() == Some(name)
    }
}

/// An entry of the table.
pub struct Known {
    /// Its name, in reports.
    pub id: &'static str,
    /// `true` if it counts all the same: something that was served is not any more, or by another backend.
    pub counts: bool,
    /// The reason for the difference.
    pub why: &'static str,
    applies: fn(&Case<'_>) -> bool,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Known").field(&self.id).finish()
    }
}

/// The entry that explains a difference.
pub fn explain(context: &Context, request: &Request, change: &Change, old: &Answer, new: &Answer) -> Option<&'static Known> {
    let case = Case { context, request, change, old, new };
    table().find(|known| (known.applies)(&case))
}

/// Every entry. The first one that applies explains a difference.
fn table() -> impl Iterator<Item = &'static Known> {
    unlike::TABLE.iter().chain(decided::TABLE)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::answer::Shown;
    use crate::difference::differences;
    use crate::difference::tests::answer;
    use crate::request::Scheme;
    use crate::site::tests::{shop, sites_of};
    use serde_json::{Value, json};

    pub(super) fn explained(
        annotations: Value,
        (path, kind): (&str, &str),
        request: &Request,
        old: Answer,
        new: Answer,
    ) -> Vec<Option<&'static str>> {
        let sites = sites_of(&shop(annotations, path, kind));
        let request = Request { rule: Some(sites[0].rules[0].clone()), ..request.clone() };
        let context = Context::new(sites);
        let changes = differences(&Ok(old.clone()), &Ok(new.clone()));
        changes.iter().map(|change| Some(explain(&context, &request, change, &old, &new)?.id)).collect()
    }

    pub(super) fn get(target: &str) -> Request {
        Request::get(Scheme::Https, "shop.example.com", target, "the path")
    }

    #[test]
    fn each_entry_explains_its_own_and_nothing_beside_it() {
        let root = ("/", "Prefix");
        let exact = |target| explained(json!({}), ("/a/", "Exact"), &get(target), answer(301, &[]), answer(404, &[]));
        assert_eq!(exact("/a"), [Some("exact-slash")]);
        assert_eq!(exact("/b"), [None]);

        let shown = |fingerprint: &str, generated| Answer {
            certificate: Some(Shown { fingerprint: fingerprint.into(), names: "a".into(), generated }),
            ..answer(200, &[])
        };
        assert_eq!(explained(json!({}), root, &get("/"), shown("a", true), shown("b", true)), [Some("generated-certificate")]);
        assert_eq!(explained(json!({}), root, &get("/"), shown("a", false), shown("b", true)), [None]);

        let guard = json!({"nginx.ingress.kubernetes.io/auth-secret": "gone"});
        assert_eq!(explained(guard, root, &get("/"), answer(200, &[]), answer(503, &[])), [Some("closed-when-unsure")]);
        assert_eq!(explained(json!({}), root, &get("/"), answer(200, &[]), answer(503, &[])), [None]);

        let rewrite = json!({"nginx.ingress.kubernetes.io/rewrite-target": "/$1"});
        assert_eq!(explained(rewrite.clone(), root, &get("/api../x"), answer(200, &[]), answer(400, &[])), [Some("rewritten-dots")]);
        assert_eq!(explained(rewrite, root, &get("/api/x"), answer(200, &[]), answer(400, &[])), [None]);

        let vary = |value| answer(200, &[("vary", value)]);
        assert_eq!(explained(json!({}), root, &get("/"), answer(200, &[]), vary("Origin")), [Some("vary-origin")]);
        assert_eq!(explained(json!({}), root, &get("/"), vary("Accept"), vary("Accept, Origin")), [Some("vary-origin")]);
        assert_eq!(explained(json!({}), root, &get("/"), vary("Accept"), vary("Origin")), [None]);
    }

    #[test]
    fn an_origin_that_only_ends_like_a_listed_one_is_refused() {
        let cors = json!({"nginx.ingress.kubernetes.io/cors-allow-origin": "https://a.example.com"});
        let from = |origin: &str| Request { headers: vec![("origin".into(), origin.into())], ..get("/") };
        let old = |origin| answer(200, &[("access-control-allow-origin", origin)]);
        let evil = "https://evil.invalid/https://a.example.com";
        assert_eq!(explained(cors.clone(), ("/", "Prefix"), &from(evil), old(evil), answer(200, &[])), [Some("origin-whole")]);
        let listed = "https://a.example.com";
        assert_eq!(explained(cors, ("/", "Prefix"), &from(listed), old(listed), answer(200, &[])), [None]);
    }

    #[test]
    fn names_are_unique_and_reasons_are_sentences() {
        let ids: std::collections::BTreeSet<_> = table().map(|known| known.id).collect();
        assert_eq!(ids.len(), table().count());
        assert!(table().all(|known| !known.why.contains("  ") && !known.why.ends_with('.')));
        for known in table() {
            let row = format!("| `{}` | {} |", known.id, if known.counts { "yes" } else { "no" });
            assert!(include_str!("../../../../docs/migrate.md").contains(&row), "docs/migrate.md has no row {row}");
        }
    }
}
