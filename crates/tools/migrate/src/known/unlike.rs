//! Behaviour in which ingress-nginx differs, or refuses: the rows of docs/migrate.md that show in answers.

use std::sync::Arc;

use super::decided::GUARDS;
use super::{Case, Known};
use crate::site::{PathKind, Rule};

pub(super) const TABLE: &[Known] = &[
    Known {
        id: "refused-there",
        counts: false,
        why: "NGINX refuses what ingress-nginx writes for this Ingress, which stops all changes there; here it is served",
        applies: |case| case.status(|old| old == 404, |new| new != 404) && is_refused_there(case),
    },
    Known {
        id: "canary-service",
        counts: false,
        why: "an older canary has the Service of this rule, which makes the rule disappear in ingress-nginx; here it is served",
        applies: |case| {
            let own = case.request.rule.as_ref().filter(|rule| !rule.says("canary"));
            let shared = own.is_some_and(|own| case.canaries().any(|canary| canary.backend == own.backend));
            case.status(|old| old == 404, |new| new != 404) && shared
        },
    },
    Known {
        id: "canary-guard",
        counts: true,
        why: "only a canary protects this path: ingress-nginx makes a location of it where another rule has the same Service, here canaries make none; \
              set the protection on the Ingress that serves the path",
        applies: |case| {
            let closed = |status| matches!(status, 302 | 400 | 401 | 403 | 503);
            let covers = |rule: &&Arc<Rule>| rule.says("canary") && case.request.path().starts_with(&rule.path);
            let guards = |rule: &Arc<Rule>| GUARDS.iter().any(|name| rule.annotation(name).is_some());
            case.status(closed, |new| !closed(new)) && case.context.rules(case.request).iter().filter(covers).any(guards)
        },
    },
    Known {
        id: "hsts",
        counts: false,
        why: "Strict-Transport-Security is on 400 and on redirects to sign in as well, and not on the redirect from a path to the same with a slash",
        applies: |case| {
            let more = case.change.old == "-" && matches!(case.new.status, 400 | 302);
            let less = case.change.new == "-" && case.new.status == 301;
            case.is_header("strict-transport-security") && (more || less)
        },
    },
    Known {
        id: "auth-cookies",
        counts: false,
        why: "several Set-Cookie of an authentication service stay headers of their own",
        applies: |case| case.is_header("set-cookie") && case.annotated(&["auth-url"]),
    },
    Known {
        id: "auth-challenge",
        counts: false,
        why: "the redirect to sign in has no WWW-Authenticate, and of several challenges of an authentication service the first one is passed on",
        applies: |case| case.is_header("www-authenticate") && case.annotated(&["auth-url"]),
    },
    Known {
        id: "auth-realm-off",
        counts: true,
        why: "auth-realm \"off\" switches the password off in ingress-nginx; here its paths are closed: give the realm another name",
        applies: |case| {
            let off = case.of_rule("auth-realm").is_some_and(|realm| realm.trim() == "off");
            case.status(|_| true, |new| new == 503) && off
        },
    },
    Known {
        id: "hash-nothing",
        counts: true,
        why: "upstream-hash-by names no variable after a $; here the Ingress is refused",
        applies: |case| case.status(|_| true, |new| new == 404) && case.of_rule("upstream-hash-by").is_some_and(has_bare_dollar),
    },
    Known {
        id: "cors-methods",
        counts: false,
        why: "an empty item in cors-allow-methods makes ingress-nginx use its default methods; here the list is sent",
        applies: |case| {
            let empty = |methods: &str| methods.split(',').any(|method| method.trim().is_empty());
            case.is_header("access-control-allow-methods") && case.of_rule("cors-allow-methods").is_some_and(empty)
        },
    },
    Known {
        id: "slash-to-closed",
        counts: false,
        why: "a path is redirected to the same with a slash also where that is closed (503)",
        applies: |case| {
            let path = format!("{}/", case.request.path());
            let closed = |rule: &Arc<Rule>| rule.path == path && rule.kind == PathKind::Prefix;
            case.status(|old| old == 404, |new| new == 301) && case.context.rules(case.request).iter().any(closed) && case.annotated(GUARDS)
        },
    },
    Known {
        id: "affinity-last-endpoint",
        counts: false,
        why: "where session-cookie-change-on-failure has no endpoint left, ingress-nginx connects to an address that nothing answers; \
              here the failure of the last endpoint is the answer",
        applies: |case| {
            case.status(|old| matches!(old, 502 | 504), |new| matches!(new, 502 | 504))
                && case.annotated(&["session-cookie-change-on-failure"])
        },
    },
];

