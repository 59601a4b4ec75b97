use std::num::NonZeroU32;

use super::super::testing::{bad, good};
use super::*;
use crate::parse::FindingKind::{Invalid, Surprise};
use crate::parse::ParseVerdict::{Accepted, Denied};

const URL: (&str, &str) = ("auth-url", "http://10.0.0.1/basic-auth/user/password");

fn with(name: &'static str, value: &'static str) -> ExternalAuth {
    (*good(&[URL, (name, value)]).external_auth).clone()
}

#[test]
fn values_are_typed() {
    assert_eq!(with("auth-method", "POST").auth_method, Some(Method::Post));
    assert_eq!(with("auth-signin", "http://$host/auth/start").auth_signin.unwrap().as_str(), "http://$host/auth/start");
    assert_eq!(with("auth-signin-redirect-param", "orig").auth_signin_redirect_param.unwrap().as_str(), "orig");
    assert_eq!(with("auth-cache-key", "fixed").auth_cache_key.unwrap().as_str(), "fixed");
    let names = with("auth-response-headers", "X-User, x_b,,").auth_response_headers;
    assert_eq!(names.iter().map(HeaderName::as_str).collect::<Vec<_>>(), ["X-User", "x_b"]);
    assert_eq!(with("auth-proxy-set-headers", "ns/auth-headers").auth_proxy_set_headers.unwrap().to_string(), "ns/auth-headers");
    assert_eq!(with("auth-request-redirect", "Foo-Redirect").auth_request_redirect.unwrap().as_str(), "Foo-Redirect");
    assert!(with("auth-always-set-cookie", "true").auth_always_set_cookie);
    assert_eq!(with("auth-snippet", "proxy_set_header A 42;").auth_snippet.unwrap().as_str(), "proxy_set_header A 42;\n");
    let cached = good(&[URL, ("auth-cache-key", "fixed"), ("auth-cache-duration", "200 201 401 30m")]).external_auth;
    assert_eq!(cached.auth_cache_duration.clone().unwrap().time(401), Some(Seconds(1800)));
    for url in ["http://$host/auth", "https://auth.ns.svc:4180/oauth2/auth?a=b", " http://a.b/ "] {
        assert_eq!(good(&[("auth-url", url)]).external_auth.auth_url.clone().unwrap().as_str(), url.trim());
    }
}

#[test]
fn a_url_that_is_none_closes() {
    for value in ["https://invalid..auth.url", "/auth", "http://", "ftp://a/", "$scheme://a/", "http://a/$", "http://a:0/", "http://a/$1"] {
        let auth = bad(&[("auth-url", value)], Denied, &[("auth-url", Invalid, "expected a URL")]).external_auth;
        assert_eq!(auth, ExternalAuth::default(), "{value}");
    }
    for value in ["http://a/%20", "http://a/;", "http://a/\"", "http://a/#b", "http://a/\n", "http://a/b+c"] {
        bad(&[("auth-url", value)], Denied, &[("auth-url", Invalid, "expected a URL")]);
    }
}

#[test]
fn what_is_wrong_never_opens() {
    for (name, value) in [
        ("auth-method", "get"),
        ("auth-method", "PURGE"),
        ("auth-always-set-cookie", "yes"),
        ("auth-cache-duration", "200 202"),
        ("auth-cache-duration", "5m 200"),
        ("auth-cache-duration", "200;5m"),
        ("auth-request-redirect", "http://a/$b"),
        ("auth-response-headers", "a b,c"),
        ("auth-response-headers", "a;b"),
        ("auth-proxy-set-headers", "auth-headers"),
        ("auth-proxy-set-headers", "a/b/c"),
        ("auth-proxy-set-headers", "a b;c/d"),
    ] {
        bad(&[URL, (name, value)], Denied, &[(name, Invalid, "expected ")]);
    }
    bad(&[URL, ("auth-snippet", "}")], Denied, &[("auth-snippet", Invalid, "expected complete NGINX directives")]);
}

#[test]
fn what_only_helps_is_ignored_if_it_is_wrong() {
    for (name, value) in [
        ("auth-signin", "javascript:x"),
        ("auth-signin", "http://a/\"b"),
        ("auth-signin-redirect-param", "a&b"),
        ("auth-cache-key", "$nothing"),
        ("auth-cache-key", "a;b"),
        ("auth-keepalive", "many"),
        ("auth-keepalive-share-vars", "on"),
    ] {
        let auth = bad(&[URL, (name, value)], Accepted, &[(name, Invalid, "expected ")]).external_auth;
        assert_eq!(auth, good(&[URL]).external_auth, "{name}");
    }
    bad(&[("enable-global-auth", "no")], Accepted, &[("enable-global-auth", Invalid, "expected ")]);
}

#[test]
fn without_a_url_the_others_are_not_read() {
    for name in ["auth-method", "auth-snippet", "auth-cache-duration", "auth-signin"] {
        let spec = bad(&[(name, "}")], Accepted, &[(name, Surprise, "it has no effect without auth-url; it is ignored")]);
        assert_eq!(spec.external_auth, ExternalAuth::default());
    }
    assert_eq!(good(&[("enable-global-auth", "false")]).external_auth.enable_global_auth, Some(false));
}

#[test]
fn connections_are_kept_where_that_is_possible() {
    let number = |number| NonZeroU32::new(number).unwrap();
    let kept = Keepalive { connections: number(123), requests: number(456), timeout: Seconds(789) };
    let pairs = [URL, ("auth-keepalive", "123"), ("auth-keepalive-requests", "456"), ("auth-keepalive-timeout", "789")];
    assert_eq!(good(&pairs).external_auth.keepalive(), Some(kept));
    assert_eq!(with("auth-keepalive", "10").keepalive().map(|kept| (kept.requests.get(), kept.timeout)), Some((1000, Seconds(60))));
    for value in ["0", "-1"] {
        assert_eq!(with("auth-keepalive", value).keepalive(), None);
    }
    let surprises = [
        [("auth-url", "http://$host/path"), ("auth-keepalive", "123"), ("auth-keepalive-share-vars", "true")],
        [URL, ("auth-keepalive", "1"), ("auth-keepalive-requests", "0")],
        [URL, ("auth-keepalive", "1"), ("auth-keepalive-timeout", "-5")],
    ];
    for pairs in surprises {
        assert_eq!(bad(&pairs, Accepted, &[("auth-keepalive", Surprise, "")]).external_auth.keepalive(), None, "{pairs:?}");
    }
}

#[test]
fn surprises_are_told() {
    bad(
        &[URL, ("auth-cache-duration", "200 5m")],
        Accepted,
        &[("auth-cache-duration", Surprise, "it has no effect without auth-cache-key")],
    );
    bad(&[URL, ("enable-global-auth", "false")], Accepted, &[("enable-global-auth", Surprise, "auth-url is set")]);
}
