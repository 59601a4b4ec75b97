//! Decisions, and what depends on flags and policies.

use super::Known;
use crate::answer::Answer;
use crate::difference::Aspect;
use crate::site::{PathKind, Rule};

/// Annotations that protect, and close what they protect when they can't be followed.
pub(super) const GUARDS: &[&str] = &[
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

pub(super) const TABLE: &[Known] = &[
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
        why: "what protects never opens by mistake: authentication, address lists or certificates that are unavailable close the location; \
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
        id: "rewritten-dots",
        counts: false,
        why: "rewrite-target would make a path with segments . or .., which leads the backend out of what the rule is for: such a request gets 400",
        applies: |case| {
            let rewritten = case.context.rules(case.request).iter().any(|rule| rule.annotation("rewrite-target").is_some());
            case.change.aspect == Aspect::Status && case.new.status == 400 && rewritten && case.request.path().contains('.')
        },
    },
    Known {
        id: "slash-twins",
        counts: true,
        why: "one Ingress has this path with, another one without a slash at its end: the older one keeps the prefix, the newer one has what is left",
        applies: |case| {
            let rules = case.context.rules(case.request);
            let differs_by_slash = |rule: &Rule, other: &Rule| rule.ingress != other.ingress && format!("{}/", rule.path) == other.path;
            let under = |rule: &Rule| case.request.path().starts_with(&rule.path);
            matches!(case.change.aspect, Aspect::Status | Aspect::Backend | Aspect::Redirect)
                && rules
                    .iter()
                    .any(|rule| rule.kind == PathKind::Prefix && under(rule) && rules.iter().any(|other| differs_by_slash(rule, other)))
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