impl Case<'_> {
    /// Rules of canaries, of whatever host.
    fn canaries(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.context.sites().flat_map(|site| &site.rules).filter(|rule| rule.says("canary"))
    }
}

/// `true` if ingress-nginx writes a file for a rule of the host that NGINX refuses.
fn is_refused_there(case: &Case<'_>) -> bool {
    let rules = case.context.rules(case.request);
    let twins = rules.iter().any(|rule| {
        let path = format!("{}/", rule.path);
        rule.kind == PathKind::Prefix && rules.iter().any(|other| other.kind == PathKind::Prefix && other.path == path)
    });
    let wildcard = case.context.host(case.request).is_some_and(|host| host.starts_with("*."));
    twins || rules.iter().any(|rule| refuses(rule) || (wildcard && rule.says("from-to-www-redirect")))
}

fn refuses(rule: &Arc<Rule>) -> bool {
    let alone = |name: &str, with: &str| rule.annotation(name).is_some() && rule.annotation(with).is_none();
    let like = |name: &str, test: fn(&str) -> bool| rule.annotation(name).is_some_and(test);
    alone("proxy-redirect-from", "proxy-redirect-to")
        || alone("proxy-busy-buffers-size", "proxy-buffers-number")
        || like("auth-request-redirect", |value| value.trim().contains(' '))
        || like("mirror-target", |value| !value.contains("://"))
}

