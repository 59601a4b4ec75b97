//! What is known to differ between ingress-nginx and Narthex, as data: a predicate and the sentence why.
//! docs/architecture.md ("Decisions that users may notice") and docs/migrate.md have the same list for people.

use std::collections::BTreeMap;

use crate::answer::Answer;
use crate::difference::{Aspect, Change};
use crate::request::Request;
use crate::site::{PathKind, Rule, Site};

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
    /// Whether a rule of the host has one of these annotations.
    fn annotated(&self, names: &[&str]) -> bool {
        self.context.rules(self.request).iter().any(|rule| names.iter().any(|name| rule.annotation(name).is_some()))
    }

    fn origin(&self) -> Option<&str> {
        self.request.header("origin")
    }
}

/// An entry of the table.
pub struct Known {
    /// Its name, in reports.
    pub id: &'static str,
    /// Whether it is a difference all the same: something that was served is not any more, or by somebody else.
    pub counts: bool,
    /// Why it differs.
    pub why: &'static str,
    applies: fn(&Case<'_>) -> bool,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Known").field(&self.id).finish()
    }
}

/// Annotations that protect, and close what they protect when they can't be followed.
const GUARDS: &[&str] = &[
    "auth-type",
    "auth-secret",
    "auth-url",
    "auth-tls-secret",
    "whitelist-source-range",
    "allowlist-source-range",
    "denylist-source-range",
    "proxy-ssl-verify",
    "proxy-ssl-secret",
];

/// The table. The first entry that applies explains a difference.
pub const TABLE: &[Known] = &[
    Known {
        id: "generated-certificate",
        counts: false,
        why: "both show a certificate that they made for themselves because no Secret has one for this name; every controller makes its own",
        applies: |case| {
            let generated = |answer: &Answer| answer.certificate.as_ref().is_some_and(|shown| shown.generated);
            case.change.aspect == Aspect::Certificate && generated(case.old) && generated(case.new)
        },
    },
    Known {
        id: "exact-slash",
        counts: false,
        why: "an Exact path that ends in / causes no redirect for the path without it: the Ingress API demands 404 there",
        applies: |case| {
            let path = format!("{}/", case.request.path());
            let exact = |rule: &std::sync::Arc<Rule>| rule.kind == PathKind::Exact && rule.path == path;
            case.change.aspect == Aspect::Status
                && (case.old.status, case.new.status) == (301, 404)
                && case.context.rules(case.request).iter().any(exact)
        },
    },
    Known {
        id: "vary-origin",
        counts: false,
        why: "answers that depend on the Origin header say so (Vary: Origin), so that no cache gives them to another origin",
        applies: |case| {
            let words = |text: &str| -> Vec<String> {
                text.split(", ").filter(|word| !matches!(*word, "origin" | "-")).map(str::to_owned).collect()
            };
            case.change.aspect == Aspect::Header("vary".into())
                && case.change.new.split(", ").any(|word| word == "origin")
                && words(&case.change.old) == words(&case.change.new)
        },
    },
    Known {
        id: "origin-whole",
        counts: false,
        why: "origins of CORS are compared whole, not only at their end: this one only ends like one that is allowed",
        applies: |case| {
            let cors = case.change.aspect.name().is_some_and(|name| name.starts_with("access-control-") || name == "vary");
            let refused = !case.new.headers.contains_key("access-control-allow-origin");
            let listed = case.request.rule.as_ref().and_then(|rule| rule.annotation("cors-allow-origin")).unwrap_or("*");
            let names_it = listed.split(',').map(str::trim).any(|entry| entry.contains('*') || Some(entry) == case.origin());
            cors && refused && case.origin().is_some() && !names_it
        },
    },
    Known {
        id: "closed-when-unsure",
        counts: true,
        why: "what protects never opens by mistake: authentication, address lists or certificates that can't be had close the location; \
              `narthex check` and the Ingress's Events name the reference that is missing",
        applies: |case| {
            let closed = case.new.status == 503 || (case.new.status == 403 && case.annotated(&["auth-tls-secret"]));
            case.change.aspect == Aspect::Status && closed && case.old.status < 500 && case.annotated(GUARDS)
        },
    },
    Known {
        id: "snippet-refused",
        counts: true,
        why: "an Ingress with a snippet is not served where snippets are not allowed, or where one reaches beyond its block; \
              `narthex check` and the Ingress's Events name the directive",
        applies: |case| {
            let names = ["server-snippet", "configuration-snippet", "auth-snippet", "modsecurity-snippet", "stream-snippet"];
            case.change.aspect == Aspect::Status && matches!(case.new.status, 404 | 503) && case.annotated(&names)
        },
    },
    Known {
        id: "slash-twins",
        counts: true,
        why: "one Ingress has this path with, another one without a slash at its end: the older one keeps the prefix, the newer one has what is left",
        applies: |case| {
            let rules = case.context.rules(case.request);
            let twin = |rule: &Rule, other: &Rule| rule.ingress != other.ingress && format!("{}/", rule.path) == other.path;
            let under = |rule: &Rule| case.request.path().starts_with(&rule.path);
            matches!(case.change.aspect, Aspect::Status | Aspect::Backend | Aspect::Redirect)
                && rules.iter().any(|rule| rule.kind == PathKind::Prefix && under(rule) && rules.iter().any(|other| twin(rule, other)))
        },
    },
    Known {
        id: "ssl-passthrough",
        counts: true,
        why: "ssl-passthrough needs the flag --enable-ssl-passthrough: without it TLS ends at the controller, which shows its own certificate",
        applies: |case| {
            let asked = case.context.rules(case.request).iter().any(|rule| rule.says("ssl-passthrough"));
            asked && case.request.scheme == crate::request::Scheme::Https
        },
    },
];

/// The entry that explains a difference.
pub fn explain(context: &Context, request: &Request, change: &Change, old: &Answer, new: &Answer) -> Option<&'static Known> {
    let case = Case { context, request, change, old, new };
    TABLE.iter().find(|known| (known.applies)(&case))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Shown;
    use crate::difference::differences;
    use crate::difference::tests::answer;
    use crate::request::Scheme;
    use crate::site::tests::{shop, sites_of};
    use serde_json::{Value, json};

    fn explained(annotations: Value, (path, kind): (&str, &str), request: &Request, old: Answer, new: Answer) -> Vec<Option<&'static str>> {
        let sites = sites_of(&shop(annotations, path, kind));
        let request = Request { rule: Some(sites[0].rules[0].clone()), ..request.clone() };
        let context = Context::new(sites);
        let changes = differences(&Ok(old.clone()), &Ok(new.clone()));
        changes.iter().map(|change| Some(explain(&context, &request, change, &old, &new)?.id)).collect()
    }

    fn get(target: &str) -> Request {
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
        let ids: std::collections::BTreeSet<_> = TABLE.iter().map(|known| known.id).collect();
        assert_eq!(ids.len(), TABLE.len());
        assert!(TABLE.iter().all(|known| !known.why.contains("  ") && !known.why.ends_with('.')));
        for known in TABLE {
            let row = format!("| `{}` | {} |", known.id, if known.counts { "yes" } else { "no" });
            assert!(include_str!("../../../docs/migrate.md").contains(&row), "docs/migrate.md has no row {row}");
        }
    }
}
