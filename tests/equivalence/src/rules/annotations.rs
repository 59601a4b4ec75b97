//! Random annotations.

use std::collections::BTreeMap;

use super::PREFIX;
use crate::Dice;

/// Values of `rewrite-target`. All variables in them exist: others make NGINX refuse the text, while Lua takes them as empty.
const TARGETS: [&str; 20] = [
    "/",
    "/$1",
    "/$2",
    "/$1",
    "/$2",
    "/$3",
    "/new/$1/$2",
    "$1",
    "$2",
    "/x$1y",
    "/$host/$2",
    "/$name",
    "/foo",
    "/Foo",
    "/fixed.html",
    "http://other.test/$1",
    "https://other.test/$2/",
    "$scheme://other.test/$1",
    "http://other.test",
    "/$request_uri",
];

/// Annotations that stand together: how many of a hundred Ingresses have the group, and of each annotation how many of these have it, with its values.
type Group = (usize, &'static [(&'static str, usize, &'static [&'static str])]);

const SWITCH: &[&str] = &["true", "false"];

/// Those that any Ingress may have.
const GROUPS: &[Group] = &[
    (8, &[("ssl-redirect", 100, SWITCH)]),
    (8, &[("force-ssl-redirect", 100, SWITCH)]),
    (8, &[("preserve-trailing-slash", 100, SWITCH)]),
    (8, &[("use-port-in-redirects", 100, SWITCH)]),
    (8, &[("relative-redirects", 100, SWITCH)]),
    (8, &[("from-to-www-redirect", 100, SWITCH)]),
    (6, &[("app-root", 100, &["/app", "/$host", "/foo/"])]),
    (
        6,
        &[
            ("permanent-redirect", 100, &["/new", "http://other.test/x?a=b", "new"]),
            ("permanent-redirect-code", 100, &["300", "301", "305", "308"]),
        ],
    ),
    (3, &[("temporal-redirect", 100, &["https://other.test"]), ("temporal-redirect-code", 100, &["302", "307"])]),
    (12, &[("upstream-vhost", 100, &["inner.test", "$host.inner:${server_port}", "$service_name.$namespace", "a$ingress_name"])]),
    (10, &[("proxy-body-size", 100, &["16", "1k", "0"])]),
    (5, &[("connection-proxy-header", 100, &["close", "keep-alive"])]),
    (5, &[("proxy-cookie-domain", 100, &[".localhost example.org", "~local example.net"])]),
    (5, &[("proxy-cookie-path", 100, &["/one/ /", "~/o.e /x"])]),
    (5, &[("proxy-http-version", 100, &["1.0", "1.1"])]),
    (
        5,
        &[
            ("proxy-redirect-from", 100, &["http://in/", "/one/", "~http", "default", "off"]),
            ("proxy-redirect-to", 100, &["/out/", "https://out/", "off"]),
        ],
    ),
    (
        5,
        &[
            ("proxy-read-timeout", 60, &["30"]),
            ("proxy-send-timeout", 60, &["30"]),
            ("proxy-connect-timeout", 60, &["30"]),
            ("proxy-next-upstream", 60, &["error http_502", "off"]),
            ("proxy-next-upstream-timeout", 60, &["7"]),
            ("proxy-next-upstream-tries", 60, &["2"]),
        ],
    ),
    (
        5,
        &[
            ("proxy-buffering", 60, &["on", "off"]),
            ("proxy-buffers-number", 60, &["8"]),
            ("proxy-buffer-size", 60, &["8k", "16k"]),
            ("proxy-busy-buffers-size", 40, &["16k"]),
            ("proxy-max-temp-file-size", 40, &["0"]),
            ("proxy-request-buffering", 60, &["on", "off"]),
            ("client-body-buffer-size", 60, &["16k"]),
        ],
    ),
    (
        15,
        &[
            ("enable-cors", 95, SWITCH),
            ("cors-allow-origin", 70, &["*", "http://a.test", "https://*.b.test:8443, http://a.test", "https://b.test:8443"]),
            ("cors-allow-methods", 30, &["GET, PUT"]),
            ("cors-allow-headers", 30, &["X-One,X-Two"]),
            ("cors-expose-headers", 30, &["X-Seen, X-Dollar"]),
            ("cors-allow-credentials", 30, SWITCH),
            ("cors-max-age", 30, &["600"]),
        ],
    ),
    (8, &[("custom-headers", 100, &["shop/answers"])]),
    (10, &[("x-forwarded-prefix", 100, &["/shop", "/$1/x"])]),
    (
        10,
        &[
            ("allowlist-source-range", 60, &["127.0.0.0/8", "10.0.0.0/8", "192.0.2.0/24,127.0.0.1"]),
            ("denylist-source-range", 30, &["127.0.0.0/8", "10.0.0.0/8", "192.0.2.1"]),
            ("satisfy", 50, &["any", "all"]),
        ],
    ),
    (
        10,
        &[
            ("auth-type", 100, &["basic"]),
            ("auth-secret", 100, &["users"]),
            ("auth-secret-type", 30, &["auth-file"]),
            ("auth-realm", 50, &["a \"realm\"", "$host"]),
            ("satisfy", 30, &["any"]),
        ],
    ),
    (
        10,
        &[
            ("auth-url", 100, &["http://AUTH/check/status/200", "http://AUTH/check/status/401?a=$host", "http://AUTH/check/status/403"]),
            ("auth-method", 30, &["POST"]),
            ("auth-signin", 40, &["http://sign.in/here", "http://sign.in/here?a=b"]),
            ("auth-signin-redirect-param", 20, &["back"]),
            ("auth-response-headers", 60, &["X-Seen", "X-Seen,X-Other"]),
            ("auth-request-redirect", 20, &["http://$host/again"]),
            ("auth-always-set-cookie", 30, SWITCH),
        ],
    ),
    (
        10,
        &[
            ("custom-http-errors", 90, &["404,503", "410,405", "401,403,404"]),
            ("default-backend", 50, &["four", "empty"]),
            ("disable-proxy-intercept-errors", 20, SWITCH),
        ],
    ),
    (
        8,
        &[
            ("limit-connections", 50, &["1000"]),
            ("limit-rps", 50, &["100000"]),
            ("limit-rpm", 50, &["1000000"]),
            ("limit-burst-multiplier", 50, &["3"]),
            ("limit-allowlist", 50, &["127.0.0.0/8"]),
            ("limit-rate", 50, &["100000"]),
            ("limit-rate-after", 50, &["1"]),
        ],
    ),
    (8, &[("load-balance", 50, &["ewma", "round_robin"]), ("upstream-hash-by", 50, &["$request_uri", "$host$1"])]),
    (8, &[("enable-access-log", 50, SWITCH), ("enable-rewrite-log", 50, SWITCH)]),
];