/// A `$` without a name behind it.
fn has_bare_dollar(text: &str) -> bool {
    let named = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '{');
    text.split('$').skip(1).any(|rest| !named(rest))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{explained, get};
    use super::super::{Context, explain};
    use crate::answer::Answer;
    use crate::difference::differences;
    use crate::difference::tests::answer;
    use crate::request::Request;
    use crate::site::sites;
    use crate::site::tests::{ingress, scope};

    const ROOT: (&str, &str) = ("/", "Prefix");

    fn with(name: &str, value: &str) -> Value {
        json!({format!("nginx.ingress.kubernetes.io/{name}"): value})
    }

    fn status(annotations: Value, old: u16, new: u16) -> Vec<Option<&'static str>> {
        explained(annotations, ROOT, &get("/"), answer(old, &[]), answer(new, &[]))
    }

    #[test]
    fn what_nginx_refuses_there_is_served_here() {
        for (name, value) in [
            ("proxy-redirect-from", "http://a/"),
            ("auth-request-redirect", "a b"),
            ("mirror-target", "x"),
            ("proxy-busy-buffers-size", "64k"),
        ] {
            assert_eq!(status(with(name, value), 404, 200), [Some("refused-there")], "{name}");
            assert_eq!(status(with(name, value), 200, 500), [None], "{name}");
        }
        assert_eq!(status(with("mirror-target", "http://a/"), 404, 200), [None]);
        assert_eq!(status(with("from-to-www-redirect", "true"), 404, 200), [None]);
    }

    #[test]
    fn values_that_are_refused_here_are_named() {
        assert_eq!(status(with("auth-realm", "off"), 200, 503), [Some("auth-realm-off")]);
        assert_eq!(status(with("auth-realm", "a"), 200, 503), [None]);
        assert_eq!(status(with("upstream-hash-by", "$"), 200, 404), [Some("hash-nothing")]);
        assert_eq!(status(with("upstream-hash-by", "a$request_uri"), 200, 404), [None]);
        assert_eq!(status(with("session-cookie-change-on-failure", "true"), 504, 502), [Some("affinity-last-endpoint")]);
    }

    #[test]
    fn headers_of_authentication_and_tls_are_explained_where_they_differ() {
        let header = |annotations: Value, name: &str, old: (u16, Option<&str>), new: Option<&str>| {
            let side = |value: Option<&str>| answer(old.0, &value.map(|value| (name, value)).into_iter().collect::<Vec<_>>());
            explained(annotations, ROOT, &get("/"), side(old.1), side(new))
        };
        let auth = || with("auth-url", "http://a/");
        assert_eq!(header(auth(), "www-authenticate", (302, Some("Basic")), None), [Some("auth-challenge")]);
        assert_eq!(header(auth(), "set-cookie", (200, Some("a=1")), Some("b=1")), [Some("auth-cookies")]);
        assert_eq!(header(json!({}), "set-cookie", (200, Some("a=1")), Some("b=1")), [None]);
        let hsts = "strict-transport-security";
        assert_eq!(header(auth(), hsts, (302, None), Some("max-age=1")), [Some("hsts")]);
        assert_eq!(header(json!({}), hsts, (301, Some("max-age=1")), None), [Some("hsts")]);
        assert_eq!(header(json!({}), hsts, (200, None), Some("max-age=1")), [None]);
        let methods = "access-control-allow-methods";
        assert_eq!(header(with("cors-allow-methods", "GET,,POST"), methods, (200, Some("GET")), Some("PUT")), [Some("cors-methods")]);
        assert_eq!(header(with("cors-allow-methods", "GET,POST"), methods, (200, Some("GET")), Some("PUT")), [None]);
    }

    /// Two Ingresses of one host with one Service; the first one is a canary.
    fn beside_a_canary(target: &str, old: Answer, new: Answer) -> Vec<Option<&'static str>> {
        let one = |name: &str, path: &str, annotations: Value| {
            let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
            let paths = json!([{"path": path, "pathType": "Prefix", "backend": backend}]);
            ingress(json!({
                "metadata": {"namespace": "default", "name": name, "annotations": annotations},
                "spec": {"rules": [{"host": "shop.example.com", "http": {"paths": paths}}]},
            }))
        };
        let canary = json!({"nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/auth-url": "http://a/"});
        let objects = [one("canary", "/admin", canary), one("shop", "/", json!({}))];
        let sites = sites(objects.iter().map(|(key, ingress)| (key, ingress)), &scope());
        let request = Request { rule: sites[0].rules.last().cloned(), ..get(target) };
        let context = Context::new(sites);
        let changes = differences(&Ok(old.clone()), &Ok(new.clone()));
        changes.iter().map(|change| Some(explain(&context, &request, change, &old, &new)?.id)).collect()
    }

    #[test]
    fn a_canary_takes_neither_rules_nor_makes_any() {
        assert_eq!(beside_a_canary("/", answer(404, &[]), answer(200, &[])), [Some("canary-service")]);
        assert_eq!(beside_a_canary("/admin", answer(401, &[]), answer(200, &[])), [Some("canary-guard")]);
        assert_eq!(beside_a_canary("/", answer(401, &[]), answer(200, &[])), [None]);
    }

    #[test]
    fn a_slash_is_added_also_before_what_is_closed() {
        let closed = with("auth-secret", "gone");
        let found = |annotations| explained(annotations, ("/foo/", "Prefix"), &get("/foo"), answer(404, &[]), answer(301, &[]));
        assert_eq!(found(closed), [Some("slash-to-closed")]);
        assert_eq!(found(json!({})), [None]);
    }
}