/// Those of a canary.
const CANARY: &[Group] = &[
    (100, &[("canary", 100, &["true"])]),
    (
        80,
        &[
            ("canary-by-header", 100, &["X-Canary"]),
            ("canary-by-header-value", 40, &["yes"]),
            ("canary-by-header-pattern", 40, &["^y.*s$", "a|no"]),
        ],
    ),
    (60, &[("canary-by-cookie", 100, &["canary"])]),
    // No random choice: two routers would differ.
    (40, &[("canary-weight", 100, &["0", "0", "200"]), ("canary-weight-total", 100, &["200"])]),
];

/// Those of an Ingress that is a canary of another one.
pub(super) fn of_canary(dice: &mut Dice) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::new();
    choose(&mut annotations, CANARY, dice);
    annotations
}

/// Those of an Ingress with rules.
pub(super) fn of_rules(number: usize, regexes: bool, dice: &mut Dice) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::new();
    if regexes {
        choose(&mut annotations, &[(100, &[("use-regex", 50, &["true"]), ("rewrite-target", 65, &TARGETS)])], dice);
    }
    choose(&mut annotations, GROUPS, dice);
    if dice.percent(10) {
        let aliases = ["alias{}.test", "*.alias{}.test", "b{}.test", "~^x[.]alias{}"];
        annotations.insert(format!("{PREFIX}/server-alias"), dice.of(&aliases).replace("{}", &number.to_string()));
    }
    annotations
}

fn choose(annotations: &mut BTreeMap<String, String>, groups: &[Group], dice: &mut Dice) {
    for (chance, group) in groups {
        if !dice.percent(*chance) {
            continue;
        }
        for (name, chance, values) in *group {
            if dice.percent(*chance) {
                annotations.insert(format!("{PREFIX}/{name}"), dice.of(values).to_owned());
            }
        }
    }
}
